import { z } from "zod";
import { callerName } from "../auth/caller.ts";
import { inBucket } from "../auth/need.ts";
import { forEachConcurrently } from "../base/concurrency.ts";
import { Fault } from "../base/fault.ts";
import { RawJson } from "../base/json.ts";
import { nextTurn } from "../base/turns.ts";
import type { BucketFiles, Outcome, PathPair, WantedVersion } from "../buckets/bucket-files.ts";
import type { Buckets } from "../buckets/buckets.ts";
import { commonFolder, folderPath, splitPath, type TreePath, treePath } from "../buckets/path.ts";
import type { ListedFile, OpenFile } from "../buckets/ports.ts";
import type { Bucket } from "../buckets/record.ts";
import { FileSearch, matcher } from "../buckets/search.ts";
import { maxThumbnailPixels } from "../buckets/thumbnails.ts";
import { filesBelow } from "../buckets/tree-ops.ts";
import type { Grant, WriteConditions } from "../buckets/write-conditions.ts";
import type { StreamedJson } from "../rpc/bodies.ts";
import type { CallContext } from "../rpc/method.ts";
import type { Services } from "../services.ts";
import { method } from "./declare.ts";

const done = z.object({ success: z.literal(true) });
/** A file up to this size is read as a whole: a stream costs more than its content. */
const maxShortBytes = 32 * 1024;
/** A list of up to this number of files is written as JSON at once. */
const maxShortList = 256;
const name = z.string().describe("the bucket");
const path = z.string().describe("the path in the bucket, with / between folders");

/** A plain loop: a schema for each of ten million bytes would take a second. */
const body = z
  .custom<string | number[]>(
    (value) =>
      typeof value === "string" ||
      (Array.isArray(value) && value.every((byte) => Number.isInteger(byte) && byte >= 0 && byte <= 255)),
    "must be a text or an array of bytes (0 to 255)",
  )
  .describe("the content: a text, or an array of bytes");

export const staticBucketFile = {
  "static-bucket-file_upload": method({
    doc: "Writes a file from `body` or `base64`. Readers see either the old file or the complete new one. Missing folders are created.",
    need: ({ name }) => inBucket(name, "static_bucket_file.write"),
    effect: "destroys",
    warning: "An existing file at this path is replaced.",
    params: {
      name,
      path,
      body: body.nullish(),
      base64: z.string().nullish().describe("the content in standard base64, padded"),
    },
    logged: ["name", "path"],
    result: done,
    fails: ["InvalidInput", "NotFound", "IoError", "Other"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", path: "index.html", body: "<h1>Hello</h1>" },
      result: { success: true },
    },
    run: async (call, { name, path, body, base64 }) => {
      const target = treePath(path);
      const { files, conditions } = await openForChange(call, name);
      await using staged = await files.stage(toBytes(body, base64), target);
      await files.write(target, staged, { makeParents: true, conditions });
      call.audit("file.written", { bucket: name, path: target, bytes: staged.size });
      return { success: true as const };
    },
  }),
  "static-bucket-file_read": method({
    doc: "Returns the content of a file in base64.",
    need: ({ name }) => inBucket(name, "static_bucket_file.read"),
    effect: "reads",
    params: { name, path },
    logged: ["name", "path"],
    result: z.string(),
    fails: ["InvalidInput", "NotFound", "IoError", "ResponseTooBig"],
    example: { params: { token: "<SUPER_TOKEN>", name: "site", path: "hello.txt" }, result: "aGVsbG8=" },
    run: async ({ buckets, resultBudgetBytes }, { name, path }) => {
      const target = treePath(path);
      const { reader } = await buckets.files(name);
      return inBase64(await reader.open(target), resultBudgetBytes, "use HTTP");
    },
  }),
  "static-bucket-file_thumbnail": method({
    doc: "Returns a small picture of an image (JPEG, PNG, WebP or GIF) as WebP in base64. It is at most `size` pixels wide and high, and not larger than the image. The server makes one at a time, of files up to 32 MiB with up to 16 million pixels (JPEG: 40 million).",
    need: ({ name }) => inBucket(name, "static_bucket_file.read"),
    effect: "reads",
    params: {
      name,
      path,
      size: z.int().min(16).max(maxThumbnailPixels).nullish().describe("default: 256"),
    },
    logged: ["name", "path"],
    result: z.string(),
    fails: ["Busy", "InvalidInput", "NotFound", "IoError"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", path: "photo.png" },
      result: "UklGRkAAAABXRUJQVlA4",
    },
    run: async ({ buckets, caller, disconnected }, { name, path, size }) => {
      const { reader } = await buckets.files(name);
      await using file = await reader.open(treePath(path));
      const asked = { size: size ?? 256, key: caller.key, disconnected };
      return (await buckets.thumbnails.of(file, asked)).toString("base64");
    },
  }),
  "static-bucket-file_delete": method({
    doc: "Deletes a file. Succeeds even if the file does not exist.",
    need: ({ name }) => inBucket(name, "static_bucket_file.delete"),
    effect: "destroys",
    warning: "The file can be restored only if the store keeps versions, and only for some days.",
    params: { name, path },
    logged: ["name", "path"],
    result: done,
    fails: ["InvalidInput", "NotFound", "IoError", "Other"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", path: "hello.txt" },
      result: { success: true },
    },
    run: async (call, { name, path }) => {
      const target = treePath(path);
      const { files, conditions } = await openForChange(call, name);
      if (await files.removeFile(target, conditions))
        call.audit("file.deleted", { bucket: name, path: target });
      return { success: true as const };
    },
  }),
  "static-bucket-file_rename": method({
    doc: "Moves a file within its bucket and replaces an existing file at `to`. Missing folders are created.",
    need: ({ name }) => inBucket(name, "static_bucket_file.write", "static_bucket_file.delete"),
    effect: "destroys",
    warning: "An existing file at the new path is replaced.",
    params: { name, from: path, to: path },
    logged: ["name", "from", "to"],
    result: done,
    fails: ["InvalidInput", "NotFound", "IoError", "Other"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", from: "hello.txt", to: "old/hello.txt" },
      result: { success: true },
    },
    run: async (call, { name, from, to }) => {
      const [source, target] = [treePath(from), treePath(to)];
      const { files, conditions } = await openForChange(call, name);
      if (await files.renameFile(source, target, conditions))
        call.audit("file.moved", { bucket: name, path: source, to: target });
      return { success: true as const };
    },
  }),
  "static-bucket-file_list": method({
    doc: "Lists all files below a folder (default: the whole bucket), sorted by path, with their size in bytes and modification time in Unix milliseconds.",
    need: ({ name }) => inBucket(name, "static_bucket_file.list"),
    effect: "reads",
    params: { name, path: z.string().nullish().describe("a folder of the bucket") },
    logged: ["name", "path"],
    result: z.array(z.object({ path: z.string(), size: z.int(), mtime: z.int() })),
    fails: ["InvalidInput", "NotFound", "IoError"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site" },
      result: [{ path: "hello.txt", size: 5, mtime: 1794700000000 }],
    },
    run: async ({ buckets }, { name, path }) => {
      const folder = folderPath(path ?? "");
      const { reader } = await buckets.files(name);
      const files = await filesBelow(reader, folder);
      return files.length <= maxShortList ? files.map(toResult) : JsonList.of(files, toResult);
    },
  }),
};

/**
 * `openForChange` returns the files of a bucket, and the conditions of a change. The token and the bucket are read again when the
 * change has its turn: it may have waited for a long copy. RPC holds no lock.
 */
export async function openForChange(
  { buckets, caller, assertStillAuthorised }: Services & CallContext,
  name: string,
): Promise<{ readonly files: BucketFiles; readonly conditions: WriteConditions }> {
  const bucket = await buckets.require(name);
  const grant: Grant = {
    by: callerName(caller),
    async assertStillValid() {
      await assertStillAuthorised();
      await assertSameBucket(buckets, bucket);
    },
  };
  return { files: buckets.filesOf(bucket), conditions: { grant } };
}

/**
 * `assertSameBucket` throws unless the bucket still has the folder that it had when the call began. A disabled bucket can be
 * changed.
 */
async function assertSameBucket(buckets: Buckets, bucket: Bucket): Promise<void> {
  switch (await buckets.compare(bucket)) {
    case "deleted":
      throw new Fault("NotFound", "the bucket was deleted meanwhile; nothing was changed", { field: "name" });
    case "changed":
      throw new Fault(
        "Other",
        "the bucket got another folder meanwhile; nothing was changed, send the call again",
        { field: "name", reason: "bucket_moved" },
      );
  }
}

const toResult = ({ path, size, modifiedMs }: ListedFile) => ({ path, size, mtime: Math.floor(modifiedMs) });

function toBytes(body: string | number[] | null | undefined, base64: string | null | undefined): Uint8Array {
  if (body != null && base64 != null)
    throw new Fault("InvalidInput", "give `body` or `base64`, not both", { field: "body" });
  if (body != null) return typeof body === "string" ? Buffer.from(body) : Uint8Array.from(body);
  if (base64 == null)
    throw new Fault("InvalidInput", "give the content as `body` or as `base64`", { field: "body" });
  // One plain character class: a repeated group fails on texts of some megabytes.
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) {
    throw new Fault("InvalidInput", "`base64` is not standard, padded base64", { field: "base64" });
  }
  return Buffer.from(base64, "base64");
}

/** `inBase64` returns a file as a result. `advice` says what to do with one that is too large for that. */
async function inBase64(open: OpenFile, resultBudgetBytes: number, advice: string) {
  const file = new Base64File(open);
  if (file.bytes <= resultBudgetBytes)
    return file.contentBytes <= maxShortBytes ? file.whole() : file.prepare();
  await file[Symbol.asyncDispose]();
  const limit = Math.floor((resultBudgetBytes - 2) / 4) * 3;
  throw new Fault(
    "ResponseTooBig",
    `the file has ${file.contentBytes} bytes, and RPC can return ${limit} (max_response_body_size); ${advice}`,
    { limit, actual: file.contentBytes },
  );
}

/**
 * Base64File is a file as a JSON string in base64, read while it is sent. It has the length that it had when it was opened, or the
 * stream fails.
 */
class Base64File implements StreamedJson {
  readonly #file: OpenFile;
  readonly isStreamedJson = true;
  readonly bytes: number;
  /** The content is read while it is sent. */
  readonly heldBytes = 0;
  #isClosed = false;

  /** Takes the file over: it is disposed with this object. */
  constructor(file: OpenFile) {
    this.#file = file;
    // With the two quotes.
    this.bytes = base64Length(file.stats.size) + 2;
  }

  get contentBytes(): number {
    return this.#file.stats.size;
  }

  /** Asks a remote store for the content before the answer begins, so that a failure is an error and not an answer that breaks off. */
  async prepare(): Promise<this> {
    try {
      await this.#file.prepare?.();
      return this;
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The whole content at once. */
  async whole(): Promise<RawJson> {
    try {
      const { buffer, byteOffset, length } = await this.#file.bytes();
      // Base64 has no character that JSON would escape.
      return new RawJson(`"${Buffer.from(buffer, byteOffset, length).toString("base64")}"`);
    } finally {
      await this[Symbol.asyncDispose]();
    }
  }

  async *pieces(): AsyncGenerator<Uint8Array> {
    try {
      yield Buffer.from('"');
      // Base64 makes four letters of three bytes, so one or two bytes of a chunk may wait for the next.
      let waiting: Uint8Array = Buffer.alloc(0);
      for await (const chunk of this.#file.chunks()) {
        const bytes = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk]);
        const whole = bytes.length - (bytes.length % 3);
        yield toBase64(bytes.subarray(0, whole));
        waiting = bytes.subarray(whole);
      }
      if (waiting.length > 0) yield toBase64(waiting);
      yield Buffer.from('"');
    } finally {
      await this[Symbol.asyncDispose]();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#file[Symbol.asyncDispose]();
  }
}

function toBase64({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(Buffer.from(buffer, byteOffset, length).toString("base64"), "latin1");
}

/** `base64Length` returns the number of base64 characters for this many bytes. */
function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

/** Items that are written at once, in a fifth of a millisecond. */
const itemsPerTurn = 500;
const comma = ",".charCodeAt(0);

/** JsonList is a long list as JSON. Other calls get the event loop while it is written, and while it is sent. */
class JsonList implements StreamedJson {
  readonly isStreamedJson = true;
  readonly bytes: number;
  readonly heldBytes: number;
  readonly #texts: readonly Uint8Array[];

  private constructor(texts: readonly Uint8Array[]) {
    this.#texts = texts;
    this.bytes = texts.reduce((sum, { length }) => sum + length, 0);
    this.heldBytes = this.bytes;
  }

  static async of<T>(items: readonly T[], toValue: (item: T) => unknown): Promise<JsonList> {
    const texts: Uint8Array[] = [];
    for (let at = 0; at < items.length; at += itemsPerTurn) {
      const list = Buffer.from(JSON.stringify(items.slice(at, at + itemsPerTurn).map(toValue)));
      // The brackets between two parts become one comma.
      if (at > 0) list[0] = comma;
      const isLast = at + itemsPerTurn >= items.length;
      texts.push(isLast ? list : list.subarray(0, -1));
      await nextTurn();
    }
    return new JsonList(texts.length === 0 ? [Buffer.from("[]")] : texts);
  }

  async *pieces(): AsyncGenerator<Uint8Array> {
    yield* this.#texts;
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

const defaultResults = 100;
const maxResults = 1000;
const maxQueryChars = 200;
/** The time of one search. 100,000 files on a disk take about 2 s. */
const maxMs = 10_000;
const search = new FileSearch();

/** `fileSearch` finds files of a bucket. */
export const fileSearch = {
  "static-bucket-file_search": method({
    doc: "Finds files and folders whose path below `path` (default: the whole bucket) contains all words of `query`, in any order, case and Unicode form. A word with `*` or `?` is a pattern for the name; with a slash it is a pattern for the whole path below `path`. `size` is in bytes (0 for a folder), `mtime` in Unix milliseconds. `more` is true if there are more results, or if the search did not cover all paths. `complete` is false if it ended after 10 seconds or could not read a folder.",
    need: ({ name }) => inBucket(name, "static_bucket_file.list"),
    effect: "reads",
    params: {
      name: z.string().describe("the bucket"),
      query: z.string().max(maxQueryChars).describe("words, separated by spaces"),
      path: z.string().nullish().describe("a folder of the bucket"),
      limit: z.int().min(1).max(maxResults).nullish().describe(`default: ${defaultResults}`),
      offset: z.int().min(0).nullish().describe("how many results to skip, for the next page"),
    },
    logged: ["name", "path"],
    result: z.object({
      entries: z.array(
        z
          .object({ path: z.string(), kind: z.enum(["file", "folder"]), size: z.int(), mtime: z.int() })
          .meta({ id: "FoundEntry" }),
      ),
      more: z.boolean(),
      complete: z.boolean(),
      searched: z.int(),
    }),
    fails: ["InvalidInput", "NotFound", "IoError"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", query: "hello" },
      result: {
        entries: [{ path: "hello.txt", kind: "file", size: 5, mtime: 1794700000000 }],
        more: false,
        complete: true,
        searched: 1,
      },
    },
    run: async ({ buckets, caller, disconnected }, { name, query, path, limit, offset }) => {
      if (query.trim() === "") throw new Fault("InvalidInput", "query is empty", { field: "query" });
      const { reader } = await buckets.files(name);
      const { entries, more, complete, searched } = await search.find(reader, {
        query,
        folder: folderPath(path ?? ""),
        limit: limit ?? defaultResults,
        offset: offset ?? 0,
        maxMs,
        signal: disconnected,
        key: caller.key,
      });
      return {
        entries: entries.map(({ path, kind, stats: { size, modifiedMs } }) => ({
          path,
          kind,
          size: kind === "folder" ? 0 : size,
          mtime: Math.floor(modifiedMs),
        })),
        more,
        complete,
        searched,
      };
    },
  }),
};

const defaultVersions = 1000;
/** Paths of versions at which the store is asked at once whether something is there. */
const maxFindsAtOnce = 16;

async function* each<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}

const version = z
  .object({
    version: z.int(),
    path: z.string(),
    kind: z.enum(["file", "folder"]),
    size: z.int(),
    mtime: z.int(),
    removed_at: z.int(),
    kept_until: z.int(),
    exists: z.boolean().optional().describe("with `present`: whether something exists at the path now"),
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
      query: z
        .string()
        .max(maxQueryChars)
        .nullish()
        .describe(
          "only versions whose path has all these words, as `static-bucket-file_search` compares them",
        ),
      present: z
        .boolean()
        .nullish()
        .describe(
          "true: also say whether something `exists` at each path now: then a version was replaced, and not only deleted; default: false",
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
    run: async ({ buckets }, { name, path, limit, after, files_only, query, present }) => {
      const target = folderPath(path ?? "");
      const existing = new Set<TreePath>();
      const files = await buckets.files(name);
      const versions = await files.versions.list(target, {
        max: limit ?? defaultVersions,
        after: after == null ? undefined : { version: after.version, path: treePath(after.path) },
        filesOnly: files_only ?? false,
        matches: query == null ? undefined : matcher(query),
      });
      if (present)
        await forEachConcurrently(
          each(new Set(versions.map(({ path }) => path))),
          maxFindsAtOnce,
          async (path) => {
            if ((await files.reader.find(path)) !== undefined) existing.add(path);
          },
        );
      return versions.map(({ version, path, kind, size, modifiedMs, removedAtMs, retainedUntilMs }) => ({
        version,
        path,
        kind,
        size,
        mtime: Math.floor(modifiedMs),
        removed_at: Math.floor(removedAtMs),
        kept_until: Math.floor(retainedUntilMs),
        ...(present && { exists: existing.has(path) }),
      }));
    },
  }),
  "static-bucket-file_read_version": method({
    doc: "Returns the content of a version of `static-bucket-file_history` in base64.",
    need: ({ name }) => inBucket(name, "static_bucket_file.read"),
    effect: "reads",
    params: {
      name,
      path: z.string().describe("the path that the version had"),
      version: z.int().min(1).describe("as `static-bucket-file_history` returns it"),
    },
    logged: ["name", "path", "version"],
    result: z.string(),
    fails: ["InvalidInput", "NotFound", "IoError", "Other", "ResponseTooBig"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", path: "hello.txt", version: 2 },
      result: "aGVsbG8=",
    },
    run: async ({ buckets, resultBudgetBytes }, { name, path, version }) => {
      const wanted = { version, path: treePath(path) };
      const { versions } = await buckets.files(name);
      return inBase64(await versions.open(wanted), resultBudgetBytes, "restore it at another path with `to`");
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

/** Paths of one call about many. */
const maxManyPaths = 10_000;
/** The time after which a call about many begins nothing more. */
const maxManyMs = 10_000;
/** The first paths of a call about many, which the audit log names. */
const maxAuditedPaths = 10;
/** The bytes of an answer about one path, beside the path, which it has three times at most. */
const maxBytesBesidePath = 512;

const many = (what: string) =>
  `${what} It handles them in their order and ends after 10 seconds, or when the client disconnects: \`handled\` says how many it has handled, so that the next call can begin there. \`failed\` has those that were not changed, each with its reason, such as a lock; the others are done, also if the connection is lost.`;

const failedPath = z
  .object({ path: z.string(), kind: z.string(), reason: z.string().optional(), why: z.string() })
  .meta({ id: "FailedPath" });
const manyResult = { handled: z.int(), done: z.int(), failed: z.array(failedPath) };
const noPaths = { handled: 1, done: 1, failed: [] };
const counted = (list: readonly unknown[]) => list.length;

const manyPairs = z
  .array(z.object({ from: z.string(), to: z.string() }).meta({ id: "PathPair" }))
  .min(1)
  .max(maxManyPaths);
const overwrite = z
  .boolean()
  .nullish()
  .describe("true: replace what exists at `to`; default: false, which reports it in `failed`");

/** `manyFiles` are the methods that change many files and folders in one call. */
export const manyFiles = {
  "static-bucket-file_delete_many": method({
    doc: many(
      "Deletes many files, and folders with their content. `versions` are what `static-bucket-file_restore_many` takes to undo it; it is empty if the store keeps no versions.",
    ),
    need: ({ name }) => inBucket(name, "static_bucket_file.delete"),
    effect: "destroys",
    warning: "The files can be restored only if the store keeps versions, and only for some days.",
    params: { name, paths: z.array(z.string()).min(1).max(maxManyPaths).describe("files and folders") },
    logged: { name: (name) => name, paths: counted },
    result: z.object({
      ...manyResult,
      versions: z.array(z.object({ version: z.int(), path: z.string() }).meta({ id: "VersionName" })),
    }),
    fails: ["InvalidInput", "NotFound", "IoError", "Other"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", paths: ["hello.txt"] },
      result: { ...noPaths, versions: [{ version: 2, path: "hello.txt" }] },
    },
    run: async (call, { name, paths }) => {
      const { items, ...options } = await openForMany(call, name, paths.map(treePath), (path) => path);
      const outcomes = await options.files.removeMany(items, options);
      const done = doneOf(items, outcomes);
      auditMany(call, "file.deleted", { bucket: name }, { done, path: (path) => path, outcomes });
      const versions = outcomes.flatMap((outcome, at) => {
        const version = "done" in outcome ? outcome.done.version : undefined;
        return version === undefined ? [] : [{ version, path: items[at] ?? "" }];
      });
      return { ...resultOf(items, outcomes, (path) => path), versions };
    },
  }),
  "static-bucket-file_move_many": method({
    doc: many(
      "Moves many files and folders of a bucket, each to its path `to`. Missing folders are created.",
    ),
    need: ({ name }) => inBucket(name, "static_bucket_file.write", "static_bucket_file.delete"),
    effect: "destroys",
    warning: "With `overwrite`, what exists at the new paths is replaced.",
    params: { name, moves: manyPairs, overwrite },
    logged: { name: (name) => name, moves: counted, overwrite: (value) => value },
    result: z.object(manyResult),
    fails: ["InvalidInput", "NotFound", "IoError", "Other"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", moves: [{ from: "hello.txt", to: "old/hello.txt" }] },
      result: noPaths,
    },
    run: (call, { name, moves, overwrite }) => transferMany(call, "move", { name, pairs: moves, overwrite }),
  }),
  "static-bucket-file_copy_many": method({
    doc: many(
      "Copies many files, and folders with their content, in a bucket, each to its path `to`. Missing folders are created.",
    ),
    need: ({ name }) => inBucket(name, "static_bucket_file.read", "static_bucket_file.write"),
    effect: "destroys",
    warning: "With `overwrite`, what exists at the new paths is replaced.",
    params: { name, copies: manyPairs, overwrite },
    logged: { name: (name) => name, copies: counted, overwrite: (value) => value },
    result: z.object(manyResult),
    fails: ["InvalidInput", "NotFound", "IoError", "Other"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", copies: [{ from: "hello.txt", to: "copy.txt" }] },
      result: noPaths,
    },
    run: (call, { name, copies, overwrite }) =>
      transferMany(call, "copy", { name, pairs: copies, overwrite }),
  }),
  "static-bucket-file_restore_many": method({
    doc: many(
      "Restores many versions of `static-bucket-file_history`, each at its own path or at `to`. Missing folders are created. Nothing is replaced: a path at which something exists is reported in `failed`.",
    ),
    need: ({ name }) => inBucket(name, "static_bucket_file.write"),
    effect: "changes",
    params: {
      name,
      versions: z
        .array(
          z.object({
            version: z.int().min(1),
            path: z.string(),
            to: z.string().nullish().describe("default: its own path"),
          }),
        )
        .min(1)
        .max(maxManyPaths),
    },
    logged: { name: (name) => name, versions: counted },
    result: z.object(manyResult),
    fails: ["InvalidInput", "NotFound", "IoError", "Other"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", versions: [{ version: 2, path: "hello.txt" }] },
      result: noPaths,
    },
    run: async (call, { name, versions }) => {
      const wanted = versions.map(({ version, path, to }): WantedVersion => {
        const from = treePath(path);
        return { version, path: from, to: to == null ? from : treePath(to) };
      });
      const { items, ...options } = await openForMany(call, name, wanted, ({ to }) => to);
      const outcomes = await options.files.restoreMany(items, options);
      const done = doneOf(items, outcomes);
      const [first] = done;
      if (first !== undefined) {
        const { version, path, to } = first;
        const fields = { bucket: name, version, ...(path !== to && { from: path }) };
        auditMany(call, "file.restored", fields, { done, path: ({ to }) => to, outcomes });
      }
      return resultOf(items, outcomes, ({ path }) => path);
    },
  }),
};

async function transferMany(
  call: Services & CallContext,
  kind: "move" | "copy",
  {
    name,
    pairs,
    overwrite,
  }: {
    readonly name: string;
    readonly pairs: ReadonlyArray<{ readonly from: string; readonly to: string }>;
    readonly overwrite: boolean | null | undefined;
  },
) {
  const wanted = pairs.map(({ from, to }): PathPair => ({ from: treePath(from), to: treePath(to) }));
  const { items, files, ...options } = await openForMany(call, name, wanted, ({ from, to }) => from + to);
  const transfer = {
    ...options,
    overwrite: overwrite ?? false,
    makeParents: true,
    signal: call.disconnected,
  };
  const outcomes = await (kind === "move"
    ? files.moveMany(items, transfer)
    : files.copyMany(items, transfer));
  const done = doneOf(items, outcomes);
  const [first] = done;
  if (first !== undefined)
    auditMany(
      call,
      kind === "move" ? "file.moved" : "file.copied",
      { bucket: name, to: first.to },
      { done, path: ({ from }) => from, outcomes },
    );
  return resultOf(items, outcomes, ({ from }) => from);
}

/** `openForMany` does what `openForChange` does, and leaves out what an answer could not name. */
async function openForMany<I>(
  call: Services & CallContext,
  name: string,
  all: readonly I[],
  pathsOf: (item: I) => string,
) {
  const until = performance.now() + maxManyMs;
  const { files, conditions } = await openForChange(call, name);
  let bytes = 0;
  const tooMany = all.findIndex((item, at) => {
    bytes += 3 * Buffer.byteLength(pathsOf(item)) + maxBytesBesidePath;
    return at > 0 && bytes > call.resultBudgetBytes;
  });
  const items = tooMany < 0 ? all : all.slice(0, tooMany);
  return { files, conditions, items, isOver: () => call.disconnected.aborted || performance.now() > until };
}

function doneOf<I>(items: readonly I[], outcomes: ReadonlyArray<Outcome<unknown>>): readonly I[] {
  return items.filter((_, at) => {
    const outcome = outcomes[at];
    return outcome !== undefined && "done" in outcome;
  });
}

function resultOf<I>(
  items: readonly I[],
  outcomes: ReadonlyArray<Outcome<unknown>>,
  pathOf: (item: I) => string,
) {
  const failed = outcomes.flatMap((outcome, at) => {
    const item = items[at];
    if (!("fault" in outcome) || item === undefined) return [];
    const { kind, data, detail } = outcome.fault;
    return [{ path: pathOf(item), kind, ...(data.reason && { reason: data.reason }), why: detail }];
  });
  return { handled: outcomes.length, done: outcomes.length - failed.length, failed };
}

/** `auditMany` writes one record about all that a call has changed. */
function auditMany<C extends "file.deleted" | "file.moved" | "file.copied" | "file.restored", I>(
  { audit }: CallContext,
  code: C,
  fields: Readonly<Record<string, unknown>>,
  {
    done,
    path,
    outcomes,
  }: {
    readonly done: readonly I[];
    readonly path: (item: I) => TreePath;
    readonly outcomes: readonly unknown[];
  },
): void {
  const [first] = done;
  if (first === undefined) return;
  const failures = outcomes.length - done.length;
  const paths = done.slice(0, maxAuditedPaths).map(path);
  const folder = done.map((item) => splitPath(path(item)).folder).reduce(commonFolder);
  const all = {
    ...fields,
    path: path(first),
    ...(done.length > 1 && { count: done.length, folder, paths }),
    ...(failures > 0 && { failures }),
  };
  audit(code, all as unknown as Parameters<typeof audit<C>>[1]);
}
