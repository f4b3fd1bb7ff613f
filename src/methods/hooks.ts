import { z } from "zod";
import { globally, superToken } from "../auth/need.ts";
import { method } from "./declare.ts";

const hook = z
  .object({
    hook: z.string().describe("names the webhook, on all nodes"),
    url: z.string().describe("without the path, which is often a secret"),
    events: z.array(z.string()).readonly(),
    buckets: z.array(z.string()).readonly().optional(),
    waiting: z.int().describe("events that are still to be sent"),
    delivered: z.int(),
    lost: z.int().describe("events that were given up, or that found 10,000 others waiting"),
    delivered_at: z.int().optional(),
    failures: z.int().describe("attempts that have failed since one succeeded"),
    retry_at: z.int().optional().describe("when the next attempt is made after a failure"),
    problem: z
      .object({ at: z.int(), reason: z.string(), status: z.int().optional() })
      .optional()
      .describe("the last failure"),
  })
  .meta({ id: "Webhook" });

/** `hooks` are the methods about webhooks. */
export const hooks = {
  hooks_list: method({
    doc: "Lists the webhooks of the node's configuration (`[[hooks]]`) and how they are doing, counted over all nodes since the database was made. An event waits until the receiver answers with 200 to 299. It is given up when it is three days old, or when the receiver has answered it with 400 to 499 three times. Times are Unix milliseconds.",
    need: globally("node.read_logs"),
    effect: "reads",
    params: {},
    result: z.array(hook),
    fails: ["DatabaseError"],
    example: { params: { token: "<SUPER_TOKEN>" }, result: [] },
    run: async ({ hooks, database }) =>
      (await hooks.list(database)).map(({ id, url, events, buckets, waiting, state }) => {
        const { delivered, lost, failures, retry_at, delivered_at, problem } = state;
        return {
          hook: id,
          url,
          events,
          ...(buckets !== undefined && { buckets }),
          waiting,
          delivered,
          lost,
          ...(delivered_at !== undefined && { delivered_at }),
          failures,
          ...(failures > 0 && { retry_at }),
          ...(problem !== undefined && { problem }),
        };
      }),
  }),
  hooks_test: method({
    doc: "Sends the event `hook.test` to a webhook, after the events that wait for it, and begins at once, also after failures. `hooks_list` shows the outcome.",
    need: superToken,
    effect: "changes",
    params: { hook: z.string().describe("as `hooks_list` returns it") },
    logged: ["hook"],
    result: z.object({ success: z.literal(true) }),
    fails: ["NotFound", "DatabaseError"],
    example: { params: { token: "<SUPER_TOKEN>", hook: "0aaac99222eb" }, result: { success: true } },
    run: async ({ hooks, database, audit }, { hook }) => {
      await hooks.test(database, hook);
      audit("hook.tested", { hook });
      return { success: true as const };
    },
  }),
};
