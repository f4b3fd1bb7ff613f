import { commonFolder, faultInPath, join, nameOf, parentOf, sameName } from "../path.ts";
import { type List, planUpload } from "../uploads/plan.ts";
import type { Entry } from "./entry.ts";

/** Of whole paths in the bucket. */
export interface Move {
  readonly from: string;
  readonly to: string;
}

/** One thing goes to the path, several go into it; what stays where it is needs no move. */
export function movesTo(path: string, chosen: readonly Entry[], target: string, toPath: boolean): Move[] {
  return chosen
    .map(({ name }) => ({ from: join(path, name), to: toPath ? target : join(target, name) }))
    .filter(({ from, to }) => from !== to);
}

export function faultInMoves(target: string, moves: readonly Move[], toPath: boolean): string | undefined {
  if (target !== "" || toPath) {
    const fault = faultInPath(target);
    if (fault !== undefined) return fault;
  }
  const inside = moves.find(({ from, to }) => to.startsWith(`${from}/`));
  return inside === undefined ? undefined : `${inside.from} cannot be moved into itself.`;
}

export interface MovePlan {
  /** Names at the target that would be lost. */
  readonly replacing: readonly string[];
  /** Folders that do not exist yet, each after the one it is in. */
  readonly missing: readonly string[];
}

/** Lists the folders between `path`, which exists, and the targets; nothing is asked for that may be missing. */
export async function planMoves(path: string, moves: readonly Move[], list: List): Promise<MovePlan> {
  const into = moves.reduce((folder, { to }) => commonFolder(folder, parentOf(to)), path);
  const below = (to: string) => (into === "" ? to : to.slice(into.length + 1));
  const incoming = moves.map((move) => ({ path: below(move.to), file: move }));
  const plan = await planUpload(into, incoming, [], list);
  return {
    // A file that only changes the Unicode form of its own name replaces nothing.
    replacing: plan.replacing
      .filter(({ file: { from, to } }) => !sameName(from, to))
      .map(({ path }) => nameOf(path)),
    missing: [...plan.missing],
  };
}
