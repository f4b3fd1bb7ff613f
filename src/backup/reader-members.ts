import { Fault } from "../base/fault.ts";
import { fatalReasons } from "../buckets/copy-bucket.ts";
import type { FileEntry, FileReader, OpenFile } from "../buckets/file-reader.ts";
import { type TreePath, treeRoot } from "../buckets/path.ts";
import { filesFolder } from "./manifest.ts";
import { folderMember, type Member } from "./member.ts";

/** The modes of files and folders that a store without modes has, for a restore onto a disk. */
const fileMode = 0o644;
const folderMode = 0o755;

export interface ReadBucket {
  readonly reader: FileReader;
  /** The bucket's path, its form checked. */
  readonly path: string;
  /** Receives what is left out. */
  note(text: string): void;
}

/** `readerMembers` are the folders and files of a bucket of any store, a folder before what it contains. */
export async function* readerMembers({ reader, path: bucket, note }: ReadBucket): AsyncGenerator<Member> {
  const nameOf = (path: TreePath) => `${filesFolder}${path === treeRoot ? bucket : `${bucket}/${path}`}`;
  let root: FileEntry | undefined;
  try {
    root = await reader.find(treeRoot);
  } catch (error) {
    if (!(error instanceof Fault) || fatalReasons.includes(error.data.reason)) throw error;
    return note(`${bucket}: the files of the bucket cannot be read: ${error.detail}`);
  }
  if (root === undefined) return;
  yield toFolder(nameOf(treeRoot), root);
  for await (const entry of reader.walk(treeRoot)) {
    if (entry.kind === "folder") yield toFolder(nameOf(entry.path), entry);
    else yield* fileMember(reader, entry, { name: nameOf(entry.path), note });
  }
}

function toFolder(name: string, { stats }: FileEntry): Member {
  return folderMember(`${name}/`, { mode: folderMode, modifiedMs: stats.modifiedMs });
}

/** A file that was removed meanwhile is not missed; one whose content the store has lost is noted. */
async function* fileMember(
  reader: FileReader,
  { path }: FileEntry,
  { name, note }: { readonly name: string; note(text: string): void },
): AsyncGenerator<Member> {
  let file: OpenFile;
  try {
    file = await reader.open(path);
  } catch (error) {
    if (error instanceof Fault && (error.kind === "NotFound" || error.kind === "InvalidInput")) return;
    throw error;
  }
  try {
    const { size, modifiedMs } = file.stats;
    const chunks = file.chunks();
    // Before its size is written: only then can it still be left out.
    const first = await chunks.next();
    yield {
      name,
      kind: "file",
      size,
      mode: fileMode,
      modifiedMs,
      async *content() {
        if (first.done) return;
        yield first.value;
        yield* chunks;
      },
    };
  } catch (error) {
    if (!(error instanceof Fault) || error.data.reason !== "blob_missing") throw error;
    note(`${name.slice(filesFolder.length)} is left out: the store has lost its content`);
  } finally {
    await file[Symbol.asyncDispose]();
  }
}
