import type { Entry } from "../files/entry.ts";
import { join, nameOf, namesIn, parentOf, sameName } from "../path.ts";
import type { Incoming } from "./drop.ts";

/** What an upload would do to the bucket. */
export interface Plan<F = File> {
  /** Their paths are those in the bucket now. */
  readonly fresh: readonly Incoming<F>[];
  /** Something of that name is there already. */
  readonly replacing: readonly Incoming<F>[];
  /** Folders that are not there yet, each after the one it is in. */
  readonly missing: ReadonlySet<string>;
}

export type List = (folder: string) => Promise<readonly Pick<Entry, "name" | "folder">[]>;

/** Looks into each folder that files go to, once; what is below a folder that is not there is not there either. */
export async function planUpload<F>(
  into: string,
  files: readonly Incoming<F>[],
  emptyFolders: readonly string[],
  list: List,
): Promise<Plan<F>> {
  const missing = new Set<string>();
  const known = new Map<string, readonly Pick<Entry, "name" | "folder">[]>();
  const namesOf = async (folder: string) => {
    const before = known.get(folder);
    if (before !== undefined) return before;
    const now = missing.has(folder) ? [] : await list(folder);
    known.set(folder, now);
    return now;
  };
  const lookAt = async (folder: string) => {
    let path = into;
    for (const name of namesIn(folder)) {
      const parent = path;
      path = join(parent, name);
      if (known.has(path) || missing.has(path)) continue;
      const there = (await namesOf(parent)).find((entry) => sameName(entry.name, name));
      if (there === undefined) missing.add(path);
      // A file stands in the way; the server refuses what goes below it.
      else if (!there.folder) known.set(path, []);
    }
    return namesOf(path);
  };
  const fresh: Incoming<F>[] = [];
  const replacing: Incoming<F>[] = [];
  for (const { path, file } of files) {
    const names = await lookAt(parentOf(path));
    const there = names.some(({ name }) => sameName(name, nameOf(path)));
    (there ? replacing : fresh).push({ path: join(into, path), file });
  }
  for (const folder of emptyFolders) await lookAt(folder);
  return { fresh, replacing, missing };
}
