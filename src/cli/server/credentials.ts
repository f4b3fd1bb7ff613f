import type { SuperCredentials } from "../../auth/super-token.ts";

/** The two lines that are shown once. They go to standard output and never through the logger. */
export function showCredentials({ token, password }: SuperCredentials): void {
  process.stdout.write(`Super Token: ${token}\nRoot Password: ${password}\n`);
}
