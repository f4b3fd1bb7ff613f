import { z } from "zod";
import { globally, owner } from "../auth/need.ts";
import { openTail } from "../log/tail.ts";
import { method, subscription } from "./declare.ts";
import { endEntry, exampleEntry, filterWords, logEntry, logFilter } from "./node-log.ts";

/** `log` are the methods of the namespace `log`: the log for tokens that may read it and nothing else. */
export const log = {
  log_list: method({
    doc: "Returns the log entries kept in memory, the oldest first; with a filter only those that pass it, with a limit only the newest of them.",
    need: globally("node.read_logs"),
    effect: "reads",
    params: {
      log_filter: logFilter.nullish().describe(filterWords),
      limit: z.int().min(1).nullish().describe("how many entries to return at most"),
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
  log_stream: subscription({
    doc: "Sends every new log entry that passes the filter, until unsubscribed. If a reader falls 512 entries behind, further ones are dropped and their number is sent.",
    need: globally("node.read_logs"),
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
  }),
  log_unsubscribe_stream: method({
    doc: "Ends a log stream of this connection; false if it has none with this id.",
    need: owner,
    effect: "changes",
    params: { subscription: z.string() },
    result: z.boolean(),
    example: { params: { subscription: "mT3cQy0vKx8rW2hLp5nZ7bDf" }, result: false },
    run: ({ cancel }, { subscription }) => cancel(subscription),
  }),
};
