import { t } from "./text/text.ts";
/** Whether Basic authentication, and so WebDAV, can carry a user name: it ends at the first `:` (RFC 7617 §2). */
export function fitsBasicAuth(username: string): boolean {
  return !username.includes(":");
}

/** Advice to show beside a user name that does not fit. */
export function basicAuthHint(): string {
  return t.frame.basicAuthHint;
}
