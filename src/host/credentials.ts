import type { SuperCredentials } from "../auth/super-token.ts";

/** Returns the credentials of the Super Token, which are shown once: on standard output, never through the logger. */
export function credentialLines({ token, password }: SuperCredentials): string {
  return `Super Token: ${token}\nRoot Password: ${password}\n`;
}
