import type { SuperCredentials } from "../../auth/super-token.ts";

/** Prints the credentials of the Super Token, which are shown once: to standard output, never through the logger. */
export function showCredentials({ token, password }: SuperCredentials): void {
  process.stdout.write(`Super Token: ${token}\nRoot Password: ${password}\n`);
}
