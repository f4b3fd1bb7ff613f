import { Database as SqliteFile } from "bun:sqlite";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { SQL } from "bun";
import type { EntryValue, HeadValue, RemovedValue } from "../../src/db/rows/entry-values.ts";
import { storedKeys } from "./object-rows.ts";
import { sessionsEnded } from "./postgres.ts";

/** A file as the rows of the database describe it. */
interface StoredFile {
  readonly blob: string | null;
  readonly hash: string;
  readonly size: number;
}

/** NamedFiles are the files of an object store as the rows of the database name them, read past the server. */
export interface NamedFiles {
  /** The live files by their paths, with the bucket's in front; of a folder, whose path ends with a slash, undefined. */
  readonly entries: ReadonlyMap<string, StoredFile | undefined>;
  /** Everything that is named, live or removed. */
  readonly named: readonly StoredFile[];
  /** Namespaces of folders that can be reached from no head and no removed folder. */
  readonly lostFolders: readonly string[];
}

/** StoredTree is the content of an object store in a folder, read past the server: by SQL, and from the disk. */
export interface StoredTree extends NamedFiles {
  /** The keys of the blobs in the folder, sorted. */
  readonly blobs: readonly string[];
  /** Files of uploads that were never finished. */
  readonly unfinished: number;
}

const space = "static-files/";

interface Row {
  readonly namespace: string;
  readonly key: string;
  readonly value: unknown;
}

async function rowsOf(databaseUrl: string): Promise<Row[]> {
  const select = `SELECT namespace, key, value FROM kv WHERE namespace LIKE '${space}%'`;
  if (databaseUrl.startsWith("sqlite://")) {
    using file = new SqliteFile(databaseUrl.slice("sqlite://".length).replace(/\?.*$/, ""));
    return file.query(select).all() as Row[];
  }
  await using sql = new SQL({ url: databaseUrl, max: 1 });
  return (await sql.unsafe(select)) as Row[];
}

/** Reads the store of a server that is not running, as it stays. */
export async function readStoredTree(databaseUrl: string, folder: string): Promise<StoredTree> {
  if (!databaseUrl.startsWith("sqlite://")) await sessionsEnded(databaseUrl);
  return {
    ...(await readNamedFiles(databaseUrl)),
    blobs: await storedKeys(folder),
    unfinished: (await readdir(join(folder, "unfinished"))).length,
  };
}

export async function readNamedFiles(databaseUrl: string): Promise<NamedFiles> {
  const folders = new Map<string, Array<[name: string, value: unknown]>>();
  for (const { namespace, key, value } of await rowsOf(databaseUrl)) {
    const rows = folders.get(namespace) ?? [];
    rows.push([key, typeof value === "string" ? JSON.parse(value) : value]);
    folders.set(namespace, rows);
  }
  const entries = new Map<string, StoredFile | undefined>();
  const named: StoredFile[] = [];
  // Beside folders: which store is used, and the lease of the daily care, which a server takes after ten seconds.
  const reached = new Set([`${space}heads`, `${space}leases`, `${space}store`]);
  const visit = (value: EntryValue, path: string, into: Map<string, StoredFile | undefined>) => {
    if (!("id" in value)) {
      named.push(value);
      into.set(path, value);
      return;
    }
    if (path !== "") into.set(`${path}/`, undefined);
    reached.add(space + value.id);
    for (const [name, inside] of folders.get(space + value.id) ?? [])
      visit(inside as EntryValue, `${path}/${name}`, into);
  };
  for (const [bucket, head] of folders.get(`${space}heads`) ?? []) {
    visit({ id: (head as HeadValue).root } as EntryValue, bucket, entries);
    const removed = `${space}removed/${bucket}`;
    reached.add(removed);
    for (const [, value] of folders.get(removed) ?? []) visit((value as RemovedValue).entry, "", new Map());
  }
  return {
    entries,
    named,
    lostFolders: [...folders.keys()].filter((namespace) => !reached.has(namespace)),
  };
}

/** The keys of the blobs that a tree names, each once, sorted. */
export function namedBlobs({ named }: NamedFiles): string[] {
  return [...new Set(named.flatMap(({ blob }) => blob ?? []))].sort();
}
