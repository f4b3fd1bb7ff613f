import { type Signal, signal } from "@preact/signals";
import { type NodeServerClient, RpcError } from "../../../client/index.ts";
import type { Mark, Position } from "../../editor/props.ts";
import { plural } from "../../format.ts";
import { perSession, signedIn } from "../../session.ts";
import { explain } from "../../ui/problem.tsx";
import { registerReloadLoss } from "../../unsaved-work.ts";
import type { Row } from "./cell.ts";

export interface Result {
  readonly rows: readonly Row[];
  readonly columns: readonly string[];
  readonly rowCount: number;
  readonly truncated: boolean;
}

export type Outcome = { readonly sql: string; readonly ms: number } & (
  | { readonly kind: "result"; readonly result: Result }
  | { readonly kind: "error"; readonly error: unknown; readonly mark: Mark | undefined }
  /** Nobody waits for it any more. */
  | { readonly kind: "left" }
);

export interface Past {
  readonly at: Date;
  readonly sql: string;
  /** In words. */
  readonly end: string;
}

export interface Running {
  readonly since: number;
  readonly leave: AbortController;
}

const pastLength = 50;

/** What lies on the desk of who is signed in: it outlives the page, not the session, and nothing of it is stored. */
export class Desk {
  /** As the editor reported it last. */
  readonly text = signal("");
  /** Counts the texts that came from elsewhere and replace what is in the editor. */
  readonly revision = signal(0);
  readonly asks = signal(true);
  readonly running: Signal<Running | undefined> = signal(undefined);
  readonly outcome: Signal<Outcome | undefined> = signal(undefined);
  readonly past: Signal<readonly Past[]> = signal([]);

  constructor(private readonly client: NodeServerClient) {}

  /** `start` is where the statement begins in the editor. One at a time. */
  async run(sql: string, start: Position): Promise<void> {
    if (this.running.value !== undefined) return;
    const running = { since: Date.now(), leave: new AbortController() };
    this.running.value = running;
    this.outcome.value = undefined;
    const began = performance.now();
    const end = await this.#ask(sql, start, running.leave.signal);
    this.outcome.value = { sql, ms: performance.now() - began, ...end };
    this.running.value = undefined;
    const past = { at: new Date(), sql, end: inWords(end) };
    this.past.value = [past, ...this.past.value.filter((one) => one.sql !== sql)].slice(0, pastLength);
  }

  /** Puts a text into the editor in place of the one there. */
  replace(text: string): void {
    this.text.value = text;
    this.revision.value += 1;
  }

  /** The server is not told, and goes on. */
  leave(): void {
    this.running.value?.leave.abort();
  }

  async #ask(sql: string, start: Position, signal: AbortSignal): Promise<End> {
    try {
      // Without a limit here: how long it may take the server decides.
      const answer = await this.client.call("node-server_exec_sql", { sql }, { signal, timeoutMs: 0 });
      const { data: rows, row_count: rowCount, truncated } = answer;
      return { kind: "result", result: { rows, columns: Object.keys(rows[0] ?? {}), rowCount, truncated } };
    } catch (error) {
      if (signal.aborted) return { kind: "left" };
      return { kind: "error", error, mark: placeOf(error, start) };
    }
  }
}

type End = Outcome extends infer O ? (O extends Outcome ? Omit<O, "sql" | "ms"> : never) : never;

/** Where the server says the fault is, in the editor's text. */
function placeOf(error: unknown, start: Position): Mark | undefined {
  if (!(error instanceof RpcError)) return undefined;
  const { line, column } = error.data;
  if (typeof line !== "number" || typeof column !== "number") return undefined;
  return {
    line: start.line + line - 1,
    column: line === 1 ? start.column + column - 1 : column,
    message: explain(error),
  };
}

function inWords(end: End): string {
  if (end.kind === "left") return "not waited for";
  if (end.kind === "error") return explain(end.error);
  return plural(end.result.rowCount, "row");
}

export const deskOf = perSession(({ client }) => new Desk(client));

registerReloadLoss(() => {
  const now = signedIn.peek();
  return now.state === "signed-in" && deskOf(now.session).text.peek().trim() !== "";
});
