import { z } from "zod";

const text = z.string();

/** `storeEvents` are the events of the store of the files. */
export const storeEvents = {
  "blob.missing": {
    level: "ERROR",
    description:
      "The database names content that the blob store does not hold, or holds damaged; requests for the file fail until it is restored from a backup or uploaded again.",
    fields: z.object({ bucket: text, path: text, blob: text }),
    hidden: [],
  },
  "deploy.settled": {
    level: "WARN",
    description:
      "A crash interrupted the publication of a deploy; what it left was put in order. `published` says whether the deploy is the published one now, and `path` is that of its bucket.",
    fields: z.object({ path: text, deploy: text, published: z.boolean() }),
    hidden: [],
  },
  "deploy.work_failed": {
    level: "WARN",
    description:
      "Deploys that are kept no more could not be removed, or a publication that a crash interrupted could not be settled; that is tried again with the next call about deploys of the bucket.",
    fields: z.object({ reason: text }),
    hidden: [],
  },
  "store.buckets_missing": {
    level: "WARN",
    description:
      "The store of the files (`[files] url`) has no place for `count` buckets, of which `buckets` are the first: their files are in another store. `node-server migrate --files` copies them.",
    fields: z.object({ url: text, buckets: z.array(text), count: z.int() }),
    hidden: [],
  },
  "store.lost": {
    level: "ERROR",
    description:
      "The folder of the buckets (`static_path`) is missing, cannot be written, or its disk is full, or the store of their files (`[files] url`) cannot be used; requests for files may fail.",
    fields: z.object({ static_path: text.optional(), url: text.optional(), reason: text }),
    hidden: [],
  },
  "store.request_failed": {
    level: "WARN",
    description:
      "The store of the files (`[files] url`) failed a request, which was answered with 502 or 503. At most one line a minute, and none while the store is lost (`store.lost`).",
    fields: z.object({ reason: text }),
    hidden: [],
  },
  "store.restored": {
    level: "INFO",
    description: "The folder of the buckets, or the store of their files, can be used again.",
    fields: z.object({ static_path: text.optional(), url: text.optional(), lost_ms: z.int() }),
    hidden: [],
  },
  "upload.expired": {
    level: "INFO",
    description:
      "Resumable uploads that were not finished within 24 hours, and what is left of uploads to deleted buckets, were removed.",
    fields: z.object({ removed: z.int() }),
    hidden: [],
  },
  "upload.work_failed": {
    level: "WARN",
    description:
      "What a resumable upload left could not be removed; that is tried again within an hour. The file of a finished upload is in place.",
    fields: z.object({ reason: text }),
    hidden: [],
  },
  "cache.failed": {
    level: "WARN",
    description:
      "The folder of the cache (`cache_path`) cannot be written, or its disk is full; files are sent from the object store.",
    fields: z.object({ cache_path: text, reason: text }),
    hidden: [],
  },
  "cache.restored": {
    level: "INFO",
    description: "Files are cached again.",
    fields: z.object({ cache_path: text }),
    hidden: [],
  },
  "files.swept": {
    level: "INFO",
    description:
      "The daily care of an object store is done: rows of removed files whose time has passed, blobs that nothing names and unfinished uploads were deleted, and a manifest of each bucket was written.",
    fields: z.object({
      purged_rows: z.int(),
      deleted_blobs: z.int(),
      deleted_bytes: z.int(),
      unfinished: z.int(),
      manifests: z.int(),
      elapsed_ms: z.int(),
    }),
    hidden: [],
  },
  "files.care_failed": {
    level: "ERROR",
    description: "The daily care of an object store failed; it is tried again after `retry_ms`.",
    fields: z.object({ reason: text, retry_ms: z.int() }),
    hidden: [],
  },
  "trash.skipped": {
    level: "WARN",
    description:
      "A plain file or folder was deleted or replaced without being kept in the trash (`trash_days`): its path is too long for the trash, or it was deleted on a full disk.",
    fields: z.object({ bucket: text, path: text, reason: text }),
    hidden: [],
  },
  "trash.purged": {
    level: "INFO",
    description: "What had been in the trash of plain files for `trash_days` was deleted.",
    fields: z.object({ purged: z.int(), elapsed_ms: z.int() }),
    hidden: [],
  },
  "trash.purge_failed": {
    level: "ERROR",
    description: "The trash of plain files could not be purged; it is tried again after `retry_ms`.",
    fields: z.object({ reason: text, retry_ms: z.int() }),
    hidden: [],
  },
} as const;
