import { z } from "zod";
import { globally, superToken } from "../auth/need.ts";
import { parseTag } from "../update/release.ts";
import { method } from "./declare.ts";

/** Methods of the `node-server` namespace that replace the running version. */
export const nodeUpdate = {
  "node-server_self_update": method({
    doc: "Replaces the server's binary with the release `tag`, newer or older, and restarts into it 3 seconds after the answer. The process id stays the same. Nothing happens if that version already runs. The log shows the progress.",
    need: superToken,
    effect: "changes",
    warning: "This replaces the server's binary and restarts the server.",
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
    doc: "Returns whether the release server (`release_url`) has a newer version. It is asked at most once an hour, for up to 5 seconds. If it does not answer, `problem` says why, and `latest` is its last answer, or null. `checked_at` is in Unix milliseconds.",
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
