import { Fault } from "../base/fault.ts";
import { maxKeyBytes } from "../db/kv-rows.ts";
import type { TreePath } from "./path.ts";

/** What is kept about the files of a bucket, in the `kv` table: a namespace each, by the path with a slash before it. */
export function locksNamespace(bucket: string): string {
  return `static-webdav/locks/${bucket}`;
}

export function propertiesNamespace(bucket: string): string {
  return `static-webdav/properties/${bucket}`;
}

export function keyOf(path: TreePath): string {
  return `/${path}`;
}

/** The key that something new is kept under. */
export function storedKey(path: TreePath): string {
  const key = keyOf(path);
  if (Buffer.byteLength(key) <= maxKeyBytes) return key;
  throw new Fault(
    "InvalidInput",
    `a path of more than ${maxKeyBytes} bytes can be neither locked nor described`,
    { path },
  );
}

export function pathOfKey(key: string): TreePath {
  return key.slice(1) as TreePath;
}
