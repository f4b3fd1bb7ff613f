import { Fault } from "../base/fault.ts";
import type { BucketRow } from "../db/bucket-rows.ts";

/** Bucket is the record of a bucket, as the RPC methods return it. */
export type Bucket = BucketRow;

/** BucketState is a record with the head of its files, as one look found them. */
export type { BucketState } from "../db/bucket-rows.ts";

const nameForm = /^[A-Za-z0-9_.-]{1,128}$/;
const maxPathChars = 512;

export function checkBucketName(name: string): void {
  if (isBucketName(name)) return;
  throw new Fault(
    "InvalidInput",
    "name must have 1 to 128 characters, of A-Z a-z 0-9 _ . - only, and not dots alone",
    { field: "name" },
  );
}

export function checkBucketPath(path: string): void {
  if (path.length <= maxPathChars && path.split("/").every(isBucketName)) return;
  throw new Fault(
    "InvalidInput",
    "path must be relative, with segments of A-Z a-z 0-9 _ . - separated by /, 512 characters at most",
    { field: "path" },
  );
}

/** isBucketName is whether a bucket can be created with this name. Rows that another program wrote may have others. */
export function isBucketName(text: string): boolean {
  return nameForm.test(text) && !/^\.+$/.test(text);
}

/** refuseConflict throws InvalidInput if the folders of two buckets would overlap, or two buckets would be the HTTP root. */
export function refuseConflict(bucket: Omit<Bucket, "id">, others: readonly Bucket[]): void {
  for (const other of others) {
    if (overlap(bucket.path, other.path)) {
      throw new Fault("InvalidInput", `path overlaps the folder of the bucket ${other.name}`, {
        field: "path",
      });
    }
    if (bucket.is_http_root && other.is_http_root) {
      throw new Fault("InvalidInput", `the bucket ${other.name} is the HTTP root already; there can be one`, {
        field: "is_http_root",
      });
    }
  }
}

function overlap(a: string, b: string): boolean {
  // Without case: on some disks A and a are one folder.
  const [x, y] = [`${a.toLowerCase()}/`, `${b.toLowerCase()}/`];
  return x.startsWith(y) || y.startsWith(x);
}
