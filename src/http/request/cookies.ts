/** isHttps returns whether the client uses https, as far as the server can know: by its own TLS, or by what a proxy in front says. */
export function isHttps({ url, headers }: Request): boolean {
  const forwarded = headers.get("x-forwarded-proto")?.split(",", 1)[0]?.trim();
  return url.startsWith("https:") || forwarded === "https";
}

/**
 * withPort ends the name of a cookie with the port, because browsers share cookies between ports: servers on one machine must not
 * overwrite each other's.
 */
export function withPort(name: string, { headers }: Request): string {
  const port = /:(\d+)$/.exec(headers.get("host") ?? "")?.[1];
  return port === undefined ? name : `${name}_${port}`;
}

/**
 * cookiesOf returns the values of all cookies of a name that a request carries, in its order and as they were sent. The name has
 * letters, digits, `_` and `-` only. `Bun.CookieMap` would decode `%40`, so that a value had several spellings.
 */
export function cookiesOf({ headers }: Request, name: string): string[] {
  const pattern = new RegExp(`(?:^|;)[ \\t]*${name}=([^;]*)`, "g");
  return Array.from((headers.get("cookie") ?? "").matchAll(pattern), ([, value = ""]) => value);
}
