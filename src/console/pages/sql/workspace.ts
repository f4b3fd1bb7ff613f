import { type Signal, signal } from "@preact/signals";
import { InvalidInput, type NodeServerClient, RpcError } from "../../../client/index.ts";
import type { Mark, Position } from "../../editor/props.ts";
import { sessionState } from "../../session/session-state.ts";
import { t } from "../../text/text.ts";
import { explain } from "../../ui/problem.tsx";
import type { Row } from "./model.ts";
import { countStatements, type Dialect, explainPrefix, type PlanStep, readPlan } from "./model.ts";

export interface Result {
  readonly rows: readonly Row[];
  readonly columns: readonly string[];
  readonly rowCount: number;
  readonly truncated: boolean;
}

export type Outcome = { readonly sql: string; readonly ms: number } & (
  | { readonly kind: "result"; readonly result: Result }
  | { readonly kind: "plan"; readonly steps: readonly PlanStep[] }
  | { readonly kind: "error"; readonly error: unknown; readonly mark: Mark | undefined }
  /** The person stopped it. */
  | { readonly kind: "abandoned" }
);

export interface HistoryEntry {
  readonly at: Date;
  readonly sql: string;
  /** Result in a few words. */
  readonly end: string;
}

interface Running {
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
    const end = await this.#during(sql, (signal) => this.#ask(sql, start, signal));
    if (end === undefined) return;
    const history = { at: new Date(), sql, end: summaryOf(end) };
    this.history.value = [history, ...this.history.value.filter((one) => one.sql !== sql)].slice(
      0,
      maxHistoryEntries,
    );
  }

  /** Shows how the database would run a statement, without running it; does nothing while another one runs. */
  async explain(sql: string, start: Position, dialect: Dialect): Promise<void> {
    await this.#during(sql, (signal) => this.#askPlan({ sql, start, dialect, signal }));
  }

  /** Replaces the editor's content. */
  replace(text: string): void {
    this.text.value = text;
    this.revision.value += 1;
  }

  /** Stops the statement: the server ends one whose request is aborted. */
  stop(): void {
    this.running.value?.abort.abort();
  }

  /** Shows the state "running" while it asks, then the outcome. Returns undefined while another statement runs. */
  async #during<R extends RunResult>(
    sql: string,
    ask: (signal: AbortSignal) => Promise<R>,
  ): Promise<R | undefined> {
    if (this.running.value !== undefined) return undefined;
    const running = { since: Date.now(), abort: new AbortController() };
    this.running.value = running;
    this.outcome.value = undefined;
    const began = performance.now();
    const end = await ask(running.abort.signal);
    this.outcome.value = { sql, ms: performance.now() - began, ...end };
    this.running.value = undefined;
    return end;
  }

  async #askPlan({ sql, start, dialect, signal }: PlanRequest): Promise<RunResult> {
    const several: RunResult = { kind: "error", error: new Error(t.sql.explainOne), mark: undefined };
    if (countStatements(sql, dialect) > 1) return several;
    try {
      // With params the server refuses a second statement, which would be run.
      const asked = { sql: explainPrefix[dialect] + sql, params: [] };
      const { data } = await this.#client.call("node-server_exec_sql", asked, { signal, timeoutMs: 0 });
      return { kind: "plan", steps: readPlan(data, dialect) };
    } catch (error) {
      if (signal.aborted) return { kind: "abandoned" };
      if (error instanceof InvalidInput && error.data.field === "params") return several;
      return { kind: "error", error, mark: markOf(error, start, 1) };
    }
  }

  async #ask(sql: string, start: Position, signal: AbortSignal): Promise<StatementResult> {
    try {
      // No timeout here: the server's sql_timeout_ms applies.
      const answer = await this.#client.call("node-server_exec_sql", { sql }, { signal, timeoutMs: 0 });
      const { columns, data: rows, row_count: rowCount, truncated } = answer;
      return { kind: "result", result: { rows, columns, rowCount, truncated } };
    } catch (error) {
      if (signal.aborted) return { kind: "abandoned" };
      return { kind: "error", error, mark: markOf(error, start) };
    }
  }
}

interface PlanRequest {
  readonly sql: string;
  readonly start: Position;
  readonly dialect: Dialect;
  readonly signal: AbortSignal;
}

type RunResult = Outcome extends infer O ? (O extends Outcome ? Omit<O, "sql" | "ms"> : never) : never;

/** Result of a statement that was run, not explained. */
type StatementResult = Exclude<RunResult, { readonly kind: "plan" }>;

/** Position of the server's error in the editor's text. `prefixLines` are lines of the statement that are not in the editor. */
function markOf(error: unknown, start: Position, prefixLines = 0): Mark | undefined {
  if (!(error instanceof RpcError)) return undefined;
  const { line, column } = error.data;
  if (typeof line !== "number" || typeof column !== "number" || line <= prefixLines) return undefined;
  const own = line - prefixLines;
  return {
    line: start.line + own - 1,
    column: own === 1 ? start.column + column - 1 : column,
    message: explain(error),
  };
}

function summaryOf(end: StatementResult): string {
  if (end.kind === "abandoned") return t.sql.stopped;
  if (end.kind === "error") return explain(end.error);
  return t.sql.countRows(end.result.rowCount);
}

export const { of: workspaceOf } = sessionState(({ client }) => new SqlWorkspace(client), {
  isLostByReload: ({ text }) => text.peek().trim() !== "",
});
