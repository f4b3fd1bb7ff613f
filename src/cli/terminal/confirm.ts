import { Fault } from "../../base/fault.ts";

/** Asks before something that cannot be undone, unless `yes` (the option `--yes`) is set. Throws when the answer is not yes. */
export async function confirm(what: string, yes: boolean | undefined): Promise<void> {
  if (yes) return;
  process.stderr.write(`${what} Type yes to continue: `);
  if (!/^y(es)?$/i.test(await readLine()))
    throw new Fault("Other", "not confirmed, nothing changed (--yes skips the question)");
}

async function readLine(): Promise<string> {
  for await (const line of console) return line.trim();
  return "";
}
