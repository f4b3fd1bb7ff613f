import { Fault } from "../../../base/fault.ts";
import { blobKeyTimeMs, type StoredBlob } from "../../../blobs/blob-store.ts";
import { type EntryRow, type EntryRows, isFolderValue } from "../../../db/rows/entry-rows.ts";
import type { EntryValue, FileValue, FolderValue, HeadValue } from "../../../db/rows/entry-values.ts";
import {
  childPath,
  isAscii,
  parseSegment,
  type Segment,
  segmentsOf,
  splitPath,
  type TreePath,
  treeRoot,
} from "../../path.ts";
import { fileAbove, notFound } from "../../ports.ts";

/** Longer names do not exist on a disk, and so not here: files can be moved between stores. */
const maxNameBytes = 255;

/** EntryPosition is a name in a folder that exists. */
interface EntryPosition {
  readonly folder: FolderValue;
  readonly name: Segment;
}

/** LocatedPath is a path after one read of the rows. */
export interface LocatedPath {
  readonly head: HeadValue;
  /** The path, each name in the Unicode form that exists. */
  readonly path: TreePath;
  /** The names of the path. */
  readonly names: readonly Segment[];
  /** What exists on the way: the bucket's own folder first, the entry at the path last if it exists. */
  readonly chain: readonly EntryValue[];
}

/** Top is where paths begin: at the head of a bucket as it is now, or at a head that was read before. */
type Top = string | HeadValue;

/** locate follows a path, each name as given, else in NFC, else in NFD. Throws if the bucket has no head. */
export async function locate(rows: EntryRows, top: Top, asked: TreePath): Promise<LocatedPath> {
  const names = segmentsOf(asked);
  const followed =
    typeof top === "string"
      ? await rows.follow(top, names)
      : { head: top, entries: await rows.followFrom(top.root, names) };
  if (followed === undefined) throw treeIsMissing();
  const { head } = followed;
  const entries = [...followed.entries];
  while (entries.length < names.length) {
    const name = names[entries.length];
    const folder = entries.length === 0 ? rootValue(head) : entries.at(-1)?.value;
    if (name === undefined || folder === undefined || !isFolderValue(folder)) break;
    const other = isAscii(name) ? undefined : await otherForm(rows, folder, name);
    if (other === undefined) break;
    entries.push(other);
    if (isFolderValue(other.value))
      entries.push(...(await rows.followFrom(other.value.id, names.slice(entries.length))));
  }
  const spelled = names.map((name, at) => (entries[at]?.name as Segment | undefined) ?? name);
  return {
    head,
    names: spelled,
    path: spelled.reduce(childPath, treeRoot),
    chain: [rootValue(head), ...entries.map(({ value }) => value)],
  };
}

async function otherForm(rows: EntryRows, { id }: FolderValue, name: Segment): Promise<EntryRow | undefined> {
  const forms = [name.normalize("NFC"), name.normalize("NFD")].filter(
    (form) => form !== name && parseSegment(form) !== undefined,
  );
  if (forms.length === 0) return undefined;
  const found = await rows.some(id, forms);
  return forms.map((form) => found.find((row) => row.name === form)).find((row) => row !== undefined);
}

/** entryOf returns the value at the located path; undefined if nothing exists there. */
export function entryOf({ chain, names }: LocatedPath): EntryValue | undefined {
  return chain[names.length];
}

/** parentOf returns what exists at the path of the folder above; undefined for the bucket's own folder. */
export function parentOf({ chain, names }: LocatedPath): EntryValue | undefined {
  return names.length === 0 ? undefined : chain[names.length - 1];
}

/** folderAt returns the folder at a depth of the way to a located path: 0 is the bucket's own. InvalidInput if it is a file. */
export function folderAt({ chain, path }: LocatedPath, depth: number): FolderValue {
  const value = chain[depth];
  if (value === undefined) throw notFound(path);
  if (isFolderValue(value)) return value;
  throw fileAbove(path);
}

/** positionOf returns the position of a located path in the folder above it. Throws NotFound when that does not exist. */
export function positionOf(located: LocatedPath): EntryPosition {
  return lowestPosition(located, { makeParents: false });
}

/**
 * lowestPosition is where a located path can be created: in the folder above it, or with `makeParents` in the lowest folder that exists,
 * below which the `missing` ones have to be created first. InvalidInput for a path that cannot exist.
 */
export function lowestPosition(
  located: LocatedPath,
  { makeParents }: { readonly makeParents: boolean },
): EntryPosition & { readonly missing: readonly Segment[] } {
  const { names, chain, path } = located;
  const name = names.at(-1);
  if (name === undefined)
    throw new Fault("InvalidInput", "the bucket's own folder cannot be moved or replaced", { path });
  refuseLongNames(path);
  const depth = Math.min(chain.length, names.length) - 1;
  const folder = folderAt(located, depth);
  if (depth < names.length - 1 && !makeParents) throw notFound(splitPath(path).folder);
  return { folder, name, missing: names.slice(depth, -1) };
}

/** refuseLongNames throws InvalidInput for a path with a name that no disk could store. */
export function refuseLongNames(path: TreePath): void {
  if (segmentsOf(path).every((name) => Buffer.byteLength(name) <= maxNameBytes)) return;
  throw new Fault(
    "InvalidInput",
    `a name in the path has more than ${maxNameBytes} bytes; choose a shorter one`,
    { path, reason: "name_too_long" },
  );
}

/** treeIsMissing returns the Fault for a bucket whose record exists, but whose files are not in this store. */
export function treeIsMissing(): Fault {
  return new Fault(
    "IoError",
    "the store does not know this bucket, so its files may be in another store; move them with `node-server migrate --files`, or update the bucket to begin without files",
    { reason: "files_missing" },
  );
}

/** hashOfNothing is the SHA-256 of an empty file. */
export const hashOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** rootValue returns the bucket's own folder as if it had a row in another one. Its id says when it was made. */
export function rootValue({ root, version, modified, accessed }: HeadValue): FolderValue {
  const created = blobKeyTimeMs(root);
  return {
    id: root,
    created,
    modified: modified ?? created,
    version,
    ...(accessed === undefined ? {} : { accessed }),
  };
}

/** blobOf returns the content of a file; undefined for an empty one, which has no blob. */
export function blobOf({ blob, size, hash }: FileValue): StoredBlob | undefined {
  return blob === null ? undefined : { key: blob, size, sha256: hash };
}
