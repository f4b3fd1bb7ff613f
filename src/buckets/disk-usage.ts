import { statfs } from "node:fs/promises";
import type { DiskUsage } from "./ports.ts";

/** `diskUsageOf` returns the space of the file system that a folder is on. */
export async function diskUsageOf(folder: string): Promise<DiskUsage> {
  const { bavail, bfree, blocks, bsize } = await statfs(folder);
  return { availableBytes: bavail * bsize, usedBytes: (blocks - bfree) * bsize };
}
