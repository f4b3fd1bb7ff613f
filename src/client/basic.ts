import { ClientError } from "./errors.ts";

/**
 * Whether a token can be used over WebDAV, and so with `bucket`. Basic authentication ends a user name at its first `:` (RFC 7617 §2), so
 * a token whose user name contains one must be given as key and secret there.
 */
export function fitsWebdav(token: string): boolean {
  const bar = token.indexOf("|");
  return bar === -1 || !token.slice(0, bar).includes(":");
}

/** The `Authorization` header of a token. With a `|` it is a user name and a password, split at the first one; else a key and a secret. */
export function basicAuthorization(token: string): string {
  if (!fitsWebdav(token))
    throw new ClientError(
      "files go over WebDAV, where a user name cannot hold `:`; use the token's key and secret instead",
    );
  const text = token.replace("|", ":");
  return `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(text)))}`;
}

/**
 * The `Authorization` header of a token in a browser. Browsers keep Basic credentials and add them to requests of other pages, so
 * the server refuses Basic from pages of its own origin. The token is percent-encoded, because a header cannot hold every
 * character of a password.
 */
export function bearerAuthorization(token: string): string {
  return `Bearer ${encodeURIComponent(token).replace("%3A", ":")}`;
}
