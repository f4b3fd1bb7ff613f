import { RpcError } from "../../../client/index.ts";

/** FilterError says why the server rejects a filter, and which part of it is wrong. */
export interface FilterError {
  readonly why: string;
  readonly before: string;
  /** Empty if the server names no position. */
  readonly wrong: string;
  readonly after: string;
}

/** `filterErrorOf` is undefined for an error about something else. */
export function filterErrorOf(error: unknown, filter: string): FilterError | undefined {
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
