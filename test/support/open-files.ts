import { readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../../src/base/fault.ts";
import type { TestNode } from "./node.ts";

/** openFilesBelow are the files at a path or below it that this process, in which the server runs, has open. */
export function openFilesBelow(path: string): string[] {
  return readdirSync("/proc/self/fd").flatMap((descriptor) => {
    const file = targetOf(join("/proc/self/fd", descriptor));
    return file === path || file.startsWith(`${path}/`) ? [file] : [];
  });
}

/** contentFolder is where a server has the content of its files. */
export function contentFolder(node: TestNode): string {
  return join(node.folder, node.store === "disk" ? "static" : "blobs");
}

function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch (error) {
    // Closed since it was listed.
    if (codeOf(error) === "ENOENT") return "";
    throw error;
  }
}
