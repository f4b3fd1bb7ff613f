import { lstatSync } from "node:fs";
import { fileClockTickMs } from "../../../base/clock.ts";
import { Attribute } from "../../../base/local-fs/attributes.ts";
import { type FileState, stateAt } from "../../../base/local-fs/local-calls.ts";
import { putLast } from "../../../db/freshness.ts";
import { isSettled } from "../../ports.ts";

// The record that a transport stores with the content of a file (`FileStats.record`) is an extended attribute of the file, set before
// the file is renamed into its place: both appear together, and stay together when the file is moved, restored or replaced. It counts
// only while the file has the size and the time of modification that it had when the record was stored. Calls are synchronous: they
// are for local disks.

/** The form of the value: a change of it needs another number. */
const form = 1;
const [sizeAt, modifiedAt, recordAt] = [1, 7, 15];
/** An attribute of ext4 has to fit into a block. A longer record is a property instead. */
const maxRecordBytes = 3072;
/** With a name of up to four characters, a record of 53 bytes still fits into an inode of 256 bytes, and takes no block of ext4. */
const attribute = new Attribute("s3", recordAt + maxRecordBytes);

/**
 * Records of files that were read, by inode: a list of keys asks for a thousand at a time. One counts while the file has the same ctime,
 * which every change of an attribute moves.
 */
const known = new Map<number, KnownRecord>();
const maxKnown = 8192;
const maxKnownBytes = 512;

interface KnownRecord extends Pick<FileState, "dev" | "ctimeMs" | "mtimeMs" | "size"> {
  readonly record: Uint8Array | undefined;
}

/**
 * storedRecord returns the record of an open file, or of the file at a path; undefined if it has none for this state. The caller must not
 * change it.
 */
export function storedRecord(file: number | string, state: FileState): Uint8Array | undefined {
  const { ino, dev, ctimeMs, mtimeMs, size } = state;
  const last = known.get(ino);
  if (last?.ctimeMs === ctimeMs && last.mtimeMs === mtimeMs && last.size === size && last.dev === dev)
    return last.record;
  const record = readRecord(file, state);
  // A change within this tick of the file system's clock would not move the ctime.
  if (isSettled({ settledAtMs: ctimeMs + fileClockTickMs }) && (record?.length ?? 0) <= maxKnownBytes)
    putLast(known, { key: ino, entry: { dev, ctimeMs, mtimeMs, size, record }, max: maxKnown });
  return record;
}

function readRecord(file: number | string, { size, mtimeMs }: FileState): Uint8Array | undefined {
  const bytes = attribute.read(file);
  const { value } = attribute;
  if (bytes < recordAt || value[0] !== form) return undefined;
  if (value.readUIntLE(sizeAt, 6) !== size || value.readDoubleLE(modifiedAt) !== mtimeMs) return undefined;
  return Buffer.from(value.subarray(recordAt, bytes));
}

/** storeRecord stores the record of the file at a path. False if it is too long, or where the file system stores no attributes. */
export function storeRecord(path: string, record: Uint8Array): boolean {
  if (record.length > maxRecordBytes) return false;
  const { size, mtimeMs } = stateAt(path) ?? lstatSync(path);
  return attribute.write(path, (value) => {
    value[0] = form;
    value.writeUIntLE(size, sizeAt, 6);
    value.writeDoubleLE(mtimeMs, modifiedAt);
    value.set(record, recordAt);
    return recordAt + record.length;
  });
}
