import { faultInPath, join } from "../path.ts";
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
