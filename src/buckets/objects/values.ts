import type { FileValue, FolderValue, HeadValue } from "../../db/rows/entry-values.ts";
import { blobKeyTimeMs, type StoredBlob } from "../blobs/blob-store.ts";

/** hashOfNothing is the SHA-256 of an empty file. */
export const hashOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** rootValue is the bucket's own folder as if it had a row in another one. Its id says when it was made. */
export function rootValue({ root, version, modified, accessed }: HeadValue): FolderValue {
  const created = blobKeyTimeMs(root);
  return {
    id: root,
    created,
    modified: modified ?? created,
    version,
    ...(accessed === undefined ? {} : { accessed }),
  };
}

/** blobOf is the content of a file; undefined for an empty one, which has no blob. */
export function blobOf({ blob, size, hash }: FileValue): StoredBlob | undefined {
  return blob === null ? undefined : { key: blob, size, sha256: hash };
}
