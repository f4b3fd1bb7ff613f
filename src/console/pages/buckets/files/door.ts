import {
  type Bucket,
  type BucketFiles,
  FileNotFound,
  type NodeServerClient,
  type Permission,
} from "../../../../client/index.ts";
import type { Session } from "../../../session.ts";
import { type Entry, entriesFrom } from "./entry.ts";

export interface Content {
  readonly blob: Blob;
  /** Known where a change can be made on the condition that nobody else made one. */
  readonly etag: string | undefined;
}

/** The way to a bucket's files that a token has. */
export interface Door {
  list(folder: string, signal: AbortSignal): Promise<Entry[]>;
  read(path: string, signal?: AbortSignal): Promise<Content>;
  /** For changes; undefined where there can be none. */
  readonly files: BucketFiles | undefined;
  /** Why nothing can be changed here. */
  readonly why: string;
  readonly mayList: boolean;
  readonly mayRead: boolean;
  /** Whether everybody can read the files at the public address; undefined where the token may not know. */
  readonly isPublic: boolean | undefined;
}

/** Over WebDAV with all that it asks for; else by calls, which list and read without it. */
export async function openDoor(
  { client, rights, fitsWebdav }: Session,
  name: string,
  bucket: Bucket | undefined,
): Promise<Door> {
  const files = client.bucket(name);
  const may = (action: "list" | "read") => rights.inBucket(name, file(action));
  const rpc = (why: string, isPublic: boolean | undefined) =>
    byCalls(client, name, { files: undefined, why, mayList: may("list"), mayRead: may("read"), isPublic });
  const off = "This bucket is off, so its files can be looked at but not changed. Turn it on to change them.";
  if (bucket?.enable === false) return rpc(off, false);
  if (!rights.overWebdav(name))
    return rpc(
      "You can look but not change anything: changing files takes all four of Read, Write, Delete and List on this bucket, and your token does not hold them all.",
      bucket?.enable,
    );
  if (!fitsWebdav)
    return rpc(
      "You can look but not change anything: you signed in with a user name that holds “:”, which WebDAV cannot take. Sign in with the key and the secret of your token to change files.",
      bucket?.enable,
    );
  if (bucket === undefined && !(await answers(files)))
    return rpc("This bucket is off, or there is none of this name, so nothing can be changed here.", false);
  return overWebdav(files);
}

function file(action: "list" | "read"): Permission {
  return { static_bucket_file: action };
}

/** A token that may not see the record learns in this way whether the bucket is on. */
async function answers(files: BucketFiles): Promise<boolean> {
  try {
    await files.list();
    return true;
  } catch (error) {
    if (error instanceof FileNotFound) return false;
    throw error;
  }
}

function overWebdav(files: BucketFiles): Door {
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

function byCalls(client: NodeServerClient, name: string, facts: Omit<Door, "list" | "read">): Door {
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
