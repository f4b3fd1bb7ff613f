import { mkdir, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { codeOf } from "../../base/fault.ts";
import { replaceFile } from "../../base/replace-file.ts";
import { explainFileError } from "../file-error.ts";
import { hashBytes, type Look } from "./local-tree.ts";
import { type RemoteFile, sameTime } from "./remote-tree.ts";

/** A file that was the same here and there: how it looked here, its hash, and when it was changed there. */
export interface Known {
  readonly look: Look;
  readonly hash: string;
  readonly remoteMtime: number;
}

type Environment = Readonly<Record<string, string | undefined>>;
type Row = [size: number, mtime: number, ctime: number, hash: string, remoteMtime: number];

/** The clock of a file system ticks every few milliseconds: two changes within one tick look like one. */
const tickMs = 50;
const format = 1;

/**
 * What earlier runs learnt about one folder and one bucket. The server keeps no hashes, so this is how a run knows what a
 * file there holds without reading it. Lost or wrong, it costs time and nothing else: what it does not vouch for is compared.
 */
export class PushRecord {
  #changed = false;

  private constructor(
    private readonly path: string,
    private readonly subject: { readonly server: string; readonly bucket: string; readonly dir: string },
    private readonly files: Map<string, Known>,
  ) {}

  static async open(server: string, bucket: string, dir: string, env: Environment): Promise<PushRecord> {
    const { origin, pathname } = new URL(server);
    const subject = { server: origin + pathname.replace(/\/$/, ""), bucket, dir };
    const name = hashBytes(new TextEncoder().encode(JSON.stringify(subject))).slice(0, 32);
    const folder = env.XDG_STATE_HOME || join(env.HOME || homedir(), ".local", "state");
    const path = join(folder, "node-server", "push", `${name}.json`);
    return new PushRecord(path, subject, await readRows(path));
  }

  get(path: string): Known | undefined {
    return this.files.get(path);
  }

  /** Whether the server still holds what is known. */
  vouchesFor(path: string, remote: RemoteFile): boolean {
    const known = this.files.get(path);
    return known?.look.size === remote.size && sameTime(known.remoteMtime, remote.mtime);
  }

  /** `readAt`: when the reading of the file began. */
  set(path: string, look: Look, hash: string, remoteMtime: number, readAt: number): void {
    // So new that a further change might not show: it is read again next time.
    const shown = readAt - Math.max(look.ctime, look.mtime) < tickMs ? { ...look, ctime: 0 } : look;
    this.files.set(path, { look: shown, hash, remoteMtime });
    this.#changed = true;
  }

  forget(path: string): void {
    if (this.files.delete(path)) this.#changed = true;
  }

  /** Those that are neither here nor there any more. */
  keepOnly(isThere: (path: string) => boolean): void {
    for (const path of this.files.keys()) if (!isThere(path)) this.forget(path);
  }

  async save(): Promise<void> {
    if (!this.#changed) return;
    this.#changed = false;
    const files: Record<string, Row> = Object.fromEntries(
      [...this.files].map(([path, { look, hash, remoteMtime }]) => [
        path,
        [look.size, look.mtime, look.ctime, hash, remoteMtime],
      ]),
    );
    try {
      await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
      await replaceFile(this.path, `${JSON.stringify({ format, ...this.subject, files })}\n`, {
        mode: 0o600,
      });
    } catch (error) {
      const why = explainFileError(error);
      if (why === undefined) throw error;
      process.stderr.write(`note: the next run compares by content, because no record can be kept: ${why}\n`);
    }
  }
}

async function readRows(path: string): Promise<Map<string, Known>> {
  try {
    const kept = JSON.parse(await readFile(path, "utf8")) as { format: number; files: Record<string, Row> };
    if (kept.format !== format) return new Map();
    return new Map(
      Object.entries(kept.files).map(([file, [size, mtime, ctime, hash, remoteMtime]]) => [
        file,
        { look: { size, mtime, ctime }, hash, remoteMtime },
      ]),
    );
  } catch (error) {
    if (codeOf(error) !== "ENOENT")
      process.stderr.write(`note: ${path} cannot be read; files are compared by content instead\n`);
    return new Map();
  }
}
