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
    doc: "Lists what was deleted or replaced at a path and below it (default: in the whole bucket), the newest first: the former versions of a file, or what was deleted in a folder. `version` is the change of the bucket that removed it. Times are Unix milliseconds; until `kept_until` (`keep_removed_days`; for plain files `trash_days`) it can be restored. A file that was moved keeps its versions under the path that each had.",
    need: ({ name }) => inBucket(name, "static_bucket_file.list"),
    effect: "reads",
    params: {
      name,
      path: z.string().nullish().describe("a file or folder of the bucket, whether it exists or not"),
      limit: z
        .int()
        .min(1)
        .max(10_000)
        .nullish()
        .describe(`how many of the newest; default: ${defaultVersions.toLocaleString("en-US")}`),
      after: z
        .object({ version: z.int(), path: z.string() })
        .nullish()
        .describe("`version` and `path` of the last one of an earlier answer, to get those that follow it"),
      files_only: z
        .boolean()
        .nullish()
        .describe(
          "list no folders, but the files that were in a deleted folder, each with the version of the folder; default: false",
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
      const versions = await files.history(target, {
        max: limit ?? defaultVersions,
        after: after == null ? undefined : { version: after.version, path: treePath(after.path) },
        filesOnly: files_only ?? false,
      });
      return versions.map(({ version, path, kind, size, modifiedMs, removedAtMs, keptUntilMs }) => ({
        version,
        path,
        kind,
        size,
        mtime: Math.floor(modifiedMs),
        removed_at: Math.floor(removedAtMs),
        kept_until: Math.floor(keptUntilMs),
      }));
    },
  }),
  "static-bucket-file_restore": method({
    doc: "Puts a version of `static-bucket-file_history` back, at its path or at `to`. Missing folders are created. A file takes the place of the file that exists there; a folder, which is restored with its content, needs a free path. A folder, and any plain file, leaves the history then; another file stays in it.",
    need: ({ name }) => inBucket(name, "static_bucket_file.write"),
    effect: "changes",
    warning: "A file that exists at this path is replaced, and kept as a version if versions are kept.",
    params: {
      name,
      path: z.string().describe("the path that the version had"),
      version: z.int().min(1).describe("as `static-bucket-file_history` returns it"),
      to: z.string().nullish().describe("where to put it; default: its own path"),
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
      await files.restore({ version, path: from }, target, conditions);
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
    doc: "Returns for how many days what is deleted or replaced in a bucket can be restored; 0 if not at all. With `measure`, also how many versions can be restored now, and the bytes of their files, for which all of them are read.",
    need: ({ name }) => inBucket(name, "static_bucket_file.list"),
    effect: "reads",
    params: {
      name,
      measure: z.boolean().nullish().describe("whether to count them; default: false"),
    },
    logged: ["name"],
    result: z.object({ days: z.int(), versions: z.int().optional(), bytes: z.int().optional() }),
    fails: ["NotFound", "IoError"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", measure: true },
      result: { days: 30, versions: 12, bytes: 48213 },
    },
    run: async ({ buckets }, { name, measure }) => {
      const { kept } = await buckets.files(name);
      return { days: kept.keptDays, ...(measure === true && (await kept.measureKept())) };
    },
  }),
  "static-bucket-file_purge": method({
    doc: "Purges everything that is kept of the deleted and replaced files of a bucket; none of it can be restored any more. Plain files are deleted at once; content in an object store by its next daily care, unless something else has the same content. Returns the number of versions.",
    need: ({ name }) => inBucket(name, "static_bucket_file.delete"),
    effect: "destroys",
    warning: "Nothing that was deleted or replaced in this bucket can be restored afterwards.",
    params: { name },
    logged: ["name"],
    result: z.object({ success: z.literal(true), versions: z.int() }),
    fails: ["NotFound", "IoError", "Other"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site" },
      result: { success: true, versions: 12 },
    },
    run: async (call, { name }) => {
      const versions = await (await call.buckets.files(name)).kept.purge();
      call.audit("file.purged", { bucket: name, versions });
      return { success: true as const, versions };
    },
  }),
};
