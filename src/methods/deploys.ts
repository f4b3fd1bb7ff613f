import { z } from "zod";
import { authorise } from "../auth/authorise.ts";
import { inBucket } from "../auth/need.ts";
import { Fault } from "../base/fault.ts";
import type { Deploy } from "../buckets/history/deploy-record.ts";
import type { Published } from "../buckets/history/deploys.ts";
import { treePath } from "../buckets/path.ts";
import type { Bucket } from "../buckets/record.ts";
import { siteProblems } from "../buckets/site-files.ts";
import { maxLinkSeconds } from "../links/links.ts";
import type { Services } from "../services.ts";
import { siteProblem } from "./bucket-facts.ts";
import { method } from "./declare.ts";
import { openForChange } from "./static-bucket-file.ts";

/** Files of one call of `static-bucket_deploy_add`. */
const maxFiles = 5000;
const maxNoteChars = 500;
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
  files: 1,
  bytes: 5,
  published_at: 1794700000000,
  changed: false,
};

/** `mayDeploy` is what whoever fills, publishes or deletes a deploy needs: it writes files, and takes others away. */
const mayDeploy = ({ name }: { readonly name: string }) =>
  inBucket(name, "static_bucket_file.write", "static_bucket_file.delete");

function toRecord({ id, at, by, username, state, note, files, bytes, published_at, changed }: Deploy) {
  return {
    deploy: id,
    state,
    made_at: at,
    by: username ?? by,
    note,
    files,
    bytes,
    published_at,
    changed,
  };
}

/** `deploys` are the methods about whole trees of files that take each other's place at once. */
export const deploys = {
  "static-bucket_deploy_begin": method({
    doc: "Begins a deploy: an empty tree beside the bucket's files, which nobody sees until it is published. It is filled by `static-bucket_deploy_add` and by WebDAV (`PUT /node/static-webdav/<bucket>@<deploy>/<path>`). One that nothing is put into for 24 hours is removed. A bucket has 100 deploys at most that are not published.",
    need: mayDeploy,
    effect: "changes",
    params: {
      name,
      note: z
        .string()
        .max(maxNoteChars)
        .nullish()
        .describe("for people; `static-bucket_deploy_list` shows it"),
      force: z
        .boolean()
        .nullish()
        .describe("begin also while somebody fills another deploy (`data.reason` `deploy_open`)"),
    },
    logged: ["name"],
    result: record,
    fails: ["InvalidInput", "NotFound", "IoError", "Other"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", note: "spring release" },
      result: { ...shown, state: "open", files: null, bytes: null, published_at: null },
    },
    run: async ({ buckets, caller, audit }, { name, note, force }) => {
      const bucket = await buckets.require(name);
      const maker = { by: caller.key, username: caller.username, note: note ?? "" };
      const made = await buckets.deploys.begin(bucket, maker, { force: force ?? false });
      audit("deploy.begun", { bucket: name, deploy: made.id });
      return toRecord(made);
    },
  }),
  "static-bucket_deploy_add": method({
    doc: "Says which files a deploy is to have. Those whose content the bucket has already, at whatever path, are taken over without an upload; `missing` are the others. Called again after the uploads, with the files that were missing, it answers whether all of them arrived as they should be; on a disk this also gives them the entity tags of their content.",
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
        .describe(`${maxFiles.toLocaleString("en-US")} at most; \`size\` in bytes`),
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
      const { buckets, assertStillAdmitted } = call;
      const bucket = await buckets.require(name);
      const wanted = files.map((file) => ({ ...file, path: treePath(file.path) }));
      const missing = await buckets.deploys.add(bucket, deploy, {
        files: wanted,
        check: assertStillAdmitted,
        signal: neverAborted,
      });
      const taken = files.length - missing.length;
      call.audit("deploy.filled", { bucket: name, deploy, taken });
      return { taken, missing: missing.map(({ path }) => path) };
    },
  }),
  "static-bucket_deploy_preview": method({
    doc: "Makes an address at which anybody who knows it sees a deploy before it is published, until `expires` (Unix milliseconds), until the deploy is published or rolled back to, and as long as it and the token of this call exist. With `at_root` a browser that goes there shows the deploy at the root of the host, as the published site will be, for an hour or until it goes to `/node/preview/`: at `host` if that is not null, else where the bucket is the HTTP root. An open deploy takes no more files from then on.",
    need: ({ name }) => inBucket(name, "static_bucket_file.read"),
    secretResult: true,
    effect: "changes",
    warning: "Whoever knows the address can see the deploy, until it ends.",
    params: {
      name,
      deploy,
      expires_in: z
        .int()
        .min(1)
        .max(maxLinkSeconds)
        .nullish()
        .describe("seconds, 366 days at the most; default: 604,800 (7 days)"),
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
      const { state, exchanges = 0 } = await buckets.deploys.get(bucket, deploy);
      if (state === "published")
        throw new Fault("InvalidInput", "the deploy is published, so there is nothing to preview", {
          field: "deploy",
        });
      if (state === "open") {
        authorise(caller, mayDeploy({ name }));
        await buckets.deploys.seal(bucket, deploy);
      }
      const target = { kind: "preview", bucket, path: deploy, exchanges } as const;
      const { code, expires } = await links.make(caller, target, {
        expiresInSeconds: expires_in ?? 7 * daySeconds,
      });
      audit("deploy.shown", { bucket: name, deploy, expires });
      const address = `/node/preview/${code}/${encodeURIComponent(name)}@${deploy}/`;
      return { address, ...rootOf(bucket), expires };
    },
  }),
  "static-bucket_deploy_publish": method({
    doc: "Puts the files of a deploy in the place of the bucket's, at once: every request is answered by the old files or by the new ones. The old ones stay as a deploy, with all that was changed in them. Refused while a WebDAV client has locks in the bucket. It succeeds also if the deploy is published already. Visitors find the bucket at the root of `host`, or with `at_root` and no `host` at the HTTP root, else below `/node/static/`.",
    need: mayDeploy,
    effect: "destroys",
    warning: "The bucket is served from the files of this deploy at once.",
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
    doc: "Publishes an earlier deploy again, at once: that one, or without `deploy` the one that was published before the present one. The result is that of `static-bucket_deploy_publish`.",
    need: mayDeploy,
    effect: "destroys",
    warning: "The bucket is served from the files of the earlier deploy at once.",
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
    doc: "Lists the deploys of a bucket, the last published or made first: who made it and when (Unix milliseconds), `files` and `bytes` (null while it is filled, and until a large one is counted in the background), and whether files were `changed` since it was published.",
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
    doc: "Deletes a deploy that is not published, with its files.",
    need: mayDeploy,
    effect: "destroys",
    warning: "The files of the deploy are deleted; the bucket cannot go back to it.",
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

/** `toPublished` adds where visitors find the files that are published now, and what is wrong with their `_headers` and `_redirects`. */
async function toPublished({ buckets }: Services, bucket: Bucket, done: Published) {
  const problems = await siteProblems(buckets.filesOf(bucket).reader);
  return { ...done, problems, ...rootOf(bucket) };
}

function rootOf({ hosts, is_http_root }: Bucket) {
  const host = hosts[0] ?? null;
  return { host, at_root: host !== null || is_http_root };
}

const neverAborted = new AbortController().signal;

function toAudited(bucket: string, { deploy, replaced }: Published) {
  return { bucket, deploy, ...(replaced !== null && { replaced }) };
}
