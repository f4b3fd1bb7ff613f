import { Fault } from "../base/fault.ts";
import { type Family, labelled } from "./family.ts";
import { durationBounds, Histogram } from "./histogram.ts";

/** SourceMetrics counts the statements of one source, with their time and their errors. */
class SourceMetrics {
  readonly durations = new Histogram(durationBounds);
  readonly errors = { unavailable: 0, other: 0 };

  /** `startedAt` is `performance.now()`. */
  ended(startedAt: number, error: unknown): void {
    this.durations.observe((performance.now() - startedAt) / 1000);
    if (error === undefined) return;
    const isAway = error instanceof Fault && error.data.reason === "unavailable";
    this.errors[isAway ? "unavailable" : "other"] += 1;
  }
}

/** StatementMetrics counts SQL statements: the server's own, and those of operators (`exec_sql`). They outlive a reload. */
export class StatementMetrics {
  readonly server = new SourceMetrics();
  readonly operator = new SourceMetrics();

  get families(): readonly Family[] {
    const sources = [["server", this.server] as const, ["operator", this.operator] as const];
    return [
      {
        name: "node_server_database_statement_duration_seconds",
        help: "Time that SQL statements took, waiting for a connection included: the server's own, and those of operators (exec_sql).",
        type: "histogram",
        samples: () =>
          labelled(
            "source",
            sources.map(([name, { durations }]) => [name, durations] as const),
          ),
      },
      {
        name: "node_server_database_errors_total",
        help: "SQL statements that failed: because the database was unavailable, or for another reason.",
        type: "counter",
        samples: () =>
          sources.flatMap(([source, { errors }]) =>
            Object.entries(errors).map(([reason, value]) => ({ labels: { source, reason }, value })),
          ),
      },
    ];
  }
}
