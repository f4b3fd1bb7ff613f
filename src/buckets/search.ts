import { FairSemaphore } from "../base/concurrency.ts";
import { Pacer } from "../base/turns.ts";
import { pathBelow, type TreePath } from "./path.ts";
import type { FileEntry, FileReader } from "./ports.ts";
import { walk } from "./tree-ops.ts";

/** Searches that run at once; others wait, which counts for their time. */
const maxSearches = 4;

/** SearchOptions are what is searched for, and how much is returned. */
interface SearchOptions {
  readonly query: string;
  readonly folder: TreePath;
  /** The largest number of results. */
  readonly limit: number;
  /** The number of results to leave out before the first. */
  readonly offset: number;
  readonly maxMs: number;
  /** Ends the search. */
  readonly signal: AbortSignal;
  /** Searches with the same key wait for each other before they wait for others. */
  readonly key: string;
}

interface Found {
  readonly entries: readonly FileEntry[];
  /** Whether there are, or may be, further results. */
  readonly more: boolean;
  /** False if the search ended before it had enough results, or a folder could not be read. */
  readonly complete: boolean;
  /** The number of files and folders that were compared. */
  readonly searched: number;
}

/** FileSearch finds files and folders by words of their paths. It walks the tree as listings do, in turns with other requests. */
export class FileSearch {
  readonly #running = new FairSemaphore(maxSearches);

  async find(reader: FileReader, options: SearchOptions): Promise<Found> {
    const { signal, key, maxMs } = options;
    const until = performance.now() + maxMs;
    const nothing = { entries: [], more: true, complete: false, searched: 0 };
    if (!(await this.#running.acquire({ key, signal, timeoutMs: maxMs }))) return nothing;
    try {
      return await search(reader, options, until);
    } finally {
      this.#running.release();
    }
  }
}

async function search(reader: FileReader, options: SearchOptions, until: number): Promise<Found> {
  const { query, folder, limit, offset, signal } = options;
  const matches = matcher(query);
  const entries: FileEntry[] = [];
  const pacer = new Pacer();
  let [toSkip, searched, complete] = [offset, 0, true];
  const onUnreadable = (path: TreePath, error: unknown) => {
    if (path === folder) throw error;
    complete = false;
  };
  for await (const entry of walk(reader, folder, onUnreadable)) {
    if (pacer.isDue) {
      await pacer.nextTurn();
      if (signal.aborted || performance.now() > until)
        return { entries, more: true, complete: false, searched };
    }
    searched += 1;
    if (!matches(pathBelow(entry.path, folder))) continue;
    if (toSkip > 0) toSkip -= 1;
    else if (entries.length === limit) return { entries, more: true, complete, searched };
    else entries.push(entry);
  }
  return { entries, more: !complete, complete, searched };
}

/**
 * `matcher` returns whether a path has all words of a query, in any order and case, and in any Unicode form. A word with `*` or
 * `?` is a pattern: for the name, or with a slash for the whole path.
 */
export function matcher(query: string): (path: string) => boolean {
  const tests = folded(query)
    .split(/\s+/)
    .filter((word) => word !== "")
    .map((word) => {
      if (!/[*?]/.test(word)) return (path: string) => path.includes(word);
      const pattern = [...word];
      return word.includes("/")
        ? (path: string) => matchesGlob([...path], pattern)
        : (path: string) => matchesGlob([...path.slice(path.lastIndexOf("/") + 1)], pattern);
    });
  return (path) => {
    const text = folded(path);
    return tests.every((test) => test(text));
  };
}

const asciiOnly = /^[\x20-\x7e]*$/;

function folded(text: string): string {
  return asciiOnly.test(text) ? text.toLowerCase() : text.normalize("NFKC").toLowerCase().normalize("NFC");
}

/** Goes back to the last `*` only, so that no pattern takes longer than the product of the two lengths. */
function matchesGlob(text: readonly string[], pattern: readonly string[]): boolean {
  let [at, inPattern, star, resume] = [0, 0, -1, 0];
  while (at < text.length) {
    const wanted = pattern[inPattern];
    if (wanted === "*") {
      star = inPattern;
      resume = at;
      inPattern += 1;
    } else if (wanted !== undefined && (wanted === "?" || wanted === text[at])) {
      at += 1;
      inPattern += 1;
    } else if (star >= 0) {
      resume += 1;
      at = resume;
      inPattern = star + 1;
    } else return false;
  }
  while (pattern[inPattern] === "*") inPattern += 1;
  return inPattern === pattern.length;
}
