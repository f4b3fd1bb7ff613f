/** Address that a configuration makes the server listen on. */
interface Listener {
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
}

export function parseListener(toml: string): Listener | undefined {
  // Both keys are above the first table.
  const [top = ""] = toml.split(/^\s*\[/m);
  const value = (key: string) => new RegExp(`^\\s*${key}\\s*=\\s*["']([^"'\\n]*)["']`, "m").exec(top)?.[1];
  const [, host, port] = /^(.+):(\d+)$/.exec(value("ws_listener") ?? "") ?? [];
  if (host === undefined || port === undefined) return undefined;
  return { host, port: Number(port), secure: value("tls_cert") !== undefined };
}

/** Listener from the address in the server's log. */
export function listenerFromUrl(url: string): Listener {
  const { hostname, port, protocol } = new URL(url);
  const secure = protocol === "https:";
  return { host: hostname, port: Number(port || (secure ? 443 : 80)), secure };
}

const wildcardHosts = new Set(["0.0.0.0", "[::]"]);

/** Address of the console at a listener. `host` replaces wildcard addresses. Undefined when the port is chosen by the system (0). */
export function consoleUrl(listener: Listener, host: string): string | undefined {
  const { port, secure } = listener;
  if (port === 0) return undefined;
  const name = wildcardHosts.has(listener.host) ? host : listener.host;
  return `${secure ? "https" : "http"}://${name}:${port}/node/console/`;
}
