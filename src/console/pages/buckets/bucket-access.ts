import {
  type Bucket,
  type BucketFiles,
  ClientError,
  FileNotFound,
  type NodeServerClient,
  type Permission,
} from "../../../client/index.ts";
import type { Session } from "../../session.ts";
import { type Entry, entriesFrom } from "./files/entries.ts";

/** A bucket whose files are shown. */
export interface OpenBucket {
  readonly name: string;
  /** Record; undefined when the token may not read it. */
  readonly bucket: Bucket | undefined;
  readonly access: BucketAccess;
}

export interface Content {
  readonly blob: Blob;
  /** ETag for a conditional write; undefined when writes are not possible. */
  readonly etag: string | undefined;
}

/** Access of a token to the files of a bucket: list, read and change. */
interface BucketAccess {
  list(folder: string, signal: AbortSignal): Promise<Entry[]>;
  read(path: string, signal?: AbortSignal): Promise<Content>;
  /** Client for changes; undefined when the bucket is read-only for this token. */
  readonly files: BucketFiles | undefined;
  /** Sentence that says why nothing can be changed, or an empty text. */
  readonly why: string;
  readonly mayList: boolean;
  readonly mayRead: boolean;
  /** Whether everybody can read the files at the public address; undefined when the token may not know. */
  readonly isPublic: boolean | undefined;
}

/** Uses WebDAV when the token has all permissions for it, otherwise RPC calls, which only list and read. */
export async function openAccess(
  { client, rights, fitsWebdav }: Session,
  name: string,
  bucket: Bucket | undefined,
): Promise<BucketAccess> {
  const files = client.bucket(name);
  const may = (action: "list" | "read") => rights.inBucket(name, filePermission(action));
  const readOnly = (why: string, isPublic: boolean | undefined) =>
    overRpc(client, name, { files: undefined, why, mayList: may("list"), mayRead: may("read"), isPublic });
  const switchedOff = (why: string) => readOnly(why, false);
  if (bucket?.enable === false)
    return switchedOff("This bucket is off, so its files are read-only. Turn it on to change them.");
  if (!rights.overWebdav(name))
    return readOnly(
      "Read-only: changing files needs all four of Read, Write, Delete and List on this bucket, and your token does not have them all.",
      bucket?.enable,
    );
  if (!fitsWebdav)
    return readOnly(
      "Read-only: you signed in with a user name that contains “:”, which WebDAV does not support. Sign in with the key and the secret of your token to change files.",
      bucket?.enable,
    );
  if (bucket === undefined && !(await isServed(files)))
    return switchedOff("This bucket is off or does not exist, so nothing can be changed here.");
  return overWebdav(files);
}

function filePermission(action: "list" | "read"): Permission {
  return { static_bucket_file: action };
}

/** Whether the bucket exists and is on, for a token that may not read its record. */
async function isServed(files: BucketFiles): Promise<boolean> {
  try {
    await files.list();
    return true;
  } catch (error) {
    if (error instanceof FileNotFound) return false;
    throw error;
  }
}

function overWebdav(files: BucketFiles): BucketAccess {
  return {
    files,
    why: "",
    mayList: true,
    mayRead: true,
    isPublic: true,
    async list(folder, signal) {
      const entries = await files.list(folder, { signal });
      return entries.map(({ name, folder, size, modified }) => ({
        name,
        folder,
        size,
        changed: modified.getTime(),
      }));
    },
    async read(path, signal) {
      const response = await files.open(path, { signal });
      const blob = await response.blob();
      return { blob, etag: response.headers.get("etag") ?? undefined };
    },
  };
}

function overRpc(
  client: NodeServerClient,
  name: string,
  facts: Omit<BucketAccess, "list" | "read">,
): BucketAccess {
  return {
    ...facts,
    async list(folder, signal) {
      const path = folder === "" ? null : folder;
      return entriesFrom(await client.call("static-bucket-file_list", { name, path }, { signal }), folder);
    },
    async read(path, signal) {
      const base64 = await client.call("static-bucket-file_read", { name, path }, { signal });
      const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      return { blob: new Blob([bytes]), etag: undefined };
    },
  };
}

/** A bucket in the list. */
export interface BucketRecord {
  readonly name: string;
  /** Null: the bucket does not exist. Undefined: this token may not read the record. */
  readonly bucket: Bucket | null | undefined;
}

/** Calls per batch. The server accepts up to 1,000. */
const batchSize = 500;

/** All buckets for the Super Token, which alone can list them; for other tokens, those that their limits name. */
export async function loadBuckets({ client, rights }: Session, signal: AbortSignal): Promise<BucketRecord[]> {
  const names = rights.isSuper
    ? await client.call("static-bucket_list", {}, { signal })
    : rights.namedBuckets;
  const readable = names.filter((name) => rights.inBucket(name, { static_bucket: "read" }));
  const known = new Map<string, Bucket | null>();
  for (let at = 0; at < readable.length; at += batchSize) {
    const part = readable.slice(at, at + batchSize);
    const answers = await client.batch(
      part.map((name) => ["static-bucket_read", { name }] as const),
      { signal },
    );
    for (const [index, answer] of answers.entries()) {
      if (answer instanceof ClientError) throw answer;
      known.set(part[index] ?? "", answer);
    }
  }
  return names.map((name) => ({ name, bucket: known.get(name) }));
}
