import { z } from "zod";
import { holds } from "../auth/limit.ts";
import { globally } from "../auth/need.ts";
import type { Permission } from "../auth/permission.ts";
import { Fault } from "../base/fault.ts";
import type { Family, HistogramCounts, Sample } from "../metrics/family.ts";
import {
  backupFact,
  judge,
  levels,
  loggedFacts,
  measuredFacts,
  nodeFacts,
  recentMs,
} from "../metrics/verdict.ts";
import type { Services } from "../services.ts";
import { method } from "./declare.ts";

const labels = z.record(z.string(), z.string());

const family = z
  .object({
    name: z.string(),
    type: z.enum(["counter", "gauge", "histogram"]),
    help: z.string(),
    samples: z
      .array(z.object({ labels, value: z.number() }))
      .optional()
      .describe("for a counter or gauge"),
    histograms: z
      .array(
        z.object({
          labels,
          count: z.number(),
          sum: z.number(),
          buckets: z.array(z.object({ le: z.number(), count: z.number() })),
        }),
      )
      .optional()
      .describe("for a histogram; `count` of a bucket counts all values up to `le`"),
  })
  .meta({ id: "MetricFamily" });

const historyPart = z
  .object({
    step_seconds: z.int(),
    start: z
      .int()
      .nullable()
      .describe("the time of the first value in Unix milliseconds; null without values"),
    series: z
      .record(z.string(), z.array(z.number().nullable()).readonly())
      .describe("a value for each step; null where nothing was measured"),
  })
  .meta({ id: "MetricHistory" });

const level = z.enum(levels);
const reason = <C extends [string, ...string[]], F extends z.ZodRawShape>(codes: C, facts: F) =>
  z.object({ code: z.enum(codes), level, ...facts });

const statusReason = z
  .union([
    reason(
      ["database", "schema", "store", "readOnly", "draining", "descriptors", "connections", "nodes"],
      {},
    ),
    reason(["disk"], { disk: z.string(), free_bytes: z.number() }),
    reason(["failing"], { share: z.number() }),
    reason(["slow"], { seconds: z.number() }),
    reason(["nodeLost", "nodeNotReady", "uncertified"], { names: z.array(z.string()).readonly() }),
    reason(["certificate"], { expires: z.string() }),
    reason(["backup"], { last: z.string().nullable().describe("when the newest backup was made") }),
    reason(["errors"], { count: z.int(), newest: z.string() }),
    reason(["signIns"], { count: z.int() }),
  ])
  .meta({ id: "StatusReason" });

/** `nodeMetrics` are the methods of the `node-server` namespace about what the server measures of itself. */
export const nodeMetrics = {
  "node-server_status": method({
    doc: "Says whether the server is well, and why not. Reasons about other nodes need `Node::ReadNodes`, too, and those about errors in the log and failed sign-ins `Node::ReadLogs`. `failing`, `slow`, `disk` and others look at the last five minutes, `errors` at the last hour, `signIns` at the last ten minutes.",
    need: globally("node.metrics"),
    effect: "reads",
    params: {},
    result: z.object({
      verdict: z.enum(["well", ...levels]),
      reasons: z.array(statusReason).readonly().describe("why the server is not well, the gravest first"),
      started: z.int().describe("when the server started, in Unix milliseconds"),
      crashed: z
        .boolean()
        .describe("whether its last run did not end by a stop; with PostgreSQL that is known after a minute"),
      orders_certificates: z
        .boolean()
        .describe("whether the server orders its certificates (`auto` in `[tls]`)"),
    }),
    example: {
      params: { token: "<SUPER_TOKEN>" },
      result: {
        verdict: "well",
        reasons: [],
        started: 1794794201291,
        crashed: false,
        orders_certificates: true,
      },
    },
    run: async (services) => {
      const { caller, metrics, readiness, roster, certificates, ring, auditRing, clock } = services;
      const may = (permission: Permission) =>
        caller.isSuper || holds(caller.limits, permission, { in: "global" });
      const [missing, nodes, uncertified] = await Promise.all([
        readiness.missing(),
        // Without a database there is no list of nodes, and that is a reason of its own.
        may("node.read_nodes") ? roster.view().then(nodeFacts, () => undefined) : undefined,
        failedNames(certificates).catch(() => undefined),
      ]);
      const now = clock.now();
      const [hour] = metrics.history({ since: now - recentMs });
      const judged = judge({
        missing,
        measured: measuredFacts(metrics.families, hour),
        nodes,
        certificate: services.certificateState(),
        backup: backupFact(services.backupState(), now),
        uncertified,
        ...(may("node.read_logs") && loggedFacts(ring.entries(), auditRing.entries(), now)),
      });
      return {
        ...judged,
        started: now - services.uptimeMs(),
        crashed: roster.crashed,
        orders_certificates: certificates.set !== undefined,
      };
    },
  }),
  "node-server_metrics": method({
    doc: "Returns the metrics of `GET /node/metrics` as JSON, and their history: the last hour in steps of 10 seconds and the last day in steps of a minute, over restarts. A kill loses the last minute. Rates are per second.",
    need: globally("node.metrics"),
    effect: "reads",
    fails: ["InvalidInput"],
    params: {
      since: z.number().nullish().describe("return only history after this time, in Unix milliseconds"),
      series: z
        .array(z.string())
        .max(100)
        .nullish()
        .describe(
          "the series of the history to return, such as `requests_static`; default: all; an empty list returns none",
        ),
    },
    result: z.object({
      time: z.int().describe("the server's time in Unix milliseconds"),
      metrics: z.array(family),
      history: z.array(historyPart),
    }),
    example: {
      params: { token: "<SUPER_TOKEN>", series: ["requests_static"] },
      result: {
        time: 1794794501291,
        metrics: [
          {
            name: "node_server_websockets_open",
            type: "gauge",
            help: "Open WebSockets.",
            samples: [{ labels: {}, value: 3 }],
          },
        ],
        history: [{ step_seconds: 10, start: 1794794491291, series: { requests_static: [0, 12.5] } }],
      },
    },
    run: ({ metrics, clock }, { since, series }) => {
      const unknown = series?.find((name) => !metrics.seriesNames.includes(name));
      if (unknown !== undefined)
        throw new Fault(
          "InvalidInput",
          `there is no such series; there are ${metrics.seriesNames.join(", ")}`,
          {
            field: "series",
          },
        );
      return {
        time: clock.now(),
        metrics: metrics.families.map(toJson),
        history: metrics.history({ since: since ?? undefined, series: series ?? undefined }),
      };
    },
  }),
};

function toJson(metric: Family): z.input<typeof family> {
  const { name, type, help } = metric;
  return metric.type === "histogram"
    ? { name, type, help, histograms: Array.from(metric.samples(), toHistogram) }
    : { name, type, help, samples: [...metric.samples()] };
}

function toHistogram({ labels, value }: Sample<HistogramCounts>) {
  const { bounds, counts, sum } = value;
  let upTo = 0;
  const buckets = bounds.map((le, at) => {
    upTo += counts[at] ?? 0;
    return { le, count: upTo };
  });
  return { labels, count: upTo + (counts[bounds.length] ?? 0), sum, buckets };
}

/** The names for which the last order of a certificate failed. */
async function failedNames(certificates: Services["certificates"]): Promise<readonly string[]> {
  const all = await certificates.list();
  return all.flatMap(({ name, problem }) => (problem === null ? [] : [name]));
}
