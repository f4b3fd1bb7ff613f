import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { randomText } from "./random.ts";

/** Makes the names in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Puts `text` at `path` so that a reader, or the next start after a crash, sees the old file or the whole new one. */
export async function replaceFile(path: string, text: string, mode = 0o600): Promise<void> {
  const beside = `${path}.${randomText(8)}.tmp`;
  try {
    const file = await open(beside, "wx", mode);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(beside, path);
    await syncFolder(dirname(path));
  } finally {
    await rm(beside, { force: true });
  }
}
