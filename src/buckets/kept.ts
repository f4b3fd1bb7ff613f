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

export function pathOfKey(key: string): TreePath {
  return key.slice(1) as TreePath;
}
