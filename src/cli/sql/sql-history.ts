import { appendFile, chmod, mkdir, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { codeOf, messageOf } from "../../base/fault.ts";
import { replaceFile } from "../../base/replace-file.ts";

const longest = 1000;

export interface History {
  /** Oldest first. */
  readonly lines: readonly string[];
  /** A line that begins with a space is not kept. */
  add(line: string): Promise<void>;
}

/** In the user's own state folder, readable for nobody else: statements may hold secrets. */
export async function openHistory(env: Readonly<Record<string, string | undefined>>): Promise<History> {
  const folder = env.XDG_STATE_HOME || join(env.HOME || homedir(), ".local", "state");
  const path = join(folder, "node-server", "sql-history");
  try {
    const all = await read(path);
    const lines = all.slice(-longest);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    if (all.length > longest * 2) await replaceFile(path, `${lines.join("\n")}\n`, { mode: 0o600 });
    let last = lines.at(-1);
    return {
      lines,
      async add(line) {
        if (line.trim() === "" || line.startsWith(" ") || line === last) return;
        last = line;
        // Appended, so that two sessions at once both keep theirs.
        await appendFile(path, `${line}\n`, { mode: 0o600 }).catch(() => {});
      },
    };
  } catch (error) {
    process.stderr.write(`note: no history is kept: ${messageOf(error)}\n`);
    return { lines: [], async add() {} };
  }
}

async function read(path: string): Promise<string[]> {
  try {
    const text = await readFile(path, "utf8");
    await chmod(path, 0o600);
    return text.split("\n").filter((line) => line !== "");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}
