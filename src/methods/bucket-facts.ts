import { z } from "zod";
import { inBucket } from "../auth/need.ts";
import { siteProblems } from "../buckets/site-files.ts";
import { method } from "./declare.ts";

const name = z.string().describe("the bucket");

/** `siteProblem` is a line of `_headers` or `_redirects` that does not do what its author wants. */
export const siteProblem = z.object({
  file: z.enum(["_headers", "_redirects"]),
  line: z.int(),
  level: z.enum(["error", "warning"]),
  why: z.string(),
});

/** `bucketFacts` are the methods about what a bucket contains as a whole. */
export const bucketFacts = {
  "static-bucket_usage": method({
    doc: "Returns the number of files in a bucket, their size in bytes, and the time of the latest modification (`newest`, Unix milliseconds; null without files). The server counts in the background: some seconds after its own changes, within an hour after changes by other programs. The result is null until the bucket has been counted once.",
    need: ({ name }) => inBucket(name, "static_bucket_file.list"),
    effect: "reads",
    params: { name },
    logged: ["name"],
    result: z
      .object({ files: z.int(), bytes: z.int(), newest: z.int().nullable() })
      .meta({ id: "BucketUsage" })
      .nullable(),
    fails: ["NotFound"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site" },
      result: { files: 1, bytes: 5, newest: 1794700000000 },
    },
    run: async ({ buckets }, { name }) => {
      await buckets.require(name);
      const counted = buckets.usage.usage.get(name);
      if (counted === undefined) return null;
      const { files, bytes, newestMs } = counted;
      return { files, bytes, newest: newestMs === null ? null : Math.floor(newestMs) };
    },
  }),
  "static-bucket_site_problems": method({
    doc: "Checks the `_headers` and `_redirects` files that a bucket has now, as `static-bucket_deploy_publish` does. `line` is 0 for a problem of the whole file. A line with an `error` is not applied as written.",
    need: ({ name }) => inBucket(name, "static_bucket_file.read"),
    effect: "reads",
    params: { name },
    logged: ["name"],
    result: z.array(siteProblem),
    fails: ["NotFound", "IoError"],
    example: { params: { token: "<SUPER_TOKEN>", name: "site" }, result: [] },
    run: async ({ buckets }, { name }) => siteProblems((await buckets.files(name)).reader),
  }),
};
