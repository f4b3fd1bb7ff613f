import { z } from "zod";
import { globally } from "../auth/need.ts";
import { method } from "./declare.ts";
import { exampleEntry, filterWords, logEntry, logFilter, streamFor, unsubscribe } from "./node-log.ts";

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
