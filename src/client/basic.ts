import { ClientError } from "./errors.ts";

/**
 * Whether WebDAV, and so `bucket`, can take a token: Basic authentication ends a user name at its first `:` (RFC 7617 §2), so a user
 * name that holds one needs its key and secret there.
 */
export function fitsWebdav(token: string): boolean {
  const bar = token.indexOf("|");
  return bar === -1 || !token.slice(0, bar).includes(":");
}

/** A user name and a password end at the first `|`; without one, the text is a key and a secret. */
export function basicAuthorization(token: string): string {
  if (!fitsWebdav(token))
    throw new ClientError(
      "files go over WebDAV, where a user name cannot hold `:`; use the token's key and secret instead",
    );
  const text = token.replace("|", ":");
  return `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(text)))}`;
}

/**
 * The same for a request of a page. Browsers keep Basic credentials and add them to requests of other pages, so the server takes Basic
 * from no page of its own origin. Percent-encoded, because a header cannot hold every character of a password.
 */
export function bearerAuthorization(token: string): string {
  return `Bearer ${encodeURIComponent(token).replace("%3A", ":")}`;
}
