import { lstatSync } from "node:fs";
import { Attribute } from "../../../base/local-fs/attributes.ts";
import { type FileState, stateAt } from "../../../base/local-fs/local-calls.ts";

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

/** storedRecord returns the record of an open file, or of the file at a path; undefined if it has none for this state. */
export function storedRecord(file: number | string, { size, mtimeMs }: FileState): Uint8Array | undefined {
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
