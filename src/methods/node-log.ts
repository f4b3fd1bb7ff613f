import { z } from "zod";
import { owner, superToken } from "../auth/need.ts";
import { Fault } from "../base/fault.ts";
import { levels } from "../log/entry.ts";
import { parseFilter } from "../log/filter.ts";
import { openTail, tailNotice } from "../log/tail.ts";
import { endReasons } from "../rpc/session.ts";
import { method, subscription } from "./declare.ts";

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

const filterWords =
  "as `RUST_LOG`: `info`, `debug,db=trace`, `token`, `off`; `data.column` of a refusal is the place in it, `data.why` what is wrong there";

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

/** `nodeLog` are the methods of the `node-server` namespace about the log: the entries kept in memory, and the live stream. */
export const nodeLog = {
  "node-server_log": method({
    doc: "Returns the log entries kept in memory, the oldest first; with a filter only those that pass it.",
    need: superToken,
    effect: "reads",
    params: { log_filter: logFilter.nullish().describe(filterWords) },
    result: z.array(logEntry),
    example: {
      params: { token: "<SUPER_TOKEN>" },
      result: [
        {
          timestamp: "2026-11-15T02:51:41.291+00:00",
          level: "INFO",
          target: "db",
          message: "applied migration m20261115_000001_business_tables",
          fields: { event: "database.migrated", version: "m20261115_000001_business_tables" },
          spans: [],
        },
      ],
    },
    run: ({ ring }, { log_filter }) => {
      const entries = ring.entries();
      return log_filter == null ? entries : entries.filter((entry) => log_filter.passes(entry));
    },
  }),
  "node-server_stream_log": subscription({
    doc: "Sends every new log entry that passes the filter, until unsubscribed. If a reader falls 512 entries behind, further ones are dropped and their number is sent.",
    need: superToken,
    effect: "reads",
    params: { log_filter: logFilter },
    event: logEntry,
    lastEvent: (reason) => tailNotice("log.ended", `this log stream ends: ${endReasons[reason]}`, { reason }),
    fails: ["NeedsWebSocket", "TooManySubscriptions"],
    example: {
      params: { token: "<SUPER_TOKEN>", log_filter: "info,db=trace" },
      result: "mT3cQy0vKx8rW2hLp5nZ7bDf",
    },
    run: ({ hub, stop }, { log_filter }) => openTail(hub, log_filter, stop),
  }),
  "node-server_unsubscribe_stream_log": method({
    doc: "Ends a log stream of this connection; false if it has none with this id.",
    need: owner,
    effect: "changes",
    params: { subscription: z.string() },
    result: z.boolean(),
    example: { params: { subscription: "mT3cQy0vKx8rW2hLp5nZ7bDf" }, result: false },
    run: ({ cancel }, { subscription }) => cancel(subscription),
  }),
};
