import { useEffect, useState } from "preact/hooks";
import { duration, number, sentences } from "../../format.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { Problem } from "../../ui/problem.tsx";
import type { PlanStep } from "./query-plan.ts";
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
    <section class="sql-outcome" aria-label={t.sql.result}>
      <p role="status" class="sql-status">
        {running !== undefined ? t.sql.running : outcome !== undefined && sentence(outcome, dialect)}
      </p>
      {running !== undefined && <Wait since={running.since} />}
      {running === undefined && outcome === undefined && <p class="empty">{t.sql.intro}</p>}
      {outcome?.kind === "error" && (
        <>
          <Problem error={outcome.error} />
          {outcome.mark !== undefined && (
            <div class="row">
              <Button onClick={onGoTo}>{t.sql.goTo(outcome.mark.line, outcome.mark.column)}</Button>
            </div>
          )}
        </>
      )}
      {outcome?.kind === "plan" && (
        // A scrolling element must be focusable to be scrolled by keyboard.
        <section class="sql-plan" aria-label={t.sql.explain} tabIndex={0}>
          <Steps steps={outcome.steps} />
        </section>
      )}
      {outcome?.kind === "result" && outcome.result.rows.length > 0 && (
        <ResultView key={outcome} result={outcome.result} />
      )}
    </section>
  );
}

/** Steps of a query plan, each with those that it takes its rows from. */
function Steps({ steps }: { readonly steps: readonly PlanStep[] }) {
  return (
    <ul>
      {steps.map(({ title, details, estimate, readsAll, children }, at) => (
        <li key={`${at} ${title}`}>
          <p>
            <strong>{title}</strong> {readsAll && <span class="badge warn">{t.sql.readsAll}</span>}
            {estimate !== undefined && (
              <small>{t.sql.estimate(t.sql.countRows(estimate.rows), number(estimate.cost))}</small>
            )}
          </p>
          {details.map((detail) => (
            <p key={detail} class="muted">
              {detail}
            </p>
          ))}
          {children.length > 0 && <Steps steps={children} />}
        </li>
      ))}
    </ul>
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
      {t.sql.waitedFor(duration(Math.max(0, now - since)))}
    </p>
  );
}

function sentence(outcome: Outcome, dialect: Dialect | undefined): string {
  const ms = `${number(Math.round(outcome.ms))} ms`;
  if (outcome.kind === "abandoned") return t.sql.abandoned;
  if (outcome.kind === "error") return t.sql.failedAfter(ms);
  if (outcome.kind === "plan") return t.sql.planTitle;
  const count = countStatements(outcome.sql, dialect);
  return sentences(resultSentence(outcome, dialect, ms), count > 1 && t.sql.lastOf(count));
}

function resultSentence(
  outcome: Extract<Outcome, { kind: "result" }>,
  dialect: Dialect | undefined,
  ms: string,
): string {
  const { rows, rowCount } = outcome.result;
  const trip = t.sql.roundTrip(ms);
  if (rows.length > 0 && rowCount > rows.length && !outcome.result.truncated)
    return t.sql.rowsAffected(t.sql.countRows(rows.length), number(rowCount), trip);
  if (rows.length > 0) return t.sql.rowsTrip(t.sql.countRows(rows.length), trip);
  if (asksForRows(outcome.sql, dialect)) return t.sql.noRows(trip);
  return t.sql.done(t.sql.countRows(rowCount), trip);
}
