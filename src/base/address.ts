export interface Address {
  readonly host: string;
  readonly port: number;
}

/** `127.0.0.1:2211`, `[::1]:2211`, `localhost:2211`; undefined for anything else. */
export function parseAddress(text: string): Address | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+(?:%[\w.]+)?)\]|([A-Za-z0-9_.-]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host === undefined || port > 65535 ? undefined : { host, port };
}

/** As it stands in a URL. */
export function formatAddress({ host, port }: Address): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
