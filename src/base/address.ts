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

/** One household has a whole /64 of IPv6 addresses to guess from. */
export function networkOf(address: string): string {
  if (!address.includes(":") || address.startsWith("::ffff:")) return address;
  const [head = "", tail = ""] = address.split("::", 2);
  const left = head === "" ? [] : head.split(":");
  const right = tail === "" ? [] : tail.split(":");
  const missing = Array<string>(Math.max(0, 8 - left.length - right.length)).fill("0");
  return [...left, ...missing, ...right].slice(0, 4).join(":");
}
