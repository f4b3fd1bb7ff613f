import { z } from "zod";
import { authorise, inBucket } from "../auth/need.ts";
import { Fault } from "../base/fault.ts";
import { type Deploy, namedDeploy, previewNameForm } from "../buckets/history/deploy-record.ts";
import type { SwitchResult } from "../buckets/history/deploys.ts";
import { treePath } from "../buckets/path.ts";
import type { Bucket } from "../buckets/record.ts";
import { siteProblems } from "../buckets/site-files.ts";
import { maxLinkSeconds } from "../links/links.ts";
import type { CallContext } from "../rpc/method.ts";
import type { Services } from "../services.ts";
import { method } from "./declare.ts";
import { siteProblem } from "./static-bucket.ts";
import { openForChange } from "./static-bucket-file.ts";

/** Files of one call of `static-bucket_deploy_add`. */
const maxFiles = 5000;
const maxNoteChars = 500;
/** Changes that `static-bucket_deploy_check` names. */
const maxChanges = 1000;
const daySeconds = 86_400;

const name = z.string().describe("the bucket");
const deploy = z.string().describe("as `static-bucket_deploy_begin` returns it");
const record = z
  .object({
    deploy: z.string(),
    state: z.enum(["open", "ready", "published", "previous"]),
    made_at: z.int(),
    by: z.string(),
    note: z.string(),
    preview: z.string().nullable(),
    files: z.int().nullable(),
    bytes: z.int().nullable(),
    published_at: z.int().nullable(),
    changed: z.boolean(),
  })
  .meta({ id: "Deploy" });
/** Where visitors find a bucket: at the root of a host name, at the HTTP root, or only below `/node/static/`. */
const rootShape = { host: z.string().nullable(), at_root: z.boolean() };
const published = z
  .object({
    deploy: z.string(),
    replaced: z.string().nullable(),
    problems: z.array(siteProblem),
    ...rootShape,
  })
  .meta({ id: "PublishedDeploy" });

const shown = {
  deploy: "mhz3k2a9x1",
  state: "published" as const,
  made_at: 1794700000000,
  by: "root",
  note: "spring release",
  preview: null,
  files: 1,
  bytes: 5,
  published_at: 1794700000000,
  changed: false,
};

/** `mayDeploy` is what whoever fills, publishes or deletes a deploy needs: it writes files, and takes others away. */
const mayDeploy = ({ name }: { readonly name: string }) =>
  inBucket(name, "static_bucket_file.write", "static_bucket_file.delete");

function toRecord({
  id,
  at,
  by,
  username,
  state,
  note,
  preview,
  files,
  bytes,
  published_at,
  changed,
}: Deploy) {
  return {
    deploy: id,
    state,
    made_at: at,
    by: username ?? by,
    note,
    preview: preview ?? null,
    files,
    bytes,
    published_at,
    changed,
  };
}

/** `deploys` are the methods about whole trees of files that take each other's place at once. */
export const deploys = {
  "static-bucket_deploy_begin": method({
    doc: "Begins a deploy: an empty tree beside the bucket's files, which visitors do not see until it is published. Fill it with `static-bucket_deploy_add` and over WebDAV (`PUT /node/static-webdav/<bucket>@<deploy>/<path>`). A deploy that gets no file for 24 hours is removed. A bucket can have at most 100 deploys that wait for their publication.",
    need: mayDeploy,
    effect: "changes",
    params: {
      name,
      note: z
        .string()
        .max(maxNoteChars)
        .nullish()
        .describe("a note for people; `static-bucket_deploy_list` shows it"),
      preview: z
        .string()
        .regex(previewNameForm, "must have 1 to 63 characters, of a-z, 0-9 and - within it")
        .nullish()
        .describe(
          "a name, such as that of a branch: all deploys of the name have one preview address, which shows the newest. Once that one is complete, it takes the place of an unpublished deploy of the name, which is deleted",
        ),
      force: z
        .boolean()
        .nullish()
        .describe(
          "true: begin even while another deploy of the bucket is being filled, which is otherwise refused (`data.reason` `deploy_open`)",
        ),
    },
    logged: ["name", "preview"],
    result: record,
    fails: ["InvalidInput", "NotFound", "IoError", "Other"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", note: "spring release" },
      result: { ...shown, state: "open", files: null, bytes: null, published_at: null },
    },
    run: async ({ buckets, caller, audit }, { name, note, preview, force }) => {
      const bucket = await buckets.require(name);
      const maker = {
        by: caller.key,
        username: caller.username,
        note: note ?? "",
        ...(preview != null && { preview }),
      };
      const made = await buckets.deploys.begin(bucket, maker, { force: force ?? false });
      audit("deploy.begun", { bucket: name, deploy: made.id });
      return toRecord(made);
    },
  }),
  "static-bucket_deploy_add": method({
    doc: "Declares files of a deploy. If the bucket already has the content of a file, at any path, the deploy reuses it; `missing` lists the files to upload. Call it again after the uploads, with the files that were missing, to check that all of them arrived intact. On a disk the second call also gives them the entity tags of their content.",
    need: mayDeploy,
    effect: "changes",
    params: {
      name,
      deploy,
      files: z
        .array(
          z.object({
            path: z.string(),
            size: z.int().nonnegative(),
            sha256: z.string().regex(/^[0-9a-f]{64}$/, "must be 64 hexadecimal digits in lower case"),
          }),
        )
        .max(maxFiles)
        .describe(`${maxFiles.toLocaleString("en-US")} files at most; \`size\` in bytes`),
    },
    logged: ["name", "deploy"],
    result: z.object({ taken: z.int(), missing: z.array(z.string()) }),
    fails: ["InvalidInput", "NotFound", "IoError", "Other"],
    example: {
      params: {
        token: "<SUPER_TOKEN>",
        name: "site",
        deploy: "<DEPLOY>",
        files: [
          {
            path: "hello.txt",
            size: 5,
            sha256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
          },
        ],
      },
      result: { taken: 1, missing: [] },
    },
    run: async (call, { name, deploy, files }) => {
      const { buckets, assertStillAuthorised } = call;
      const bucket = await buckets.require(name);
      const wanted = files.map((file) => ({ ...file, path: treePath(file.path) }));
      const missing = await buckets.deploys.add(bucket, deploy, {
        files: wanted,
        check: assertStillAuthorised,
        signal: neverAborted,
      });
      const taken = files.length - missing.length;
      call.audit("deploy.filled", { bucket: name, deploy, taken });
      return { taken, missing: missing.map(({ path }) => path) };
    },
  }),
  "static-bucket_deploy_check": method({
    doc: `Says what the publication of a deploy would change: how many files are added, changed and removed, the first ${maxChanges.toLocaleString("en-US")} of them by path (\`bytes\` is the size in the deploy, of a removed file the present one), and the \`problems\` of its \`_headers\` and \`_redirects\`. Content without a known hash is read, up to 256 MiB in all; a file beyond that counts as changed if its size is the same. An open deploy accepts no more files after this call.`,
    need: ({ name }) => inBucket(name, "static_bucket_file.read", "static_bucket_file.list"),
    effect: "changes",
    params: { name, deploy },
    logged: ["name", "deploy"],
    result: z
      .object({
        added: z.int(),
        changed: z.int(),
        removed: z.int(),
        unchanged: z.int(),
        files: z.array(
          z.object({ path: z.string(), change: z.enum(["added", "changed", "removed"]), bytes: z.int() }),
        ),
        problems: z.array(siteProblem),
      })
      .meta({ id: "DeployCheck" }),
    fails: ["InvalidInput", "NotFound", "IoError"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", deploy: "<DEPLOY>" },
      result: {
        added: 1,
        changed: 0,
        removed: 0,
        unchanged: 12,
        files: [{ path: "hello.txt", change: "added", bytes: 5 }],
        problems: [],
      },
    },
    run: async ({ buckets, caller, audit }, { name, deploy }) => {
      const bucket = await buckets.require(name);
      const { state } = await buckets.deploys.get(bucket, deploy);
      await sealOpen({ buckets, caller, audit }, bucket, deploy);
      if (state === "open") audit("deploy.closed", { bucket: name, deploy });
      const { changes, files } = await buckets.deploys.check(bucket, deploy, maxChanges);
      return {
        ...changes.counts,
        files: changes.first.map(({ path, change, size }) => ({ path, change, bytes: size })),
        problems: await siteProblems(files.reader),
      };
    },
  }),
  "static-bucket_deploy_preview": method({
    doc: "Makes a preview address: anyone with the address can see the deploy before it is published. The address ends at `expires` (Unix milliseconds), when the deploy is published, rolled back to or deleted, and with the token of this call. With `at_root` a browser that opens the address shows the deploy at the root of the host, like the published site. It does so for an hour, or until it opens `/node/preview/`. The root is that of `host`, or the HTTP root if `host` is null. An open deploy accepts no more files after this call. For a deploy with a preview name, and without `expires_in`, the address is the same for all deploys of the name: it shows the newest, and ends when none waits for its publication, or with the token.",
    need: ({ name }) => inBucket(name, "static_bucket_file.read"),
    secretResult: true,
    effect: "changes",
    warning: "Anyone with the address can see the deploy until the address ends.",
    params: {
      name,
      deploy,
      expires_in: z
        .int()
        .min(1)
        .max(maxLinkSeconds)
        .nullish()
        .describe("in seconds, at most 366 days; default: 604,800 (7 days)"),
    },
    logged: ["name", "deploy", "expires_in"],
    result: z.object({
      address: z.string(),
      ...rootShape,
      expires: z.int(),
    }),
    fails: ["InvalidInput", "NotFound"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", deploy: "<DEPLOY>" },
      result: {
        address: "/node/preview/AQIAAAAAAWoaK4AAAAAAqid3NVbz49MS6vJ2W2IPUQ/site@mhz3k2a9x1/",
        host: null,
        at_root: true,
        expires: 1794700000000,
      },
    },
    run: async ({ buckets, links, caller, audit }, { name, deploy, expires_in }) => {
      const bucket = await buckets.require(name);
      const { state, exchanges = 0, preview } = await sealOpen({ buckets, caller, audit }, bucket, deploy);
      if (state === "published")
        throw new Fault("InvalidInput", "the deploy is published, so there is nothing to preview", {
          field: "deploy",
        });
      const isStable = preview !== undefined && state === "ready" && expires_in == null;
      const path = isStable ? namedDeploy(preview) : deploy;
      const target = { kind: "preview", bucket, path, exchanges: isStable ? 0 : exchanges } as const;
      const { code, expires } = await links.make(caller, target, {
        expiresInSeconds: isStable ? Number.POSITIVE_INFINITY : (expires_in ?? 7 * daySeconds),
      });
      audit("deploy.shown", { bucket: name, deploy, expires });
      const address = `/node/preview/${code}/${encodeURIComponent(name)}@${path}/`;
      return { address, ...rootOf(bucket), expires };
    },
  }),
  "static-bucket_deploy_publish": method({
    doc: "Publishes a deploy in one step: every request gets either the old files or the new ones. The old files stay as a deploy, with all changes made to them. Refused while a WebDAV client holds locks in the bucket. Succeeds if the deploy is already published. Visitors find the bucket at the root of `host`. Without `host` they find it at the HTTP root if `at_root` is true, else below `/node/static/`.",
    need: mayDeploy,
    effect: "destroys",
    warning: "Visitors see the files of this deploy at once.",
    params: { name, deploy },
    logged: ["name", "deploy"],
    result: published,
    fails: ["InvalidInput", "NotFound", "IoError", "Other", "Busy"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", deploy: "<DEPLOY>" },
      result: { deploy: shown.deploy, replaced: "mhz1d7q0f3", problems: [], host: null, at_root: true },
    },
    run: async (call, { name, deploy }) => {
      const bucket = await call.buckets.require(name);
      const { conditions } = await openForChange(call, name);
      const done = await call.buckets.deploys.publish(bucket, deploy, conditions);
      call.audit("deploy.published", toAudited(name, done));
      return toPublished(call, bucket, done);
    },
  }),
  "static-bucket_deploy_rollback": method({
    doc: "Publishes an earlier deploy again: `deploy`, or by default the one that was published before the current one. The result is the same as of `static-bucket_deploy_publish`.",
    need: mayDeploy,
    effect: "destroys",
    warning: "Visitors see the files of the earlier deploy at once.",
    params: { name, deploy: deploy.nullish() },
    logged: ["name", "deploy"],
    result: published,
    fails: ["InvalidInput", "NotFound", "IoError", "Other", "Busy"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site" },
      result: { deploy: shown.deploy, replaced: "mhz4p0c2b7", problems: [], host: null, at_root: true },
    },
    run: async (call, { name, deploy }) => {
      const bucket = await call.buckets.require(name);
      const { conditions } = await openForChange(call, name);
      const done = await call.buckets.deploys.rollback(bucket, deploy ?? undefined, conditions);
      call.audit("deploy.rolled_back", toAudited(name, done));
      return toPublished(call, bucket, done);
    },
  }),
  "static-bucket_deploy_list": method({
    doc: "Lists the deploys of a bucket, most recently published or made first. `by` is the user name or key of the token that made a deploy. Times are Unix milliseconds. `files` and `bytes` are null while a deploy is being filled, and until a large one has been counted in the background. `changed` is true if files were changed after the publication.",
    need: ({ name }) => inBucket(name, "static_bucket_file.list"),
    effect: "reads",
    params: { name },
    logged: ["name"],
    result: z.array(record),
    fails: ["NotFound", "IoError"],
    example: { params: { token: "<SUPER_TOKEN>", name: "site" }, result: [shown] },
    run: async ({ buckets }, { name }) => {
      const bucket = await buckets.require(name);
      return (await buckets.deploys.list(bucket)).map(toRecord);
    },
  }),
  "static-bucket_deploy_delete": method({
    doc: "Deletes a deploy and its files. The published deploy cannot be deleted.",
    need: mayDeploy,
    effect: "destroys",
    warning: "The files of the deploy are deleted. The bucket can no longer be rolled back to it.",
    params: { name, deploy },
    logged: ["name", "deploy"],
    result: z.object({ success: z.literal(true) }),
    fails: ["InvalidInput", "NotFound", "IoError"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", deploy: "<DEPLOY>" },
      result: { success: true },
    },
    run: async ({ buckets, audit }, { name, deploy }) => {
      const bucket = await buckets.require(name);
      await buckets.deploys.delete(bucket, deploy);
      audit("deploy.deleted", { bucket: name, deploy });
      return { success: true as const };
    },
  }),
};

/** `sealOpen` ends the filling of a deploy, which takes what it takes to fill it, and returns the deploy. */
async function sealOpen(
  { buckets, caller, audit }: Pick<Services, "buckets"> & Pick<CallContext, "caller" | "audit">,
  bucket: Bucket,
  id: string,
): Promise<Deploy> {
  const deploy = await buckets.deploys.get(bucket, id);
  if (deploy.state !== "open") return deploy;
  authorise(caller, mayDeploy(bucket));
  const sealed = await buckets.deploys.seal(bucket, id);
  for (const replaced of sealed.replaced) audit("deploy.deleted", { bucket: bucket.name, deploy: replaced });
  return sealed;
}

/** `toPublished` adds where visitors find the files that are published now, and what is wrong with their `_headers` and `_redirects`. */
async function toPublished({ buckets }: Services, bucket: Bucket, done: SwitchResult) {
  const problems = await siteProblems(buckets.filesOf(bucket).reader);
  return { ...done, problems, ...rootOf(bucket) };
}

function rootOf({ hosts, is_http_root }: Bucket) {
  const host = hosts[0] ?? null;
  return { host, at_root: host !== null || is_http_root };
}

const neverAborted = new AbortController().signal;

function toAudited(bucket: string, { deploy, replaced }: SwitchResult) {
  return { bucket, deploy, ...(replaced !== null && { replaced }) };
}
