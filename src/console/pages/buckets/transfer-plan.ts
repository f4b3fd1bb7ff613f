import { t } from "../../text/text.ts";
import type { Entry } from "./files/entries.ts";
import { commonFolder, join, nameOf, parentOf, pathProblem, sameName, splitPath } from "./path.ts";
import type { Incoming } from "./uploads/drop.ts";

/** Effect of an upload on the bucket. */
export interface Plan<F = File> {
  /** New files, with their paths in the bucket. */
  readonly fresh: readonly Incoming<F>[];
  /** Files whose names exist already. */
  readonly replacing: readonly Incoming<F>[];
  /** Folders to create, parents first. */
  readonly missing: ReadonlySet<string>;
}

type List = (folder: string) => Promise<readonly Pick<Entry, "name" | "folder">[]>;

/** Plans an upload. Lists each target folder once, and none below a missing one. */
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
  const listTarget = async (folder: string) => {
    let path = into;
    for (const name of splitPath(folder)) {
      const parent = path;
      path = join(parent, name);
      if (known.has(path) || missing.has(path)) continue;
      const there = (await namesOf(parent)).find((entry) => sameName(entry.name, name));
      if (there === undefined) missing.add(path);
      // A file has that name; the server will refuse uploads below it.
      else if (!there.folder) known.set(path, []);
    }
    return namesOf(path);
  };
  const fresh: Incoming<F>[] = [];
  const replacing: Incoming<F>[] = [];
  for (const { path, file } of files) {
    const names = await listTarget(parentOf(path));
    const there = names.some(({ name }) => sameName(name, nameOf(path)));
    (there ? replacing : fresh).push({ path: join(into, path), file });
  }
  for (const folder of emptyFolders) await listTarget(folder);
  return { fresh, replacing, missing };
}

/** Move between two paths of the bucket. */
interface Move {
  readonly from: string;
  readonly to: string;
}

/** Problem with a typed path for something that is at `from` now, or undefined. */
export function renameProblem(from: string, target: string): string | undefined {
  const fault = pathProblem(target);
  if (fault !== undefined) return fault;
  return target.startsWith(`${from}/`) ? t.files.intoItself(from) : undefined;
}

interface MovePlan {
  /** Name at the target that would be replaced. */
  readonly replacing: string | undefined;
  /** Folders to create, parents first. */
  readonly missing: readonly string[];
}

/** Plans a move from the folder `path`, which exists. Never lists a folder that may be missing. */
export async function planMove(path: string, { from, to }: Move, list: List): Promise<MovePlan> {
  const into = commonFolder(path, parentOf(to));
  const below = into === "" ? to : to.slice(into.length + 1);
  const plan = await planUpload(into, [{ path: below, file: undefined }], [], list);
  // Changing only the Unicode form of a file's own name replaces nothing.
  const replaces = plan.replacing.length > 0 && !sameName(from, to);
  return { replacing: replaces ? nameOf(to) : undefined, missing: [...plan.missing] };
}
