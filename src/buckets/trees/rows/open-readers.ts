import type { BlobStore } from "../../../blobs/blob-store.ts";
import { type BlobSettings, openBlobs, proveBlobs } from "../../../blobs/open-blobs.ts";
import { UncachedContent } from "../../../blobs/remote-content.ts";
import { Database, type DatabaseSettings, openDialect } from "../../../db/database.ts";
import { Freshness } from "../../../db/freshness.ts";
import type { HeadValue } from "../../../db/rows/entry-values.ts";
import type { LogHub } from "../../../log/hub.ts";
import type { FileReader, PublishedFiles } from "../../ports.ts";
import type { Bucket } from "../../record.ts";
import { EntryReader } from "./entry-reader.ts";
import { Heads } from "./heads.ts";

export interface ObjectReaders extends PublishedFiles {
  /** Reads what is published at each moment. */
  readerOf(bucket: Pick<Bucket, "name" | "path">): FileReader;
}

/**
 * openObjectReaders reads the files of buckets without a server, or beside one. Throws what an operator has to do if the store
 * cannot be used.
 */
export async function openObjectReaders(
  settings: BlobSettings,
  databaseSettings: DatabaseSettings,
  hub: LogHub,
): Promise<ObjectReaders> {
  const blobs = openBlobs(settings, { sync: false });
  await proveBlobs(blobs);
  const dialect = await openDialect(databaseSettings, hub);
  dialect.limitAnswers();
  const database = new Database(dialect, hub.logger("sqlx"));
  return {
    ...objectReaders(database, blobs, hub),
    async [Symbol.asyncDispose]() {
      await database.close();
    },
  };
}

/** objectReaders reads the files of buckets over a database that is open. It writes nothing, and closes nothing. */
export function objectReaders(database: Database, blobs: BlobStore, hub: LogHub): ObjectReaders {
  const log = hub.logger("server");
  const heads = new Heads(database.heads, new Freshness(database));
  const content = new UncachedContent(blobs);
  const readerOf = ({ name: bucket, path }: Pick<Bucket, "name" | "path">, head?: HeadValue) =>
    new EntryReader({ bucket, bucketPath: path, head, heads, content, log, entries: database.entries });
  return {
    readerOf: (bucket) => readerOf(bucket),
    open: async (bucket) => {
      const reader = readerOf(bucket, await database.heads.read(bucket.path));
      return { reader, async [Symbol.asyncDispose]() {} };
    },
    async [Symbol.asyncDispose]() {},
  };
}
