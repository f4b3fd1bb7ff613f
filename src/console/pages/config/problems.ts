import { RpcError } from "../../../client/index.ts";
import type { Mark } from "../../editor/props.ts";

/** One thing that the server says about a configuration; the position is missing where it concerns no single place. */
export interface Finding {
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
}

/** Reads a list of `{ field, why, line, column }`, of which only `why` is always there. */
export function findingsIn(list: unknown): readonly Finding[] {
  return Array.isArray(list) ? list.flatMap(toFinding) : [];
}

function toFinding(item: unknown): Finding[] {
  const { field, why, line, column } = (item ?? {}) as Record<string, unknown>;
  if (typeof why !== "string") return [];
  const message = typeof field === "string" && field !== "" ? `${field}: ${why}` : why;
  return [typeof line === "number" && typeof column === "number" ? { message, line, column } : { message }];
}

/** The findings that can be marked in the text. */
export function marksOf(findings: readonly Finding[], severity: Mark["severity"]): readonly Mark[] {
  return findings.flatMap(({ message, line, column }) =>
    line === undefined || column === undefined ? [] : [{ message, line, column, severity }],
  );
}

/** Everything that the server finds wrong with a text; undefined when the error is about something else. */
export function problemsOf(error: unknown): readonly Finding[] | undefined {
  if (!(error instanceof RpcError) || error.kind !== "ParseError") return undefined;
  const found = findingsIn(error.data.problems);
  return found.length > 0 ? found : undefined;
}
