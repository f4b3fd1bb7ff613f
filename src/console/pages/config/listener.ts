/** Where a configuration says that the server listens; undefined when the text does not tell plainly. */
export interface Listener {
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
}

export function listenerIn(toml: string): Listener | undefined {
  // Both stand above the first table.
  const [top = ""] = toml.split(/^\s*\[/m);
  const value = (key: string) => new RegExp(`^\\s*${key}\\s*=\\s*["']([^"'\\n]*)["']`, "m").exec(top)?.[1];
  const [, host, port] = /^(.+):(\d+)$/.exec(value("ws_listener") ?? "") ?? [];
  if (host === undefined || port === undefined) return undefined;
  return { host, port: Number(port), secure: value("tls_cert") !== undefined };
}

/** From the address that the server's log tells. */
export function toListener(url: string): Listener {
  const { hostname, port, protocol } = new URL(url);
  const secure = protocol === "https:";
  return { host: hostname, port: Number(port || (secure ? 443 : 80)), secure };
}

const everywhere = new Set(["0.0.0.0", "[::]"]);

/** The address of the console there, as seen from the machine that has come by `host`; undefined when the port is any free one. */
export function consoleAt(listener: Listener, host: string): string | undefined {
  const { port, secure } = listener;
  if (port === 0) return undefined;
  const name = everywhere.has(listener.host) ? host : listener.host;
  return `${secure ? "https" : "http"}://${name}:${port}/node/console/`;
}
