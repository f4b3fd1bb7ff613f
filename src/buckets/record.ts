import { Fault } from "../base/fault.ts";
import type { BucketRow } from "../db/bucket-rows.ts";

/** A bucket as its methods show it. */
export type Bucket = BucketRow;

const nameForm = /^[A-Za-z0-9_.-]{1,128}$/;
const longestPath = 512;

export function checkBucketName(name: string): void {
  if (isBucketName(name)) return;
  throw new Fault(
    "InvalidInput",
    "name must have 1 to 128 characters, of A-Z a-z 0-9 _ . - only, and not dots alone",
    {
      field: "name",
    },
  );
}

export function checkBucketPath(path: string): void {
  if (path.length <= longestPath && path.split("/").every(isBucketName)) return;
  throw new Fault(
    "InvalidInput",
    "path must be relative, with segments of A-Z a-z 0-9 _ . - separated by /, 512 characters at most",
    {
      field: "path",
    },
  );
}

/** Whether a bucket can be made with this name. Rows that another program wrote may have others. */
export function isBucketName(text: string): boolean {
  return nameForm.test(text) && !/^\.+$/.test(text);
}

/** Two buckets may neither share a folder nor hold one another, and only one answers the root. */
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
  // Case-blind: on some disks A and a are one folder.
  const [x, y] = [`${a.toLowerCase()}/`, `${b.toLowerCase()}/`];
  return x.startsWith(y) || y.startsWith(x);
}
