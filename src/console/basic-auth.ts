/** Whether Basic authentication, and so WebDAV, can carry a user name: it ends at the first `:` (RFC 7617 §2). */
export function fitsBasicAuth(username: string): boolean {
  return !username.includes(":");
}

/** Advice to show beside a user name that does not fit. */
export const basicAuthHint =
  "WebDAV does not support a user name with “:”. Network drives and file programs must use the key and the secret.";
