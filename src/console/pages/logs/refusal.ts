import { RpcError } from "../../../client/index.ts";

/** Why the server does not take a filter, and which part of it is meant. */
export interface Refusal {
  readonly why: string;
  readonly before: string;
  /** Empty when the server names no place. */
  readonly wrong: string;
  readonly after: string;
}

/** Undefined when the error is about something else. */
export function refusalOf(error: unknown, filter: string): Refusal | undefined {
  if (!(error instanceof RpcError) || error.data.field !== "log_filter") return undefined;
  const { column, why } = error.data;
  const from = typeof column === "number" ? column - 1 : filter.length;
  const comma = filter.indexOf(",", from);
  const to = from + filter.slice(from, comma === -1 ? undefined : comma).trimEnd().length;
  return {
    // Not the message, which repeats the filter: it is shown above.
    why: typeof why === "string" ? why : error.detail,
    before: filter.slice(0, from),
    wrong: filter.slice(from, to),
    after: filter.slice(to),
  };
}
