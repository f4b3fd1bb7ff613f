import { z } from "zod";
import { globally, type Need, owner, superToken } from "../auth/need.ts";
import { Fault } from "../base/fault.ts";
import { levels } from "../log/entry.ts";
import { parseFilter } from "../log/filter.ts";
import { openTail, tailNotice } from "../log/tail.ts";
import { type EndReason, endReasons } from "../rpc/session.ts";
import { method, subscription } from "./declare.ts";

/** `logEntry` is an entry of the log as every method of the log returns it. */
const logEntry = z
  .object({
    timestamp: z.string(),
    level: z.enum(levels),
    target: z.string(),
    message: z.string(),
    fields: z.record(z.string(), z.unknown()),
    spans: z.array(z.object({ name: z.string(), fields: z.string() })).readonly(),
  })
  .meta({ id: "LogEntry" });

const auditEntry = logEntry
  .extend({
    id: z.string().describe("a later entry of the same node has a greater id"),
    node: z.string().describe("the name of the node that made the change"),
  })
  .meta({ id: "AuditEntry" });

/** `filterWords` describes a param that takes a log filter. */
const filterWords =
  "in the syntax of `RUST_LOG`: `info`, `debug,db=trace`, `token`, `off`; if the filter is refused, `data.column` says where and `data.why` why";

/** `logFilter` parses a log filter; a refusal has its column. */
const logFilter = z
  .string()
  .transform((text, context) => {
    try {
      return parseFilter(text);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const { column, why } = error.data;
      context.addIssue({
        code: "custom",
        message: `is not readable: ${error.detail}`,
        params: { column, why },
      });
      return z.NEVER;
    }
  })
  .describe(filterWords);

/** `exampleEntry` is an entry for the documents. */
const exampleEntry = {
  timestamp: "2026-11-15T02:51:41.291+00:00",
  level: "INFO",
  target: "db",
  message: "applied migration m20261115_000001_business_tables",
  fields: { event: "database.migrated", version: "m20261115_000001_business_tables" },
  spans: [],
};

/** `endEntry` returns the last entry of a log stream whose token is not valid any more. */
function endEntry(reason: EndReason) {
  return tailNotice("log.ended", `this log stream ends: ${endReasons[reason]}`, { reason });
}

/** `streamFor` is the live stream of the log for callers that meet `need`. */
const streamFor = (need: Need) =>
  subscription({
    doc: "Sends every new log entry that passes the filter, until the client unsubscribes. If a reader falls 512 entries behind, the server drops further entries and sends their number.",
    need,
    effect: "reads",
    params: { log_filter: logFilter },
    event: logEntry,
    lastEvent: endEntry,
    fails: ["NeedsWebSocket", "TooManySubscriptions"],
    example: {
      params: { token: "<SUPER_TOKEN>", log_filter: "info,db=trace" },
      result: "mT3cQy0vKx8rW2hLp5nZ7bDf",
    },
    run: ({ hub, stop }, { log_filter }) => openTail(hub, log_filter, stop),
  });

/** `unsubscribe` ends a log stream, whichever method began it. */
const unsubscribe = method({
  doc: "Ends a log stream of this connection. Returns false if the connection has no stream with this id.",
  need: owner,
  effect: "changes",
  params: { subscription: z.string() },
  result: z.boolean(),
  example: { params: { subscription: "mT3cQy0vKx8rW2hLp5nZ7bDf" }, result: false },
  run: ({ cancel }, { subscription }) => cancel(subscription),
});

/**
 * `nodeLog` are the methods of the `node-server` namespace about the log: the entries kept in memory, and the live stream. The
 * contract gives them to the Super Token alone; `log` below has the same for tokens with a permission.
 */
export const nodeLog = {
  "node-server_log": method({
    doc: "Returns the log entries in memory, oldest first. With a filter it returns only entries that pass it.",
    need: superToken,
    effect: "reads",
    params: { log_filter: logFilter.nullish().describe(filterWords) },
    result: z.array(logEntry),
    example: {
      params: { token: "<SUPER_TOKEN>" },
      result: [exampleEntry],
    },
    run: ({ ring }, { log_filter }) => {
      const entries = ring.entries();
      return log_filter == null ? entries : entries.filter((entry) => log_filter.passes(entry));
    },
  }),
  "node-server_stream_log": streamFor(superToken),
  "node-server_unsubscribe_stream_log": unsubscribe,
};

/** `log` are the methods of the namespace `log`: the log for tokens that may read it and nothing else. */
export const log = {
  log_list: method({
    doc: "Returns the log entries in memory, oldest first. With a filter it returns only entries that pass it, with a limit only the newest of them.",
    need: globally("node.read_logs"),
    effect: "reads",
    params: {
      log_filter: logFilter.nullish().describe(filterWords),
      limit: z.int().min(1).nullish().describe("the maximum number of entries to return"),
    },
    result: z.array(logEntry),
    example: {
      params: { token: "<SUPER_TOKEN>", log_filter: "info", limit: 100 },
      result: [exampleEntry],
    },
    run: ({ ring }, { log_filter, limit }) => {
      const entries = ring.entries();
      const passing = log_filter == null ? entries : entries.filter((entry) => log_filter.passes(entry));
      return limit == null ? passing : passing.slice(-limit);
    },
  }),
  log_stream: streamFor(globally("node.read_logs")),
  log_unsubscribe_stream: unsubscribe,
};

/** `auditMethods` are the methods about changes that callers made. */
export const auditMethods = {
  audit_list: method({
    doc: "Returns entries of the audit trail of all nodes, oldest first: who changed what, and from where. The database keeps them for `keep_audit_days`. Of one client's changes of many files in a row it keeps the first and one that counts the others. A kill loses entries of the last two seconds; the outputs of the log have them. What another node did within the last two seconds may be missing.",
    need: globally("node.read_logs"),
    effect: "reads",
    params: {
      limit: z
        .int()
        .min(1)
        .max(1000)
        .nullish()
        .describe("how many entries to return, counted from the newest; default: 1,000"),
      before: z
        .string()
        .max(100)
        .nullish()
        .describe(
          "return only entries before the one with this `id`; to read on, that of the first entry returned",
        ),
      since: z.int().nullish().describe("return only entries after this time, in Unix milliseconds"),
      events: z
        .array(z.string().max(100))
        .max(100)
        .nullish()
        .describe(
          "return only these events: codes such as `file.written`, or what they begin with, such as `file`",
        ),
      by: z
        .array(z.string().max(1000))
        .max(100)
        .nullish()
        .describe("return only what these tokens did, by keys or user names"),
      bucket: z.string().max(1000).nullish().describe("return only changes of this bucket and its deploys"),
      text: z
        .string()
        .max(1000)
        .nullish()
        .describe("return only entries that contain all words of this text"),
    },
    result: z.array(auditEntry),
    example: {
      params: { token: "<SUPER_TOKEN>", limit: 1 },
      result: [
        {
          timestamp: "2026-11-15T02:51:41.291+00:00",
          level: "INFO",
          target: "audit",
          message: "bucket created",
          fields: {
            event: "bucket.created",
            token_key: "eIWPZ6CqJxc2xuH4",
            address: "127.0.0.1",
            bucket: "site",
            settings: { is_http_root: false, cors: true },
          },
          spans: [],
          id: "1794794501291000a1b2c3d4",
          node: "node-1",
        },
      ],
    },
    run: ({ memory }, { limit, before, since, events, by, bucket, text }) =>
      memory.audit({
        max: limit ?? 1000,
        before: before ?? undefined,
        since: since ?? undefined,
        events: events ?? undefined,
        by: by ?? undefined,
        bucket: bucket ?? undefined,
        text: text ?? undefined,
      }),
  }),
};
