import { z } from "zod";
import { globally, superToken } from "../auth/need.ts";
import { parseTag } from "../update/release.ts";
import { method } from "./declare.ts";

/** Methods of the `node-server` namespace that replace the running version. */
export const nodeUpdate = {
  "node-server_self_update": method({
    doc: "Replaces the server's binary by the release `tag`, newer or older, and restarts into it 3 seconds after the answer; the process id stays the same. If that version runs already, nothing happens. The progress is logged.",
    need: superToken,
    effect: "changes",
    warning: "It replaces the server's binary and restarts the server.",
    params: { tag: z.string().describe("the version, as `vX.Y.Z`") },
    logged: ["tag"],
    result: z.null(),
    fails: ["InvalidInput", "IoError", "Other"],
    example: { params: { token: "<SUPER_TOKEN>", tag: "v1.2.3" }, result: null },
    run: async ({ updater, scheduleRestart, afterReply, audit }, { tag }) => {
      if (!(await updater.update(parseTag(tag)))) return null;
      audit("update.requested", { tag });
      afterReply(scheduleRestart);
      return null;
    },
  }),
  "node-server_latest_release": method({
    doc: "Tells whether the release server (`release_url`) has a newer version. It is asked once an hour at the most, for 5 seconds; if it does not answer, `problem` says why, and `latest` is what it said last, or null. `checked_at` is in Unix milliseconds.",
    need: globally("node.metrics"),
    effect: "reads",
    params: {},
    result: z.object({
      current: z.string(),
      latest: z.string().nullable(),
      newer: z.boolean(),
      checked_at: z.int().nullable(),
      problem: z.string().nullable(),
    }),
    example: {
      params: { token: "<SUPER_TOKEN>" },
      result: {
        current: "0.2.0",
        latest: null,
        newer: false,
        checked_at: null,
        problem: "release_url is not set in the configuration",
      },
    },
    run: async ({ latestRelease }) => {
      const { checkedAt: checked_at, ...state } = await latestRelease.state();
      return { ...state, checked_at };
    },
  }),
};
