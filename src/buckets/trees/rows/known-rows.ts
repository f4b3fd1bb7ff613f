import { type Freshness, putLast, Remembered } from "../../../db/freshness.ts";
import { folderNamespace, isFolderValue } from "../../../db/rows/entry-rows.ts";
import type { EntryValue, HeadValue } from "../../../db/rows/entry-values.ts";
import { childPath, type Segment, segmentsOf, type TreePath, treeRoot } from "../../path.ts";
import { entryOf, type LocatedPath, rootValue } from "./locate.ts";

/** Limits of what is remembered, of all buckets. Names that do not exist are counted apart: anybody may ask for any. */
const maxRows = 20_000;
const maxTrees = 10_000;
const maxPathChars = 512;

/** LastHead is what is known of the head of a bucket without asking the database. */
export interface LastHead {
  readonly version: number;
  readonly root: string;
  /** When it was last known to be the present one, by a clock that nobody sets. */
  readonly trueAt: number;
}

/** KnownRow is what was found under a name of a folder. Times are of a clock that nobody sets. */
interface KnownRow {
  readonly tree: KnownTree;
  /** The name by which it was asked for, and the one that exists. */
  readonly asked: string;
  readonly name: Segment;
  /** Undefined if nothing exists there. */
  readonly value: EntryValue | undefined;
  /** The version of the bucket in which it was found, and when the read began. */
  readonly version: number;
  readonly readAt: number;
}

/** KnownTree is what is known of the files of a bucket as long as they have one root. */
interface KnownTree {
  /** The newest head that was seen. */
  head: HeadValue;
  /** All changes from this version of the bucket to that of `head` are known: rows that were found in it or later are those of `head`. */
  since: number;
  /** The newest version that this process has made: a read that found an older one says nothing. */
  own: number;
  /** The root before this one: a read may have begun before the trees were exchanged. */
  readonly previousRoot: string | undefined;
}

/** WrittenRow is a row that this process has written; without a value it was deleted. */
export interface WrittenRow {
  readonly namespace: string;
  readonly key: string;
  readonly value: EntryValue | undefined;
}

/** OwnChange is a change that this process has made. */
interface OwnChange {
  /** The head that the transaction had locked, and the one that it wrote. */
  readonly before: HeadValue;
  readonly after: HeadValue;
  /** Undefined if not all of them are known. */
  readonly rows: readonly WrittenRow[] | undefined;
}

/**
 * KnownRows remembers the rows that were read, for answers of plain HTTP while the database is away. A row is valid until it was
 * changed, as far as this process has made or seen the change, and no longer than for `staleMs` after it was last known to be true.
 */
export class KnownRows {
  readonly #freshness: Freshness;
  readonly #trees = new Map<string, KnownTree>();
  readonly #rows = new Remembered<string, KnownRow>({ found: maxRows, missing: maxRows });

  constructor(freshness: Freshness) {
    this.#freshness = freshness;
  }

  /** locate finds a path as it was last known; undefined if that is not known, or too old. `last` is what is known of the head. */
  locate(bucketPath: string, path: TreePath, last: LastHead | undefined): LocatedPath | undefined {
    const tree = this.#trees.get(bucketPath);
    if (tree === undefined || last?.root !== tree.head.root) return undefined;
    return this.#follow(tree, path, (row) => {
      const isOfHead = row.version >= tree.since && last.version === tree.head.version;
      return this.#freshness.isUsable(isOfHead ? Math.max(row.readAt, last.trueAt) : row.readAt);
    });
  }

  /** headWithout returns the newest state of a bucket that is known to have nothing at a path, however long ago that was. */
  headWithout(bucketPath: string, path: TreePath): HeadValue | undefined {
    const tree = this.#trees.get(bucketPath);
    const located = tree && this.#follow(tree, path, () => true);
    return located && entryOf(located) === undefined ? located.head : undefined;
  }

  #follow(tree: KnownTree, path: TreePath, mayUse: (row: KnownRow) => boolean): LocatedPath | undefined {
    const names: Segment[] = [];
    const chain: EntryValue[] = [rootValue(tree.head)];
    let { version } = tree.head;
    for (const asked of segmentsOf(path)) {
      const folder = chain[names.length];
      // Below what does not exist, or is a file, nothing exists.
      if (folder === undefined || !isFolderValue(folder)) {
        names.push(asked);
        continue;
      }
      const row = this.#rows.get(keyOf(folderNamespace(folder.id), asked));
      if (row?.tree !== tree || row.asked !== asked || !mayUse(row)) return undefined;
      if (row.version < tree.since) version = Math.min(version, row.version);
      if (row.value !== undefined) chain.push(row.value);
      names.push(row.name);
    }
    // It may be the state of an older version: then it must not count as that of the newest one when the database is back.
    const head = { ...tree.head, version };
    return { head, names, path: names.reduce(childPath, treeRoot), chain };
  }

  /** remember keeps a path that a read has found; the read began at `readAt`. */
  remember(bucketPath: string, asked: TreePath, { head, names, chain }: LocatedPath, readAt: number): void {
    const tree = this.saw(bucketPath, head);
    if (tree === undefined || asked.length > maxPathChars || head.version < tree.own) return;
    for (const [at, segment] of segmentsOf(asked).entries()) {
      const folder = chain[at];
      if (folder === undefined || !isFolderValue(folder)) return;
      const row = { tree, asked: segment, name: names[at] ?? segment, value: chain[at + 1] };
      this.#keep(keyOf(folderNamespace(folder.id), segment), { ...row, version: head.version, readAt });
    }
  }

  /**
   * saw is to be called with every head that was read or written: changes that led to it are not known. Undefined if it is of a tree that
   * has been replaced.
   */
  saw(bucketPath: string, head: HeadValue): KnownTree | undefined {
    const known = this.#trees.get(bucketPath);
    if (known?.head.root === head.root) {
      if (head.version > known.head.version) {
        known.head = head;
        known.since = head.version;
      }
      return known;
    }
    if (known?.previousRoot === head.root && head.version < known.head.version) return undefined;
    const tree = { head, since: head.version, own: 0, previousRoot: known?.head.root };
    putLast(this.#trees, { key: bucketPath, entry: tree, max: maxTrees });
    return tree;
  }

  /** changed is to be called with every change that this process has made, before it is answered. */
  changed(bucketPath: string, { before, after, rows }: OwnChange): void {
    if (rows === undefined) this.#trees.delete(bucketPath);
    const known = this.#trees.get(bucketPath);
    const isNext = known?.head.root === after.root && known.head.version === before.version;
    if (known !== undefined && isNext) known.head = after;
    const tree = this.saw(bucketPath, after);
    if (tree === undefined) return;
    tree.own = Math.max(tree.own, after.version);
    const readAt = this.#freshness.now;
    for (const { namespace, key: name, value } of rows ?? []) {
      const key = keyOf(namespace, name);
      const row = this.#rows.get(key);
      if (row?.tree !== tree) continue;
      // A name in another Unicode form may lead to something else now.
      if (row.asked !== name) this.#rows.delete(key);
      else this.#keep(key, { ...row, name: row.asked as Segment, value, version: after.version, readAt });
    }
  }

  /** mayBeChanged is to be called with what a change has written of which nobody knows whether it was made. */
  mayBeChanged(bucketPath: string, rows: OwnChange["rows"]): void {
    if (rows === undefined) this.#trees.delete(bucketPath);
    for (const { namespace, key } of rows ?? []) this.#rows.delete(keyOf(namespace, key));
  }

  #keep(key: string, row: KnownRow): void {
    const known = this.#rows.get(key);
    if (known?.tree === row.tree && known.asked === row.asked && known.version > row.version) return;
    this.#rows.put(key, row);
  }
}

/** All Unicode forms of a name have one key: a change of one of them may be about the others. */
function keyOf(namespace: string, name: string): string {
  return `${namespace}\0${name.normalize("NFC")}`;
}
