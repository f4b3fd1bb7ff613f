import { appendFile, chmod, mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf, messageOf } from "../../base/fault.ts";
import { replaceFile } from "../../base/local-fs/replace-file.ts";
import type { Context } from "../context.ts";
import { stateFolder } from "../user-folders.ts";

const maxLines = 1000;

export interface History {
  /** Oldest first. */
  readonly lines: readonly string[];
  /** Adds a line, unless it begins with a space. */
  add(line: string): Promise<void>;
}

/** Opens the history in the user's state folder. Only the user can read it: statements may hold secrets. */
export async function openHistory(ctx: Context): Promise<History> {
  const path = join(stateFolder(ctx), "sql-history");
  try {
    const all = await read(path);
    const lines = all.slice(-maxLines);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    if (all.length > maxLines * 2) await replaceFile(path, `${lines.join("\n")}\n`, { mode: 0o600 });
    let last = lines.at(-1);
    return {
      lines,
      async add(line) {
        if (line.trim() === "" || line.startsWith(" ") || line === last) return;
        last = line;
        // Appended, so that two sessions at once keep the lines of both.
        await appendFile(path, `${line}\n`, { mode: 0o600 }).catch(() => {});
      },
    };
  } catch (error) {
    ctx.say(`note: the history cannot be saved: ${messageOf(error)}`);
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
