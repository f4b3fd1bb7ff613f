/**
 * hostNameOf returns the host name that a request was sent to, as the server sees it: in lower case, without port; empty without
 * a Host header.
 */
export function hostNameOf({ headers }: Request): string {
  const host = headers.get("host") ?? "";
  const colon = host.indexOf(":");
  const name = (colon === -1 ? host : host.slice(0, colon)).toLowerCase();
  // A name with a dot at its end is the same name, absolute.
  return name.endsWith(".") ? name.slice(0, -1) : name;
}
