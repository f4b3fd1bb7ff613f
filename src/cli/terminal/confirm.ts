import { Fault } from "../../base/fault.ts";

/** Asks before what cannot be taken back; `--yes` answers beforehand. */
export async function confirm(what: string, yes: boolean | undefined): Promise<void> {
  if (yes) return;
  process.stderr.write(`${what} Type yes to go on: `);
  if (!/^y(es)?$/i.test(await readLine()))
    throw new Fault("Other", "not confirmed, nothing changed (--yes skips the question)");
}

async function readLine(): Promise<string> {
  for await (const line of console) return line.trim();
  return "";
}
