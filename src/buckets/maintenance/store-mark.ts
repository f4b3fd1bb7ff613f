import { Fault } from "../../base/fault.ts";
import { type BlobStore, isCheckProbe } from "../../blobs/blob-store.ts";
import type { StoreIdentityRows } from "../../db/rows/store-rows.ts";

const markName = "owner.json";
const maxMarkMs = 30_000;
const dayMs = 24 * 3600 * 1000;

/** StoreMark is a small file beside the blobs that says whose they are. */
export interface StoreMark {
  /** The database that owns the store: what it does not name is deleted. */
  readonly database: string;
  /** Names the store, wherever it is moved. */
  readonly store: string;
}

/** readMark is undefined for a store that no database owns yet. */
export async function readMark(blobs: BlobStore): Promise<StoreMark | undefined> {
  const text = await blobs.getManifest(markName, AbortSignal.timeout(maxMarkMs));
  if (text === undefined) return undefined;
  try {
    const { database, store } = JSON.parse(text) as Partial<StoreMark>;
    if (typeof database === "string" && typeof store === "string") return { database, store };
  } catch {
    // It is not JSON, which is reported below.
  }
  throw new Fault(
    "IoError",
    `manifests/${markName} in the file store is damaged; restore it from a backup of the store, or delete it and run \`node-server check --files --claim\``,
  );
}

async function writeMark(blobs: BlobStore, mark: StoreMark): Promise<void> {
  async function* content() {
    yield Buffer.from(`${JSON.stringify(mark)}\n`);
  }
  await blobs.putManifest(markName, content(), AbortSignal.timeout(maxMarkMs));
}

/**
 * markStore returns the mark of a store that this database owns. One that is empty and has no owner gets a mark with the id
 * `store`. Throws if another database owns it, or may own it.
 */
export async function markStore(
  rows: StoreIdentityRows,
  blobs: BlobStore,
  { url, store }: { readonly url: string; readonly store: string },
): Promise<StoreMark> {
  const { database } = await rows.change((value) => value);
  const found = await readMark(blobs);
  if (found !== undefined) {
    assertNotForeign(found, database, url);
    return found;
  }
  if (await holdsContent(blobs)) {
    // Another node that started at the same time may have marked it since, and accepted uploads.
    const marked = await readMark(blobs);
    if (marked === undefined) throw ownerless(url);
    assertNotForeign(marked, database, url);
    return marked;
  }
  const mark = { database, store };
  await writeMark(blobs, mark);
  return mark;
}

/** assertOwner throws unless this database owns the store, and used it last: otherwise nothing in the store may be deleted. */
export async function assertOwner(rows: StoreIdentityRows, blobs: BlobStore): Promise<void> {
  const [value, mark] = [await rows.read(), await readMark(blobs)];
  if (mark?.database === value?.database && mark?.store === value?.store) return;
  throw new Fault(
    "Other",
    "the file store belongs to another database, or this database uses another store, so nothing was deleted; check [files] url and database_url",
  );
}

interface ClaimOptions {
  /** For messages. */
  readonly url: string;
  /** How long blobs that nothing names are kept from now on, at least a day. */
  readonly keepDays: number;
}

/** claimStore makes this database the owner of a store, whatever was before. */
export async function claimStore(
  rows: StoreIdentityRows,
  blobs: BlobStore,
  { url, keepDays }: ClaimOptions,
): Promise<void> {
  const store = (await readMark(blobs))?.store ?? Bun.randomUUIDv7();
  const { database } = await rows.change(({ database }, now) => ({
    database,
    store,
    url,
    opened: now,
    keep_orphans_until: retainedUntil(now, keepDays),
  }));
  await writeMark(blobs, { database, store });
}

/**
 * takeOver makes the copy of a database the owner of the store that both would use: what one of them uploads, the other would
 * take for orphans. The original is refused from then on.
 */
export async function takeOver(rows: StoreIdentityRows, blobs: BlobStore): Promise<void> {
  const [value, mark] = [await rows.read(), await readMark(blobs)];
  if (mark === undefined || value?.database !== mark.database) return;
  const database = Bun.randomUUIDv7();
  await rows.change((old) => ({ ...old, database }));
  await writeMark(blobs, { ...mark, database });
}

/**
 * retainedUntil returns the time until which blobs that nothing names are retained after a claim or a restore: somebody may want
 * back what the database does not know.
 */
export function retainedUntil(nowMs: number, keepDays: number): number {
  return nowMs + Math.max(1, keepDays) * dayMs;
}

/** Nodes that start at once check the store at the same time; their probes are no content. */
async function holdsContent(blobs: BlobStore): Promise<boolean> {
  for await (const some of blobs.list())
    for (const blob of some) if (!(await isCheckProbe(blobs, blob))) return true;
  return false;
}

const claimHint =
  "if the other database no longer exists, `node-server check --files --claim` makes this one the owner";

/** assertNotForeign throws if the mark of a store names another database than this one, which is undefined if it has no name yet. */
export function assertNotForeign(
  mark: StoreMark | undefined,
  database: string | undefined,
  url: string,
): void {
  if (mark === undefined || mark.database === database) return;
  throw new Fault(
    "InvalidInput",
    `the store ${url} belongs to another database, whose daily maintenance would delete the files of this one. Name another folder or prefix in [files] url; ${claimHint}`,
    { field: "files.url" },
  );
}

function ownerless(url: string): Fault {
  return new Fault(
    "InvalidInput",
    `the store ${url} has content but no owner, so it may belong to another database. Name another folder or prefix in [files] url; ${claimHint}`,
    { field: "files.url" },
  );
}
