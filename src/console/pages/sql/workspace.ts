import { type Signal, signal } from "@preact/signals";
import { type NodeServerClient, RpcError } from "../../../client/index.ts";
import type { Mark, Position } from "../../editor/props.ts";
import { plural } from "../../format.ts";
import { perSession, signedIn } from "../../session.ts";
import { explain } from "../../ui/problem.tsx";
import { registerReloadLoss } from "../../unsaved-work.ts";
import type { Row } from "./cells.ts";

export interface Result {
  readonly rows: readonly Row[];
  readonly columns: readonly string[];
  readonly rowCount: number;
  readonly truncated: boolean;
}

export type Outcome = { readonly sql: string; readonly ms: number } & (
  | { readonly kind: "result"; readonly result: Result }
  | { readonly kind: "error"; readonly error: unknown; readonly mark: Mark | undefined }
  /** The person stopped waiting; the server may still be running it. */
  | { readonly kind: "abandoned" }
);

export interface HistoryEntry {
  readonly at: Date;
  readonly sql: string;
  /** Result in a few words. */
  readonly end: string;
}

export interface Running {
  readonly since: number;
  readonly abort: AbortController;
}

export const maxHistoryEntries = 50;

/** State of the SQL page. It outlives the page but not the session, and is never written to storage. */
export class SqlWorkspace {
  readonly #client: NodeServerClient;
  /** Last text reported by the editor. */
  readonly text = signal("");
  /** Incremented when `text` must replace the editor's content. */
  readonly revision = signal(0);
  readonly confirmsChanges = signal(true);
  readonly running: Signal<Running | undefined> = signal(undefined);
  readonly outcome: Signal<Outcome | undefined> = signal(undefined);
  readonly history: Signal<readonly HistoryEntry[]> = signal([]);

  constructor(client: NodeServerClient) {
    this.#client = client;
  }

  /** Runs a statement; does nothing while another one runs. `start` is where it begins in the editor. */
  async run(sql: string, start: Position): Promise<void> {
    if (this.running.value !== undefined) return;
    const running = { since: Date.now(), abort: new AbortController() };
    this.running.value = running;
    this.outcome.value = undefined;
    const began = performance.now();
    const end = await this.#ask(sql, start, running.abort.signal);
    this.outcome.value = { sql, ms: performance.now() - began, ...end };
    this.running.value = undefined;
    const history = { at: new Date(), sql, end: summaryOf(end) };
    this.history.value = [history, ...this.history.value.filter((one) => one.sql !== sql)].slice(
      0,
      maxHistoryEntries,
    );
  }

  /** Replaces the editor's content. */
  replace(text: string): void {
    this.text.value = text;
    this.revision.value += 1;
  }

  /** Stops waiting for the result. The server continues to run the statement. */
  stopWaiting(): void {
    this.running.value?.abort.abort();
  }

  async #ask(sql: string, start: Position, signal: AbortSignal): Promise<RunResult> {
    try {
      // No timeout here: the server's sql_timeout_ms applies.
      const answer = await this.#client.call("node-server_exec_sql", { sql }, { signal, timeoutMs: 0 });
      const { data: rows, row_count: rowCount, truncated } = answer;
      return { kind: "result", result: { rows, columns: Object.keys(rows[0] ?? {}), rowCount, truncated } };
    } catch (error) {
      if (signal.aborted) return { kind: "abandoned" };
      return { kind: "error", error, mark: markOf(error, start) };
    }
  }
}

type RunResult = Outcome extends infer O ? (O extends Outcome ? Omit<O, "sql" | "ms"> : never) : never;

/** Position of the server's error in the editor's text. */
function markOf(error: unknown, start: Position): Mark | undefined {
  if (!(error instanceof RpcError)) return undefined;
  const { line, column } = error.data;
  if (typeof line !== "number" || typeof column !== "number") return undefined;
  return {
    line: start.line + line - 1,
    column: line === 1 ? start.column + column - 1 : column,
    message: explain(error),
  };
}

function summaryOf(end: RunResult): string {
  if (end.kind === "abandoned") return "stopped waiting";
  if (end.kind === "error") return explain(end.error);
  return plural(end.result.rowCount, "row");
}

export const workspaceOf = perSession(({ client }) => new SqlWorkspace(client));

registerReloadLoss(() => {
  const now = signedIn.peek();
  return now.state === "signed-in" && workspaceOf(now.session).text.peek().trim() !== "";
});
