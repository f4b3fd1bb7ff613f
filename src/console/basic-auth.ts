/** Basic authentication, and so WebDAV, ends a user name at its first `:` (RFC 7617 §2). */
export function fitsBasic(username: string): boolean {
  return !username.includes(":");
}

/** Where such a name is shown: what to do instead. */
export const notByBasic =
  "WebDAV cannot take a user name with “:”. Network drives and file programs must use the key and the secret.";
