import { z } from "zod";
import { inBucket } from "../auth/need.ts";
import { folderPath, treePath } from "../buckets/path.ts";
import { method } from "./declare.ts";
import { openForChange } from "./static-bucket-file.ts";

const name = z.string().describe("the bucket");
const defaultVersions = 1000;
const version = z
  .object({
    version: z.int(),
    path: z.string(),
    kind: z.enum(["file", "folder"]),
    size: z.int(),
    mtime: z.int(),
    removed_at: z.int(),
    kept_until: z.int(),
  })
  .meta({ id: "FileVersion" });

/** `fileVersions` are the methods about files that were deleted or replaced. */
export const fileVersions = {
  "static-bucket-file_history": method({
    doc: "Lists deleted and replaced files and folders at a path and below it (default: the whole bucket), newest first. `version` is the change of the bucket that removed the file. Times are Unix milliseconds. A version can be restored until `kept_until`, which depends on `keep_removed_days`. Versions of a moved file stay under the path that each had.",
    need: ({ name }) => inBucket(name, "static_bucket_file.list"),
    effect: "reads",
    params: {
      name,
      path: z.string().nullish().describe("a file or folder of the bucket; it need not exist"),
      limit: z
        .int()
        .min(1)
        .max(10_000)
        .nullish()
        .describe(
          `how many versions to return, counted from the newest; default: ${defaultVersions.toLocaleString("en-US")}`,
        ),
      after: z
        .object({ version: z.int(), path: z.string() })
        .nullish()
        .describe("`version` and `path` of the last entry of an earlier answer, to get the entries after it"),
      files_only: z
        .boolean()
        .nullish()
        .describe(
          "true: instead of a deleted folder, list the files that were in it, each with the folder's version; default: false",
        ),
    },
    logged: ["name", "path"],
    result: z.array(version),
    fails: ["InvalidInput", "NotFound", "IoError", "Other"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", path: "hello.txt" },
      result: [
        {
          version: 2,
          path: "hello.txt",
          kind: "file",
          size: 5,
          mtime: 1794700000000,
          removed_at: 1794700000000,
          kept_until: 1795300000000,
        },
      ],
    },
    run: async ({ buckets }, { name, path, limit, after, files_only }) => {
      const target = folderPath(path ?? "");
      const files = await buckets.files(name);
      const versions = await files.versions.list(target, {
        max: limit ?? defaultVersions,
        after: after == null ? undefined : { version: after.version, path: treePath(after.path) },
        filesOnly: files_only ?? false,
      });
      return versions.map(({ version, path, kind, size, modifiedMs, removedAtMs, retainedUntilMs }) => ({
        version,
        path,
        kind,
        size,
        mtime: Math.floor(modifiedMs),
        removed_at: Math.floor(removedAtMs),
        kept_until: Math.floor(retainedUntilMs),
      }));
    },
  }),
  "static-bucket-file_restore": method({
    doc: "Restores a version of `static-bucket-file_history`, at its own path or at `to`. Missing folders are created. A restored file replaces the file that exists there. A folder is restored with its content and needs a free path. A restored folder or plain file leaves the history. With `[files] url`, the version of a file stays in it.",
    need: ({ name }) => inBucket(name, "static_bucket_file.write"),
    effect: "changes",
    warning:
      "An existing file at this path is replaced. The store keeps it as a version if it keeps versions.",
    params: {
      name,
      path: z.string().describe("the path that the version had"),
      version: z.int().min(1).describe("as `static-bucket-file_history` returns it"),
      to: z.string().nullish().describe("where to restore it; default: its own path"),
    },
    logged: ["name", "path", "version", "to"],
    result: z.object({ success: z.literal(true) }),
    fails: ["InvalidInput", "NotFound", "IoError", "Other"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", path: "hello.txt", version: 2 },
      result: { success: true },
    },
    run: async (call, { name, path, version, to }) => {
      const from = treePath(path);
      const target = to == null ? from : treePath(to);
      const { files, conditions } = await openForChange(call, name);
      await files.restoreVersion({ version, path: from }, target, conditions);
      call.audit("file.restored", {
        bucket: name,
        path: target,
        version,
        ...(target !== from && { from }),
      });
      return { success: true as const };
    },
  }),
  "static-bucket-file_retention": method({
    doc: "Returns for how many days deleted and replaced files of a bucket can be restored; 0 means that they cannot. With `measure` it also counts the versions that can be restored now and the bytes of their files, for which it reads all of them.",
    need: ({ name }) => inBucket(name, "static_bucket_file.list"),
    effect: "reads",
    params: {
      name,
      measure: z.boolean().nullish().describe("true: also count versions and bytes; default: false"),
    },
    logged: ["name"],
    result: z.object({ days: z.int(), versions: z.int().optional(), bytes: z.int().optional() }),
    fails: ["NotFound", "IoError"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", measure: true },
      result: { days: 30, versions: 12, bytes: 48213 },
    },
    run: async ({ buckets }, { name, measure }) => {
      const { versions } = await buckets.files(name);
      return { days: versions.retentionDays, ...(measure === true && (await versions.measure())) };
    },
  }),
  "static-bucket-file_purge": method({
    doc: "Purges all kept versions of deleted and replaced files of a bucket, and returns their number. Plain files are deleted at once. An object store deletes their content in its next daily maintenance, unless another file has the same content.",
    need: ({ name }) => inBucket(name, "static_bucket_file.delete"),
    effect: "destroys",
    warning: "Deleted and replaced files of this bucket cannot be restored afterwards.",
    params: { name },
    logged: ["name"],
    result: z.object({ success: z.literal(true), versions: z.int() }),
    fails: ["NotFound", "IoError", "Other"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site" },
      result: { success: true, versions: 12 },
    },
    run: async (call, { name }) => {
      const versions = await (await call.buckets.files(name)).versions.purge();
      call.audit("file.purged", { bucket: name, versions });
      return { success: true as const, versions };
    },
  }),
};
