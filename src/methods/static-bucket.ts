import { z } from "zod";
import { globally, inBucket, type Need, owner, someInBucket, superToken } from "../auth/need.ts";
import { Fault } from "../base/fault.ts";
import { randomText } from "../base/numbers.ts";
import { changeKinds, resetReasons } from "../buckets/events.ts";
import type { Bucket } from "../buckets/record.ts";
import { siteProblems } from "../buckets/site-files.ts";
import type { Services } from "../services.ts";
import { method, subscription } from "./declare.ts";

const bucket = z
  .object({
    id: z.int(),
    name: z.string(),
    path: z.string(),
    is_http_root: z.boolean(),
    cors: z.boolean(),
    enable: z.boolean(),
    public: z
      .literal(false)
      .optional()
      .describe("false if reading over plain HTTP needs a token or a signed link"),
    hosts: z.array(z.string()).optional().describe("host names that show this bucket at their root"),
    clean_urls: z.literal(true).optional().describe("true if `/about` is answered with `about.html`"),
  })
  .meta({ id: "Bucket" });

/** `shownBucket` leaves out what has its default, so that a client that knows the first six fields sees nothing new. */
function shownBucket({ public: isPublic, hosts, clean_urls, ...rest }: Bucket): z.infer<typeof bucket> {
  return {
    ...rest,
    ...(isPublic ? {} : { public: false }),
    ...(hosts.length === 0 ? {} : { hosts: [...hosts] }),
    ...(clean_urls ? { clean_urls } : {}),
  };
}

const bucketName = z.string().describe("1 to 128 of `A-Z a-z 0-9 _ . -`");
const path = z.string().describe("the bucket's folder below `static_path`");
const access = z
  .boolean()
  .nullish()
  .describe(
    "false makes it private: reading over plain HTTP then needs a token with `StaticBucketFile::Read`, or a signed link",
  );
const hosts = z
  .array(z.string())
  .nullish()
  .describe(
    "host names that show this bucket at their root, such as `docs.example.org`; setting them needs `StaticBucket::Write` in scope global",
  );
const cleanUrls = z.boolean().nullish().describe("true: answer `/about` with `about.html`");

interface AddressChange {
  readonly name: string;
  readonly hosts?: unknown;
  readonly move_http_root?: boolean | null | undefined;
}

/** Addresses belong to the server: whoever may change one bucket must not take those of others. */
function needToChange({ name, hosts, move_http_root }: AddressChange): Need {
  const takesAddress = hosts != null || move_http_root === true;
  return takesAddress ? globally("static_bucket.write") : inBucket(name, "static_bucket.write");
}

/** A bucket with the server's own name would take the console and JSON-RPC away from it; S3 would take its own from a bucket. */
function refuseServerName(
  hosts: readonly string[] | null | undefined,
  isServerName: Services["isServerName"],
): void {
  const taken = hosts?.find((host) => isServerName(host.toLowerCase()));
  if (taken === undefined) return;
  throw new Fault(
    "InvalidInput",
    `hosts: ${taken} is the server's own name, where its console and JSON-RPC are, or a name for S3; give the bucket another name`,
    { field: "hosts" },
  );
}

interface Deletion {
  readonly name: string;
  readonly files?: unknown;
}

function needToDelete({ name, files }: Deletion): Need {
  return files
    ? inBucket(name, "static_bucket.delete", "static_bucket_file.delete")
    : inBucket(name, "static_bucket.delete");
}

const shown = { id: 1, name: "site", path: "site", is_http_root: false, cors: true, enable: true };

export const staticBucket = {
  "static-bucket_create": method({
    doc: "Creates a bucket and its folder. `path` defaults to the name. Only the Super Token may use a folder that already contains files.",
    need: needToChange,
    effect: "changes",
    params: {
      name: bucketName,
      path: path.nullish(),
      is_http_root: z.boolean().nullish(),
      cors: z.boolean().nullish(),
      public: access,
      hosts,
      clean_urls: cleanUrls,
    },
    logged: ["name", "path"],
    result: bucket,
    fails: ["InvalidInput", "IoError"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "docs", cors: true },
      result: { ...shown, name: "docs", path: "docs" },
    },
    run: async ({ buckets, caller, audit, isServerName }, { name, ...settings }) => {
      refuseServerName(settings.hosts, isServerName);
      const created = await buckets.create(name, settings, { mayTakeOver: caller.isSuper });
      audit("bucket.created", { bucket: name, settings: given(settings) });
      return shownBucket(created);
    },
  }),
  "static-bucket_read": method({
    doc: "Returns a bucket's record, or null if the bucket does not exist.",
    need: ({ name }) => inBucket(name, "static_bucket.read"),
    effect: "reads",
    params: { name: bucketName },
    logged: ["name"],
    result: bucket.nullable(),
    example: { params: { token: "<SUPER_TOKEN>", name: "site" }, result: shown },
    run: async ({ buckets }, { name }) => {
      const found = await buckets.get(name);
      return found === undefined ? null : shownBucket(found);
    },
  }),
  "static-bucket_update": method({
    doc: "Changes settings of a bucket; omitted settings stay as they are. With `enable: false` the bucket is not served over HTTP and WebDAV.",
    need: needToChange,
    effect: "changes",
    warning: "The new settings take effect at once.",
    params: {
      name: bucketName,
      path: path.nullish(),
      is_http_root: z.boolean().nullish(),
      cors: z.boolean().nullish(),
      enable: z.boolean().nullish(),
      public: access,
      hosts,
      clean_urls: cleanUrls,
      move_http_root: z
        .boolean()
        .nullish()
        .describe(
          "with `is_http_root`: take the HTTP root over from the bucket that has it, in one step; needs `StaticBucket::Write` in scope global",
        ),
    },
    logged: ["name", "path", "move_http_root"],
    result: bucket,
    fails: ["NotFound", "InvalidInput", "IoError"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", is_http_root: true },
      result: { ...shown, is_http_root: true },
    },
    run: async ({ buckets, caller, audit, isServerName }, { name, move_http_root, ...settings }) => {
      refuseServerName(settings.hosts, isServerName);
      const updated = await buckets.update(name, settings, {
        mayTakeOver: caller.isSuper,
        movesHttpRoot: move_http_root === true,
      });
      const moved = move_http_root === true ? { move_http_root } : {};
      audit("bucket.updated", { bucket: name, settings: { ...given(settings), ...moved } });
      return shownBucket(updated);
    },
  }),
  "static-bucket_delete": method({
    doc: "Deletes a bucket's record; its files stay where they are. With `files` it first deletes the files, all deploys and all kept versions, and answers when that is done. If this fails, the bucket stays, disabled: send the call again. An object store frees the space in its next daily maintenance.",
    need: needToDelete,
    effect: "destroys",
    warning:
      "The bucket's record is deleted, and the bucket is no longer served. Its files stay where they are, unless `files` deletes them for good.",
    params: {
      name: bucketName,
      files: z
        .boolean()
        .nullish()
        .describe(
          "true: also delete its files, deploys and kept versions; needs `StaticBucketFile::Delete` as well",
        ),
    },
    logged: ["name", "files"],
    result: z.object({
      success: z.literal(true),
      files_deleted: z.literal(true).optional().describe("with `files`"),
    }),
    fails: ["NotFound", "IoError", "Other"],
    example: { params: { token: "<SUPER_TOKEN>", name: "site" }, result: { success: true } },
    run: async ({ buckets, audit }, { name, files }) => {
      if (files !== true) {
        await buckets.delete(name);
        audit("bucket.deleted", { bucket: name });
        return { success: true as const };
      }
      await buckets.deleteWithFiles(name);
      audit("bucket.deleted", { bucket: name, files: true });
      return { success: true as const, files_deleted: true as const };
    },
  }),
  "static-bucket_list": method({
    doc: "Lists the names of all buckets, sorted.",
    need: superToken,
    effect: "reads",
    params: {},
    result: z.array(z.string()),
    example: { params: { token: "<SUPER_TOKEN>" }, result: ["site"] },
    run: ({ buckets }) => buckets.names(),
  }),
};

/** `given` returns the settings that a call names; the others stay as they are. */
function given(settings: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(settings).filter(([name, value]) => name !== "token" && value != null),
  );
}

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
  "static-bucket_site": method({
    doc: "Returns what whoever works with the files of a bucket may know of its site: whether it is on, who reads it (`public` is false if reading over plain HTTP needs a token or a signed link), and where it is. Null if the bucket does not exist.",
    need: ({ name }) =>
      someInBucket(
        name,
        "static_bucket.read",
        "static_bucket_file.read",
        "static_bucket_file.write",
        "static_bucket_file.delete",
        "static_bucket_file.list",
      ),
    effect: "reads",
    params: { name },
    logged: ["name"],
    result: z
      .object({
        enable: z.boolean(),
        public: z.boolean(),
        is_http_root: z.boolean(),
        hosts: z.array(z.string()).describe("host names that show this bucket at their root"),
      })
      .meta({ id: "BucketSite" })
      .nullable(),
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site" },
      result: { enable: true, public: true, is_http_root: false, hosts: [] },
    },
    run: async ({ buckets }, { name }) => {
      const found = await buckets.get(name);
      if (found === undefined) return null;
      const { enable, public: isPublic, is_http_root, hosts } = found;
      return { enable, public: isPublic, is_http_root, hosts: [...hosts] };
    },
  }),
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

const lockMs = 60_000;
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

/** `bucketEvent` is an event of a bucket as followers get it. */
const bucketEvent = z
  .object({
    event: z.enum([...changeKinds, "reset"]),
    cursor: z.string(),
    path: z.string().optional(),
    from: z.string().optional().describe("for `moved`: the path before"),
    folder: z.literal(true).optional().describe("set for a folder with all that is in it"),
    deploy: z.string().optional().describe("for `published`"),
    by: z.string().optional().describe("the user name or the key of the token that did it"),
    at: z.int().optional().describe("Unix milliseconds"),
    reason: z.enum(resetReasons).optional().describe("for `reset`"),
  })
  .meta({ id: "BucketEvent" });

/** `follow` lets a client follow the files of a bucket. */
export const follow = {
  "static-bucket_watch": subscription({
    doc: "Sends what changes in the files of a bucket, whoever changes them and on whatever node, until the client unsubscribes. A change is sent once it is durable: `created`, `changed`, `moved`, `deleted`, and `published` when a deploy takes the place of all files. Folders that a change creates above its path are not sent. `reset` means that changes may be missing, so list the files again: it comes first, unless `cursor` is given and everything after it is still known. `reason` is `begun`, `not_kept` (too much has happened since `cursor`, or the server was restarted), `slow` (the client read too slowly, 512 events were waiting) or `lost` (another node could not tell its changes). An event can be sent twice.",
    need: ({ name }) => inBucket(name, "static_bucket_file.list"),
    effect: "reads",
    params: {
      name: z.string().describe("the bucket"),
      prefix: z
        .string()
        .max(4096)
        .nullish()
        .describe("how the paths begin that are wanted, such as `img/`; default: all"),
      cursor: z
        .string()
        .max(100)
        .nullish()
        .describe("`cursor` of the last event that was received, to go on after it"),
    },
    logged: ["name", "prefix"],
    event: bucketEvent,
    fails: ["NotFound", "NeedsWebSocket", "TooManySubscriptions"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", prefix: "img/" },
      result: "mT3cQy0vKx8rW2hLp5nZ7bDf",
    },
    run: async ({ buckets, stop }, { name, prefix, cursor }) => {
      await buckets.require(name);
      return buckets.events.follow(name, { prefix: prefix ?? "", cursor: cursor ?? undefined }, stop);
    },
  }),
  "static-bucket_unwatch": method({
    doc: "Ends a subscription of `static-bucket_watch` of this connection. Returns false if the connection has none with this id.",
    need: owner,
    effect: "changes",
    params: { subscription: z.string() },
    result: z.boolean(),
    example: { params: { subscription: "mT3cQy0vKx8rW2hLp5nZ7bDf" }, result: false },
    run: ({ cancel }, { subscription }) => cancel(subscription),
  }),
};
