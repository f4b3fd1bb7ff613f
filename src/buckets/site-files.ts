import { BatchLoader } from "../base/concurrency.ts";
import { Fault } from "../base/fault.ts";
import { PerTick } from "../base/turns.ts";
import type { BucketState } from "../db/rows/bucket-rows.ts";
import { maxFileBytes, type SiteFile, type SiteProblem } from "../sites/problem.ts";
import {
  checkSite,
  parseSitePart,
  type SitePart,
  type SiteRules,
  siteFiles,
  toSiteRules,
} from "../sites/site-rules.ts";
import { parseTreePath, treePath } from "./path.ts";
import {
  type FileReader,
  type FileSnapshot,
  type FolderChecks,
  isSettled,
  type OpenFile,
  type PinnedReader,
  type PinOptions,
  TreeExchanged,
  type TreeReader,
} from "./ports.ts";

/** LoadedRules are the rules of a bucket, and the state of the files that they were read from. */
export interface LoadedRules {
  readonly rules: SiteRules;
  readonly snapshot: FileSnapshot;
  /** The tree that they were read from, as `PinnedReader` names it. */
  readonly tree: string | undefined;
}

interface RulesOptions extends PinOptions {
  /** The state of the bucket if the caller has just read it. */
  readonly freshState?: BucketState | undefined;
}

/** Publications that can come between the reads for one answer, before it is given up. */
const maxAttempts = 20;

/** SiteFiles has the rules of one bucket. Each file is read once per version. */
export class SiteFiles {
  readonly #reader: Pick<FileReader, "pinned">;
  /** Loads for requests that may be answered by what is known are apart from those of others. */
  readonly #loads: BatchLoader<"present" | "known", LoadedRules>;
  #loaded: LoadedRules | undefined;
  readonly #isCurrent = new PerTick(() => this.#loaded?.snapshot.isCurrent(new Map()) === true);
  /** What was parsed last, with the entity tag of its file. */
  readonly #parsed = new Map<SiteFile, { readonly etag: string; readonly part: SitePart }>();

  constructor(reader: Pick<FileReader, "pinned">) {
    this.#reader = reader;
    this.#loads = new BatchLoader(async (wanted) => {
      const loaded = new Map<"present" | "known", LoadedRules>();
      for (const key of wanted) loaded.set(key, await this.#load({ usesKnown: key === "known" }));
      return loaded;
    });
  }

  /** rules returns the rules as they are after this call. */
  async rules({ freshState, ...options }: RulesOptions = {}): Promise<LoadedRules> {
    const isCurrent =
      freshState === undefined
        ? this.#isCurrent.get()
        : this.#loaded?.snapshot.isCurrent(new Map(), freshState);
    return isCurrent && this.#loaded !== undefined ? this.#loaded : this.#reload(options);
  }

  async #reload({ usesKnown = false }: PinOptions): Promise<LoadedRules> {
    const loaded = await this.#loads.load(usesKnown ? "known" : "present");
    if (loaded === undefined) throw new Error("a load returned no rules");
    return loaded;
  }

  /** inOneTree does work that reads files by the rules of the same tree. It is done again if the trees are exchanged meanwhile. */
  async inOneTree<T>(
    work: (reader: PinnedReader, loaded: LoadedRules) => Promise<T>,
    options: RulesOptions = {},
  ): Promise<T> {
    return unlessExchanged(async (attempt) => {
      // Rules that are the same in both trees are still known as those of the previous one.
      const loaded = attempt === 1 ? await this.rules(options) : await this.#reload(options);
      return work(this.#reader.pinned(loaded.tree, options), loaded);
    });
  }

  #load(options: PinOptions): Promise<LoadedRules> {
    return unlessExchanged(() => this.#loadFrom(this.#reader.pinned(undefined, options)));
  }

  async #loadFrom(reader: PinnedReader): Promise<LoadedRules> {
    const parts: SitePart[] = [];
    const snapshots: FileSnapshot[] = [];
    for (const name of siteFiles) {
      const { part, snapshot } = await this.#read(reader, name);
      snapshots.push(snapshot);
      if (part !== undefined) parts.push(part);
    }
    const loaded = { rules: toSiteRules(parts), snapshot: new SiteSnapshot(snapshots), tree: reader.tree };
    this.#loaded = isSettled(loaded.snapshot) ? loaded : undefined;
    this.#isCurrent.forget();
    return loaded;
  }

  async #read(
    reader: PinnedReader,
    name: SiteFile,
  ): Promise<{ readonly part?: SitePart; readonly snapshot: FileSnapshot }> {
    const path = treePath(name);
    const found = await reader.openOrFind(path);
    if (found === undefined) return { snapshot: reader.snapshotOfMissing(path) };
    if ("kind" in found) return { snapshot: found.snapshot() };
    await using file = found;
    const snapshot = await file.snapshot();
    const { etag } = file.stats;
    const known = this.#parsed.get(name);
    if (known?.etag === etag) return { part: known.part, snapshot };
    const part = parseSitePart(name, await contentOf(file));
    // A file that was written just now could change again without a new entity tag.
    if (isSettled(snapshot)) this.#parsed.set(name, { etag, part });
    return { part, snapshot };
  }
}

async function unlessExchanged<T>(work: (attempt: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await work(attempt);
    } catch (error) {
      if (!(error instanceof TreeExchanged) || attempt === maxAttempts) throw error;
    }
}

/** siteProblems returns what is wrong with the rules of a bucket, or of a deploy; also that a file of them cannot be read. */
export async function siteProblems(reader: TreeReader): Promise<SiteProblem[]> {
  const unreadable: SiteProblem[] = [];
  const problems = await checkSite({
    async read(name) {
      try {
        const found = await reader.openOrFind(treePath(name));
        if (found === undefined || "kind" in found) return undefined;
        await using file = found;
        return await contentOf(file);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        unreadable.push({
          file: name,
          line: 0,
          level: "error",
          why: `the file cannot be read: ${error.detail}`,
        });
        return undefined;
      }
    },
    async isFile(path) {
      const parsed = parseTreePath(path);
      return parsed !== undefined && (await reader.find(parsed))?.kind === "file";
    },
  });
  return [...unreadable, ...problems];
}

/** The content of a file; of one that is too large to be used, only that it is. */
async function contentOf(file: OpenFile): Promise<Uint8Array> {
  return file.stats.size > maxFileBytes ? new Uint8Array(maxFileBytes + 1) : file.bytes();
}

/** SiteSnapshot is the state of both files. It is compared once for all files of the bucket that are sent in a tick. */
class SiteSnapshot implements FileSnapshot {
  readonly settledAtMs: number;
  readonly #files: readonly FileSnapshot[];

  constructor(files: readonly FileSnapshot[]) {
    this.#files = files;
    this.settledAtMs = Math.max(...files.map((file) => file.settledAtMs));
  }

  isCurrent(checks: FolderChecks, freshState?: BucketState): boolean {
    const known = freshState === undefined ? checks.get(this) : undefined;
    if (known !== undefined) return known;
    const isCurrent = this.#files.every((file) => file.isCurrent(checks, freshState));
    checks.set(this, isCurrent);
    return isCurrent;
  }

  /** Nothing is sent of these files. */
  hold(): undefined {
    return undefined;
  }
}
