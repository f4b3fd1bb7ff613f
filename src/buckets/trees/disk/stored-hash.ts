import { fstatSync } from "node:fs";
import { fileClockTickMs } from "../../../base/clock.ts";
import { Attribute } from "../../../base/local-fs/attributes.ts";
import type { FileState } from "../../../base/local-fs/local-calls.ts";
import { sameContent } from "../../../base/local-fs/stat.ts";

// A deploy knows the SHA-256 of each file. It is kept in an extended attribute of the file, so that it goes where the file goes: into
// the place of the published tree, and back. It counts only while nothing has changed the file since; a file that was copied, restored
// or edited by whatever program has none that counts. Calls are synchronous: they are for local disks.

/** The hash, and three numbers. */
const hashBytes = 32;
const valueBytes = hashBytes + 3 * 8;
const [sizeAt, modifiedAt, changedAt] = [hashBytes, hashBytes + 8, hashBytes + 16];
/** With a longer name the attribute would not fit into an inode of 256 bytes, and ext4 would take a block for each file. */
const attribute = new Attribute("node-server", valueBytes);

/**
 * To set the attribute changes the file's ctime to a time that the attribute cannot contain. So it contains the ctime from before, and
 * counts while the ctime is later by this time at most. It is shorter than what `settledAtMs` waits: the tag of a settled file changes
 * with every change.
 */
const maxDelayMs = fileClockTickMs / 2;
/** The first attempt is late if the file was changed a while ago; then the second one is not. */
const maxAttempts = 3;

/**
 * storedHash returns the SHA-256, in hexadecimal, that was stored with an open file, or with the file at a path. Undefined if there is
 * none, or if the file's state tells that it was changed since.
 */
export function storedHash(file: number | string, state: FileState): string | undefined {
  if (attribute.read(file) !== valueBytes) return undefined;
  const { value } = attribute;
  if (value.readDoubleLE(sizeAt) !== state.size || value.readDoubleLE(modifiedAt) !== state.mtimeMs)
    return undefined;
  const delayMs = state.ctimeMs - value.readDoubleLE(changedAt);
  return delayMs >= 0 && delayMs <= maxDelayMs ? value.toString("hex", 0, hashBytes) : undefined;
}

/**
 * storeHash stores the SHA-256 of the content of an open file, which had this state when it was read. It does nothing if the file was
 * changed since, and where the file system stores no attributes.
 */
export function storeHash(fd: number, sha256: string, read: FileState): void {
  let state: FileState = fstatSync(fd);
  if (!sameContent(state, read)) return;
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    if (!writeHash(fd, sha256, state)) return;
    state = fstatSync(fd);
    if (storedHash(fd, state) !== undefined) return;
  }
}

/** Returns whether the attribute was set. */
function writeHash(fd: number, sha256: string, { size, mtimeMs, ctimeMs }: FileState): boolean {
  return attribute.write(fd, (value) => {
    value.write(sha256, 0, hashBytes, "hex");
    value.writeDoubleLE(size, sizeAt);
    value.writeDoubleLE(mtimeMs, modifiedAt);
    value.writeDoubleLE(ctimeMs, changedAt);
    return valueBytes;
  });
}
