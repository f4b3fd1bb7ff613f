import { Fault } from "../../base/fault.ts";
import { maxKeyBytes } from "../../db/rows/kv-rows.ts";
import { parseTreePath, type TreePath } from "../path.ts";

/** locksNamespace is where the `kv` table has the locks of a bucket; the key is the canonical path with a slash before it. */
export function locksNamespace(bucket: string): string {
  return `static-webdav/locks/${bucket}`;
}

/** propertiesNamespace returns the namespace of dead properties. */
export function propertiesNamespace(bucket: string): string {
  return `static-webdav/properties/${bucket}`;
}

export function keyOf(path: TreePath): string {
  return `/${path}`;
}

/** newKeyOf is `keyOf` for a row that is going to be written; InvalidInput when the index of the database could not hold it. */
export function newKeyOf(path: TreePath): string {
  const key = keyOf(path);
  if (Buffer.byteLength(key) <= maxKeyBytes) return key;
  throw new Fault(
    "InvalidInput",
    `a path of more than ${maxKeyBytes} bytes cannot have locks or properties`,
    { path },
  );
}

/** pathOfKey is undefined for a key that this server did not write. */
export function pathOfKey(key: string): TreePath | undefined {
  return key.startsWith("/") ? parseTreePath(key.slice(1)) : undefined;
}
