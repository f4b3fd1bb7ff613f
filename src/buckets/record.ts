import { isHostName } from "../base/address.ts";
import { Fault } from "../base/fault.ts";
import type { BucketRow } from "../db/rows/bucket-rows.ts";

/** Bucket is the record of a bucket. */
export type Bucket = BucketRow;

/** BucketState is a record with the head of its files, as one query found them. */
export type { BucketState } from "../db/rows/bucket-rows.ts";

/** Not dots alone: they would lead elsewhere in a path. */
export const nameForm = /^(?!\.+$)[A-Za-z0-9_.-]{1,128}$/;
const maxPathChars = 512;
const maxHosts = 100;

export function checkBucketName(name: string): void {
  if (isBucketName(name)) return;
  throw new Fault(
    "InvalidInput",
    "name must have 1 to 128 characters, of A-Z a-z 0-9 _ . - only, and not dots alone",
    { field: "name", reason: "bucket_name" },
  );
}

export function checkBucketPath(path: string): void {
  if (path.length <= maxPathChars && path.split("/").every(isBucketName)) return;
  throw new Fault(
    "InvalidInput",
    "path must be relative, with segments of A-Z a-z 0-9 _ . - separated by /, 512 characters at most",
    { field: "path", reason: "bucket_path" },
  );
}

/** checkHosts throws InvalidInput unless each is a host name; it returns them in lower case, each once. */
export function checkHosts(hosts: readonly string[]): string[] {
  const names = [...new Set(hosts.map((host) => host.toLowerCase()))];
  const wrong = names.find((name) => !isHostName(name));
  if (wrong !== undefined)
    throw new Fault(
      "InvalidInput",
      `hosts: ${JSON.stringify(wrong.slice(0, 100))} is not a host name; write it like docs.example.org, without a port (international names in the form xn--…)`,
      { field: "hosts", reason: "host_name", host: wrong.slice(0, 100) },
    );
  if (names.includes("localhost"))
    throw new Fault(
      "InvalidInput",
      "hosts: localhost is the server's own name on its machine; give the bucket a name below it, such as site.localhost",
      { field: "hosts", reason: "host_name", host: "localhost" },
    );
  if (names.length > maxHosts)
    throw new Fault("InvalidInput", `a bucket may have ${maxHosts} host names at most`, { field: "hosts" });
  return names;
}

/** isBucketName returns whether a bucket can be created with this name. Rows that another program wrote may have others. */
export function isBucketName(text: string): boolean {
  return nameForm.test(text);
}

/**
 * refuseConflict throws InvalidInput if the folders of two buckets would overlap, or two buckets would be the HTTP root or have
 * one host name.
 */
export function refuseConflict(bucket: Omit<Bucket, "id">, others: readonly Bucket[]): void {
  for (const other of others) {
    if (overlap(bucket.path, other.path)) {
      throw new Fault("InvalidInput", `path overlaps the folder of the bucket ${other.name}`, {
        field: "path",
        reason: "folder_overlaps",
        bucket: other.name,
      });
    }
    if (bucket.is_http_root && other.is_http_root) {
      throw new Fault("InvalidInput", `the bucket ${other.name} is the HTTP root already; there can be one`, {
        field: "is_http_root",
        reason: "root_taken",
        bucket: other.name,
      });
    }
    const host = bucket.hosts.find((name) => other.hosts.includes(name));
    if (host !== undefined)
      throw new Fault("InvalidInput", `the host name ${host} belongs to the bucket ${other.name} already`, {
        field: "hosts",
        reason: "host_taken",
        host,
        bucket: other.name,
      });
  }
}

function overlap(a: string, b: string): boolean {
  // Without case: on some disks A and a are one folder.
  const [x, y] = [`${a.toLowerCase()}/`, `${b.toLowerCase()}/`];
  return x.startsWith(y) || y.startsWith(x);
}

type Changeable = Omit<Bucket, "id" | "name">;
/** BucketChanges are the fields that a caller gives; one that is left out, or null, stays or takes its default. */
export type BucketChanges = { readonly [K in keyof Changeable]?: Changeable[K] | null | undefined };

const changeable = [
  "path",
  "is_http_root",
  "cors",
  "enable",
  "public",
  "hosts",
  "clean_urls",
] as const satisfies ReadonlyArray<keyof Changeable>;

/** givenChanges returns the fields that a caller gives, checked. */
export function givenChanges({ hosts, ...changes }: BucketChanges): Partial<Changeable> {
  const all: BucketChanges = { ...changes, ...(hosts == null ? {} : { hosts: checkHosts(hosts) }) };
  return Object.fromEntries(changeable.flatMap((name) => (all[name] == null ? [] : [[name, all[name]]])));
}
