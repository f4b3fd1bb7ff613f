import { z } from "zod";
import { inBucket } from "../auth/need.ts";
import { Fault } from "../base/fault.ts";
import { randomText } from "../base/numbers.ts";
import { method } from "./declare.ts";

const lockMs = 60_000;
const name = z.string().describe("the bucket");
const lease = z.string().min(1).max(64);

/** `transfers` let programs that change a site as a whole notice each other. */
export const transfers = {
  "static-bucket_lease": method({
    doc: "Takes a lease for changing the site of a bucket as a whole, as `node-server push` and `node-server deploy` do, or renews `lease`. A lease is valid for 60 seconds. While another caller holds one, the call is refused with `data.reason` `in_use` and `by`, `what` and `since`. The lease is advisory: programs that do not ask for it can still change files.",
    need: ({ name }) => inBucket(name, "static_bucket_file.write"),
    effect: "changes",
    params: {
      name,
      what: z
        .string()
        .regex(/^[a-z-]{1,32}$/, "must have 1 to 32 characters, of a-z and - only")
        .describe("what the caller does, such as `push`; callers that are refused see it"),
      lease: lease.nullish().describe("the lease to renew, as an earlier call returned it"),
    },
    logged: ["name", "what"],
    result: z.object({ lease: z.string(), expires: z.int() }),
    fails: ["NotFound", "Other"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", what: "push" },
      result: { lease: "R2v0a3VwZnJvbWhlcmUh", expires: 1794700060000 },
    },
    run: async ({ buckets, database, caller, audit }, { name, what, lease: known }) => {
      const { id } = await buckets.require(name);
      const wanted = known ?? randomText(20);
      const by = caller.username ?? caller.key;
      const acquired = await database.transferLocks.acquire(id, { lease: wanted, what, by, lockMs });
      const { transfer: present, isNew } = acquired;
      if (isNew) audit("transfer.begun", { bucket: name, what });
      if (present.lease === wanted) return { lease: wanted, expires: present.until };
      const { since } = present;
      throw new Fault("Other", `${present.by} is changing the bucket ${name} (${present.what})`, {
        reason: "in_use",
        by: present.by,
        what: present.what,
        since,
      });
    },
  }),
  "static-bucket_release": method({
    doc: "Ends a lease of `static-bucket_lease`. Returns false if the lease has already ended.",
    need: ({ name }) => inBucket(name, "static_bucket_file.write"),
    effect: "changes",
    params: { name, lease: lease.describe("as `static-bucket_lease` returned it") },
    logged: ["name"],
    result: z.boolean(),
    fails: ["NotFound"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", lease: "R2v0a3VwZnJvbWhlcmUh" },
      result: false,
    },
    run: async ({ buckets, database, audit }, { name, lease }) => {
      const { id } = await buckets.require(name);
      const isReleased = await database.transferLocks.release(id, lease);
      if (isReleased) audit("transfer.ended", { bucket: name });
      return isReleased;
    },
  }),
};
