import { z } from "zod";
import { type FilePart, key, readBy } from "../base/config-key.ts";
import { Fault } from "../base/fault.ts";
import { parseFilesUrl, withFilesFolder } from "../base/files-url.ts";

const MiB = 1024 * 1024;
const maxDays = 3650;
const maxTimeoutMs = 600_000;
const text = z.string().min(1);

const filesUrl = readBy((value) => {
  parseFilesUrl(value);
  return value;
});

const endpoint = readBy((value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new Fault("InvalidInput", "must begin with https:// (or http://), such as https://s3.example.com");
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new Fault(
      "InvalidInput",
      "must not contain keys or options; write access_key_id and secret_access_key below [files]",
    );
  return value.replace(/\/+$/, "");
});

/** `folderPart` is the folder in a `file:` URL. */
export const folderPart: FilePart = {
  read(url) {
    const location = parseFilesUrl(url);
    return "folder" in location ? location.folder : undefined;
  },
  replace: (_, path) => withFilesFolder(path),
};

/** `filesKeys` say where the content of the buckets' files is kept. */
export const filesKeys = {
  url: key(
    "URL",
    filesUrl.optional(),
    "Where the content of files is stored: `file:///absolute/folder` or `s3://bucket/prefix`. Their names are then in the database. Without it, files are plain files below `static_path`. [storage.md](storage.md) helps you choose; `node-server migrate --files` moves files to another store.",
    { example: "file:///srv/node-server/blobs", file: folderPart, fileUse: "folder" },
  ),
  endpoint: key(
    "URL",
    endpoint.optional(),
    "The address of an S3-compatible store. Default: the environment variable `AWS_ENDPOINT_URL`, else Amazon S3 in `region`.",
    { example: "https://s3.example.com" },
  ),
  region: key(
    "text",
    text.optional(),
    "The region of the S3 bucket. Default: the environment variable `AWS_REGION`, else `us-east-1`.",
    { example: "eu-central-1" },
  ),
  access_key_id: key(
    "text",
    text.optional(),
    "The access key for S3. Default: the environment variable `AWS_ACCESS_KEY_ID`.",
    { example: "AKIA…" },
  ),
  secret_access_key: key(
    "text",
    text.optional(),
    "The secret of the access key. Default: the environment variable `AWS_SECRET_ACCESS_KEY`.",
    { example: "…" },
  ),
  path_style: key(
    "boolean",
    z.boolean().default(true),
    "Name the S3 bucket in the path (`https://host/bucket/…`), which most stores accept; false names it in the host (`https://bucket.host/…`), as some stores require.",
  ),
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
  keep_removed_days: key(
    "days",
    z.int().nonnegative().max(maxDays).default(7),
    "How long deleted and replaced files can be restored. A backup of the database alone can be restored for the same time, because the content of its files still exists.",
    { initial: 30 },
  ),
  request_timeout_ms: key(
    "ms",
    z.int().positive().max(maxTimeoutMs).default(10_000),
    "How long S3 may take for one step of a request, such as beginning an answer or sending its next bytes.",
  ),
};

/** `awsVariables` are the usual names of settings of S3 in the environment, each with the key that it stands in for. */
export const awsVariables: Readonly<Record<string, keyof typeof filesKeys>> = {
  AWS_ACCESS_KEY_ID: "access_key_id",
  AWS_SECRET_ACCESS_KEY: "secret_access_key",
  AWS_REGION: "region",
  AWS_ENDPOINT_URL: "endpoint",
};

/** `isS3` returns whether the value of `url` names S3, valid or not. */
export function isS3(url: unknown): boolean {
  return typeof url === "string" && url.startsWith("s3:");
}

interface FilesValues {
  readonly url?: string | undefined;
  readonly access_key_id?: string | undefined;
  readonly secret_access_key?: string | undefined;
}

export function hasS3Keys({ url, access_key_id, secret_access_key }: FilesValues): boolean {
  return !isS3(url) || (access_key_id !== undefined && secret_access_key !== undefined);
}

export const s3KeysMissing = {
  path: ["files", "url"],
  error:
    "needs access_key_id and secret_access_key; write both below [files], or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
};

/** `hasConnections` returns whether PostgreSQL has a connection for the statements that a change of a file waits for. */
export function hasConnections(
  { url }: FilesValues,
  database: { readonly database_url: string; readonly max_connections: number },
): boolean {
  return url === undefined || database.max_connections > 1 || database.database_url.startsWith("sqlite:");
}

export const connectionsMissing = {
  path: ["database", "max_connections"],
  error: "must be 2 or more with [files] url: a change of a file needs a second connection",
};
