import { RpcError } from "../../../client/index.ts";
import type { Mark } from "../../editor/props.ts";
import { explain } from "../../ui/problem.tsx";

const placed = /(.+?) \(line (\d+), column (\d+)\)(?:; |$)/gs;

/** Everything that the server finds wrong with a text, each at its place; undefined when the error is about something else. */
export function problemsOf(error: unknown): readonly Mark[] | undefined {
  if (!(error instanceof RpcError) || error.kind !== "ParseError") return undefined;
  const { line, column } = error.data;
  if (typeof line !== "number" || typeof column !== "number") return undefined;
  const words = error.message.replace(/^ParseError: (configuration: )?/, "");
  const found = [...words.matchAll(placed)].map(([, message = "", row, at]) => ({
    message,
    line: Number(row),
    column: Number(at),
  }));
  return found.length > 0 ? found : [{ line, column, message: explain(error) }];
}
