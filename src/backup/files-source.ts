import type { BlobSettings } from "../buckets/objects/open-blobs.ts";
import { openObjectReaders } from "../buckets/objects/open-readers.ts";
import type { DatabaseSettings } from "../db/database.ts";
import type { LogHub } from "../log/hub.ts";
import { bucketMembers } from "./bucket-members.ts";
import type { Member } from "./member.ts";
import { readerMembers } from "./reader-members.ts";

/** FilesSource is where the files of the buckets are: below a folder, or in a blob store. It can be sent to another process as JSON. */
export type FilesSource = { readonly staticPath: string } | { readonly blobs: BlobSettings };

/** OpenFiles reads the files of buckets for a backup. */
export interface OpenFiles extends AsyncDisposable {
  /** The files of a bucket; `note` receives what is left out. */
  members(
    bucket: { readonly name: string; readonly path: string },
    note: (text: string) => void,
  ): AsyncGenerator<Member>;
}

/**
 * `openFiles` opens the store of the files beside a running server. Names in the database are read as they are now, not as the
 * backup's snapshot has them; but of each bucket one tree, whatever is published meanwhile.
 */
export async function openFiles(
  source: FilesSource,
  database: DatabaseSettings,
  hub: LogHub,
): Promise<OpenFiles> {
  if ("staticPath" in source)
    return {
      members: ({ path }, note) => bucketMembers({ staticPath: source.staticPath, path, note }),
      async [Symbol.asyncDispose]() {},
    };
  const readers = await openObjectReaders(source.blobs, database, hub);
  return {
    async *members(bucket, note) {
      yield* readerMembers({ reader: await readers.readerOfPublished(bucket), path: bucket.path, note });
    },
    [Symbol.asyncDispose]: () => readers[Symbol.asyncDispose](),
  };
}
