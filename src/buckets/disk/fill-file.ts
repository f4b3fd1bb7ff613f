import { writeFile } from "node:fs/promises";
import type { FileCalls } from "../../base/local-fs/file-calls.ts";
import { writeAll } from "./copy-file.ts";

export interface FillFileOptions {
  /** Whether the content is on the disk, and not only in its cache, when the promise resolves. */
  readonly sync: boolean;
  readonly calls: FileCalls;
}

/** fillFile writes content to a new file and returns its size. */
export async function fillFile(
  diskPath: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
  { sync, calls }: FillFileOptions,
): Promise<number> {
  // One job for a thread of the pool, where a descriptor would take one for each of its calls.
  if (content instanceof Uint8Array) {
    await writeFile(diskPath, content, { flag: "wx", mode: 0o644, flush: sync });
    return content.length;
  }
  const file = await calls.open(diskPath, "wx", 0o644);
  try {
    let size = 0;
    for await (const chunk of content) {
      await writeAll(file, chunk);
      size += chunk.length;
    }
    if (sync) await file.datasync();
    return size;
  } finally {
    await file.close();
  }
}
