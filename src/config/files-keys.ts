import { z } from "zod";
import { type FilePart, key, readBy } from "../base/config-key.ts";
import { blobKeys, findKind, type KindSettings, kindOf } from "../blobs/open-blobs.ts";

const MiB = 1024 * 1024;
const maxTimeoutMs = 600_000;
const text = z.string().min(1);

const filesUrl = readBy((value) => {
  kindOf(value);
  return value;
});

/** `folderPart` is the folder in the URL of a store that is one. */
export const folderPart: FilePart = {
  read: (url) => kindOf(url).folderOf?.(url),
  // The folder is absolute, so that no other takes its place.
  replace: (url) => url,
};

/** `filesKeys` say where the content of the buckets' files is kept. */
export const filesKeys = {
  url: key(
    "URL",
    filesUrl.optional(),
    "Where the content of files is stored: `file:///absolute/folder` or `s3://bucket/prefix`. Their names are then in the database. Without it, files are plain files below `static_path`. [storage.md](storage.md) helps you choose; `node-server migrate --files` moves files to another store.",
    { example: "file:///srv/node-server/blobs", file: folderPart, fileUse: "folder" },
  ),
  ...blobKeys(),
  cache_path: key(
    "path",
    text.optional(),
    "The folder that caches content read from S3. Default: `blob-cache` beside the SQLite file, or `data/blob-cache` beside this file for PostgreSQL.",
    { example: "data/blob-cache", fileUse: "folder" },
  ),
  cache_bytes: key(
    "bytes",
    z
      .int()
      .nonnegative()
      .default(1024 * MiB),
    "The maximum size of the cache. The content that was least recently read is removed first. 0 turns the cache off.",
  ),
  request_timeout_ms: key(
    "ms",
    z.int().positive().max(maxTimeoutMs).default(10_000),
    "How long S3 may take for one step of a request, such as beginning an answer or sending its next bytes.",
  ),
};

type FilesValues = KindSettings & { readonly url?: string | undefined };

/** `missingSettings` returns what the store that `url` names needs and does not have, for people. */
export function missingSettings(files: FilesValues): string | undefined {
  return findKind(files.url)?.missing?.(files);
}

/** `hasConnections` returns whether PostgreSQL has a connection for the statements that a change of a file waits for. */
export function hasConnections(
  { url }: Pick<FilesValues, "url">,
  database: { readonly database_url: string; readonly max_connections: number },
): boolean {
  return url === undefined || database.max_connections > 1 || database.database_url.startsWith("sqlite:");
}

export const connectionsMissing = {
  path: ["database", "max_connections"],
  error: "must be 2 or more with [files] url: a change of a file needs a second connection",
};
