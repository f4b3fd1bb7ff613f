import { type Family, histogram, labelled } from "./family.ts";
import { durationBounds, Histogram } from "./histogram.ts";

/** CallMetrics counts JSON-RPC calls by method and outcome. */
export class CallMetrics {
  readonly durations = new Histogram(durationBounds);
  /** By method, then by outcome: `ok` or the kind of the error. Methods and kinds are few and known. */
  readonly #counts = new Map<string, Map<string, number>>();

  ended(method: string, outcome: string, startedAt: number): void {
    let outcomes = this.#counts.get(method);
    if (outcomes === undefined) {
      outcomes = new Map();
      this.#counts.set(method, outcomes);
    }
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    this.durations.observe((performance.now() - startedAt) / 1000);
  }

  get failed(): number {
    let failed = 0;
    for (const outcomes of this.#counts.values())
      for (const [outcome, count] of outcomes) if (outcome !== "ok") failed += count;
    return failed;
  }

  get families(): readonly Family[] {
    return [
      {
        name: "node_server_rpc_calls_total",
        help: "JSON-RPC calls of known methods over every transport, by method and outcome: ok, or the kind of the error.",
        type: "counter",
        samples: () =>
          [...this.#counts].flatMap(([method, outcomes]) =>
            labelled("outcome", outcomes).map(({ labels, value }) => ({
              labels: { method, ...labels },
              value,
            })),
          ),
      },
      histogram("node_server_rpc_call_duration_seconds", "Time that JSON-RPC calls took.", this.durations),
    ];
  }
}
