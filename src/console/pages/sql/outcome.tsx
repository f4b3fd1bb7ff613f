import { useEffect, useState } from "preact/hooks";
import { plural } from "../../format.ts";
import { Button } from "../../ui/button.tsx";
import { Problem } from "../../ui/problem.tsx";
import { ResultView } from "./result.tsx";
import { asksForRows, countStatements, type Dialect } from "./statements.ts";
import type { Outcome, SqlWorkspace } from "./workspace.ts";

export interface OutcomeViewProps {
  readonly workspace: SqlWorkspace;
  readonly dialect: Dialect | undefined;
  readonly onGoTo: () => void;
}

/** Result of the last statement: rows, an error, or that it is still running. */
export function OutcomeView({ workspace, dialect, onGoTo }: OutcomeViewProps) {
  const running = workspace.running.value;
  const outcome = workspace.outcome.value;
  return (
    <section class="sql-outcome" aria-label="Result">
      <p role="status" class="sql-status">
        {running !== undefined ? "Running…" : outcome !== undefined && sentence(outcome, dialect)}
      </p>
      {running !== undefined && <Wait since={running.since} />}
      {running === undefined && outcome === undefined && (
        <p class="empty">
          Write a statement and run it with Ctrl+Enter. If text is selected, only that is run. Click a name in
          the list of tables to insert it.
        </p>
      )}
      {outcome?.kind === "error" && (
        <>
          <Problem error={outcome.error} />
          {outcome.mark !== undefined && (
            <div class="row">
              <Button onClick={onGoTo}>
                Go to line {outcome.mark.line}, column {outcome.mark.column}
              </Button>
            </div>
          )}
        </>
      )}
      {outcome?.kind === "result" && outcome.result.rows.length > 0 && (
        <ResultView key={outcome} result={outcome.result} />
      )}
    </section>
  );
}

/** Elapsed time. Hidden from screen readers, which would announce it every second. */
function Wait({ since }: { readonly since: number }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return (
    <p class="muted" aria-hidden="true">
      For {plural(Math.max(0, Math.floor((now - since) / 1000)), "second")}
    </p>
  );
}

function sentence(outcome: Outcome, dialect: Dialect | undefined): string {
  const ms = `${Math.round(outcome.ms).toLocaleString("en")} ms`;
  if (outcome.kind === "abandoned")
    return "You stopped waiting for this statement. The server still runs it until it is done or its sql_timeout_ms is over, and its changes are kept.";
  if (outcome.kind === "error") return `Failed after ${ms}.`;
  const count = countStatements(outcome.sql, dialect);
  const which = count > 1 ? ` This is the result of the last of ${count} statements; all of them ran.` : "";
  return resultSentence(outcome, dialect, ms) + which;
}

function resultSentence(
  outcome: Extract<Outcome, { kind: "result" }>,
  dialect: Dialect | undefined,
  ms: string,
): string {
  const { rows, rowCount } = outcome.result;
  const trip = `in ${ms} round trip`;
  if (rows.length > 0 && rowCount > rows.length && !outcome.result.truncated)
    return `${plural(rows.length, "row")} of ${rowCount.toLocaleString("en")} affected, ${trip}.`;
  if (rows.length > 0) return `${plural(rows.length, "row")} ${trip}.`;
  if (asksForRows(outcome.sql, dialect)) return `No rows, ${trip}.`;
  return `Done: ${plural(rowCount, "row")} affected, ${trip}.`;
}
