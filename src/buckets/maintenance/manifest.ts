import type { BlobStore } from "../../blobs/blob-store.ts";
import { isFolderValue } from "../../db/rows/entry-rows.ts";
import type { EntryValue, HeadValue } from "../../db/rows/entry-values.ts";
import type { RemovedRows } from "../../db/rows/removed-rows.ts";
import type { ObjectRows } from "../../db/rows/store-rows.ts";

/** The size at which a piece of a manifest is sent. */
const pieceBytes = 64 * 1024;

/** ManifestHeader is the first line of a manifest. */
interface ManifestHeader {
  readonly bucket: string;
  /** The version of the bucket whose files follow. */
  readonly version: number;
  /** When it was read. */
  readonly at: string;
}

/** ManifestLine is one of the other lines: a file, or a folder, whose path ends with a slash. */
interface ManifestLine {
  readonly path: string;
  readonly modified: string;
  readonly size?: number;
  readonly sha256?: string;
  /** Missing for an empty file, which has no blob. */
  readonly blob?: string;
}

/** `manifestName` returns the file name of a bucket's manifest. A bucket's path has no `~`, so no two have the same. */
function manifestName(bucketPath: string): string {
  return `${bucketPath.replaceAll("/", "~")}.jsonl`;
}

/**
 * `writeManifests` writes, for each bucket, what its files are called and which blobs they are: with it the files can be recovered
 * from a store whose database is lost. Returns how many.
 */
export async function writeManifests({
  rows,
  blobs,
  signal,
}: {
  readonly rows: RemovedRows;
  readonly blobs: BlobStore;
  readonly signal: AbortSignal;
}): Promise<number> {
  let written = 0;
  for await (const heads of rows.current.heads())
    for (const { key: bucketPath } of heads) {
      signal.throwIfAborted();
      // One state for each bucket: a long upload must not keep the database from clearing away what the others change.
      await rows.readSnapshot(async (names) => {
        const head = await names.head(bucketPath);
        if (head === undefined) return;
        await blobs.putManifest(manifestName(bucketPath), manifestOf(names, bucketPath, head), signal);
        written += 1;
      });
    }
  return written;
}

async function* manifestOf(
  names: ObjectRows,
  bucket: string,
  { root, version }: HeadValue,
): AsyncGenerator<Uint8Array> {
  const header: ManifestHeader = { bucket, version, at: new Date().toISOString() };
  let text = `${JSON.stringify(header)}\n`;
  for await (const { path, value } of walkEntries(names, root)) {
    text += `${JSON.stringify(lineOf(path, value))}\n`;
    if (text.length < pieceBytes) continue;
    yield Buffer.from(text);
    text = "";
  }
  yield Buffer.from(text);
}

function lineOf(path: string, value: EntryValue): ManifestLine {
  const modified = new Date(value.modified).toISOString();
  if (isFolderValue(value)) return { path: `${path}/`, modified };
  const { size, hash: sha256, blob } = value;
  return { path, modified, size, sha256, ...(blob !== null && { blob }) };
}

/** `walkEntries` returns everything below a folder, a folder before what it contains. */
export async function* walkEntries(
  names: ObjectRows,
  folderId: string,
): AsyncGenerator<{ readonly path: string; readonly value: EntryValue }> {
  const pending = [{ id: folderId, prefix: "" }];
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    const { prefix } = folder;
    for await (const batch of names.entries(folder.id))
      for (const { key, value } of batch) {
        const path = prefix + key;
        yield { path, value };
        if (isFolderValue(value)) pending.push({ id: value.id, prefix: `${path}/` });
      }
  }
}
