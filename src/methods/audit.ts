import { z } from "zod";
import { globally } from "../auth/need.ts";
import { method } from "./declare.ts";
import { logEntry } from "./node-log.ts";

/** `auditMethods` are the methods about changes that callers made. */
export const auditMethods = {
  audit_list: method({
    doc: "Returns the newest audit entries in memory, oldest first: who changed what, and from where. A restart empties the memory; the file that `json_log_file` names has all entries.",
    need: globally("node.read_logs"),
    effect: "reads",
    params: {
      limit: z
        .int()
        .min(1)
        .max(1000)
        .nullish()
        .describe(
          "how many entries to return, counted from the newest; default: all in memory, at most 1,000",
        ),
    },
    result: z.array(logEntry),
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
        },
      ],
    },
    run: ({ auditRing }, { limit }) => auditRing.entries().slice(-(limit ?? Number.POSITIVE_INFINITY)),
  }),
};
