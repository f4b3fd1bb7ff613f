import type { DeployValue } from "../../db/rows/entry-values.ts";
import { byPublication } from "./deploy-record.ts";

/** An open deploy that nothing was put into for so long is removed. */
const maxUntouchedMs = 24 * 3600 * 1000;

/** untouchedIn are the open deploys that nobody fills any more. */
export function untouchedIn(rows: ReadonlyMap<string, DeployValue>, nowMs: number): string[] {
  return [...rows].flatMap(([id, { state, touched }]) =>
    state === "open" && nowMs - touched > maxUntouchedMs ? [id] : [],
  );
}

/**
 * surplusOf are the deploys beyond the number that is kept, the oldest ones: of those that were published, and of those that wait
 * for it, each.
 */
export function surplusOf(rows: ReadonlyMap<string, DeployValue>, keep: number): string[] {
  const sorted = [...rows].map(([id, value]) => ({ id, ...value })).sort(byPublication);
  const previous = sorted.filter(({ state }) => state === "previous");
  const ready = sorted.filter(({ state }) => state === "ready");
  // The published one counts, and is never removed.
  return [...previous.slice(Math.max(0, keep - 1)), ...ready.slice(keep)].map(({ id }) => id);
}
