import { wholeNumber } from "../../base/numbers.ts";
import { byCodePoints } from "../../base/turns.ts";
import type { BucketFiles } from "../../buckets/bucket-files.ts";
import { parseTreePath, type TreePath, treeRoot } from "../../buckets/path.ts";
import type { FileEntry, FileReader } from "../../buckets/ports.ts";
import { S3Error } from "./errors.ts";
import { readObjects } from "./object-record.ts";
import type { S3Call } from "./s3-call.ts";
import { percentEncoded } from "./signature.ts";
import { element, xmlAnswer } from "./xml.ts";

const maxKeys = 1000;
/** Keys of which one query finds those that are folders. */
const itemsAtOnce = 256;
/** No key sorts behind a prefix that is followed by this character. */
const lastCharacter = "\u{10ffff}";

/** ListedKey is a key, or with a delimiter the common prefix of keys. */
type ListedKey =
  | { readonly kind: "object"; readonly key: string; readonly entry: FileEntry }
  | { readonly kind: "prefix"; readonly key: string };

interface KeyQuery {
  readonly prefix: string;
  /** Empty for none. */
  readonly delimiter: string;
  /** The key or common prefix after which the list begins. */
  readonly after: string;
  /** Fires when nobody waits for the keys any more. */
  readonly signal: AbortSignal;
}

/** listObjects answers both versions of the list: the first names where to go on by a key, the second by a token. */
export async function listObjects(call: S3Call): Promise<Response> {
  const { query, files, bucket } = call;
  const isSecond = query.get("list-type") === "2";
  const token = query.get("continuation-token");
  const start = isSecond ? (query.get("start-after") ?? "") : (query.get("marker") ?? "");
  const prefix = query.get("prefix") ?? "";
  const delimiter = query.get("delimiter") ?? "";
  const max = limitIn(query.get("max-keys"));
  const encode = encoderIn(query.get("encoding-type"));
  const after = token === undefined || !isSecond ? start : keyInToken(token);
  const { items, isTruncated } = await page(
    call,
    { prefix, delimiter, after, signal: call.request.signal },
    max,
  );
  const entries = items.flatMap((item) => (item.kind === "object" ? [item.entry] : []));
  const objects = await readObjects(files, entries);
  const owner = !isSecond || query.get("fetch-owner") === "true";
  const end = `<StorageClass>STANDARD</StorageClass>${owner ? `<Owner>${element("ID", bucket.name)}</Owner>` : ""}</Contents>`;
  let contents = "";
  for (const item of items) {
    if (item.kind === "prefix") {
      contents += `<CommonPrefixes>${element("Prefix", encode(item.key))}</CommonPrefixes>`;
      continue;
    }
    const { key, entry } = item;
    const { etag = "", content } = objects.get(entry.path) ?? {};
    const algorithm = content?.checksums && Object.keys(content.checksums)[0];
    const modified = toTime(entry.stats.modifiedMs);
    const size = entry.kind === "folder" ? 0 : entry.stats.size;
    contents += `<Contents>${element("Key", encode(key))}<LastModified>${modified}</LastModified><ETag>&quot;${etag.slice(1, -1)}&quot;</ETag>${
      algorithm === undefined ? "" : element("ChecksumAlgorithm", algorithm.toUpperCase())
    }<Size>${size}</Size>${end}`;
  }
  const last = isTruncated ? (items.at(-1)?.key ?? "") : "";
  const place = isSecond
    ? element("KeyCount", items.length) +
      (token === undefined ? "" : element("ContinuationToken", token)) +
      (start === "" ? "" : element("StartAfter", encode(start))) +
      (isTruncated ? element("NextContinuationToken", toToken(last)) : "")
    : element("Marker", encode(start)) + (isTruncated ? element("NextMarker", encode(last)) : "");
  return xmlAnswer(
    "ListBucketResult",
    element("Name", bucket.name) +
      element("Prefix", encode(prefix)) +
      (delimiter === "" ? "" : element("Delimiter", encode(delimiter))) +
      element("MaxKeys", max) +
      (query.has("encoding-type") ? element("EncodingType", "url") : "") +
      element("IsTruncated", isTruncated) +
      place +
      contents,
  );
}

/** The second that was written last: files are mostly put many in a second. */
let lastSecond = { seconds: 0, text: "1970-01-01T00:00:00." };

function toTime(ms: number): string {
  const whole = Math.trunc(ms);
  const seconds = Math.floor(whole / 1000);
  if (seconds !== lastSecond.seconds)
    lastSecond = { seconds, text: new Date(seconds * 1000).toISOString().slice(0, -4) };
  return `${lastSecond.text}${String(whole - seconds * 1000).padStart(3, "0")}Z`;
}

export function limitIn(text: string | undefined): number {
  if (text === undefined || text === "") return maxKeys;
  const limit = wholeNumber(text);
  if (limit === undefined) throw new S3Error("InvalidArgument", "the largest number of keys is not a number");
  return Math.min(limit, maxKeys);
}

/** encoderIn returns how keys are written: XML cannot contain all characters of a key. */
export function encoderIn(type: string | undefined): (key: string) => string {
  if (type === undefined || type === "") return (key) => key;
  if (type !== "url") throw new S3Error("InvalidArgument", "encoding-type must be url");
  return (key) => key.split("/").map(percentEncoded).join("/");
}

/** A token says after which key the next page begins, so that it is good whatever was changed meanwhile. */
function toToken(key: string): string {
  return Buffer.from(key).toString("base64url");
}

function keyInToken(token: string): string {
  if (!/^[\w-]+$/.test(token)) throw new S3Error("InvalidArgument", "the continuation-token is not one");
  return Buffer.from(token, "base64url").toString("utf8");
}

async function page(
  { files }: S3Call,
  query: KeyQuery,
  max: number,
): Promise<{ readonly items: ListedKey[]; readonly isTruncated: boolean }> {
  const items: ListedKey[] = [];
  if (max === 0) return { items, isTruncated: false };
  let next: ListedKey[] = [];
  const take = async () => {
    items.push(...(await withoutPlainFolders(files, next)));
    next = [];
  };
  for await (const batch of keys(files.reader, query))
    for (const item of batch) {
      next.push(item);
      if (next.length >= itemsAtOnce || next.length > max - items.length) await take();
      if (items.length > max) return { items: items.slice(0, max), isTruncated: true };
    }
  await take();
  return { items: items.slice(0, max), isTruncated: items.length > max };
}

/** Most folders are not keys. One query tells for many, or a tree of folders would take one each. */
async function withoutPlainFolders(
  files: BucketFiles,
  items: readonly ListedKey[],
): Promise<readonly ListedKey[]> {
  const folders = items.flatMap((item) =>
    item.kind === "object" && item.entry.kind === "folder" ? [item.entry] : [],
  );
  if (folders.length === 0) return items;
  const objects = await readObjects(files, folders);
  return items.filter(
    (item) =>
      item.kind === "prefix" || item.entry.kind === "file" || objects.get(item.entry.path)?.marker === true,
  );
}

/**
 * keys yields the keys of a bucket in the order of their bytes, in batches, reading little more of it than what is asked for. Every folder is
 * yielded as an object with a slash at its end; most are not keys.
 */
export async function* keys(reader: FileReader, query: KeyQuery): AsyncGenerator<ListedKey[]> {
  const { prefix, delimiter, after, signal } = query;
  if (delimiter === "" || delimiter === "/")
    return yield* keysBelow(reader, { prefix, isFlat: delimiter === "/", place: { after }, signal });
  // Behind all keys with the last common prefix. A page may also begin with the object whose key is the prefix itself.
  const place: Position = { after };
  const isCommon = after.length > prefix.length && after.endsWith(delimiter);
  if (isCommon) place.after += lastCharacter;
  for await (const batch of keysBelow(reader, { prefix, isFlat: false, place, signal })) {
    const found: ListedKey[] = [];
    for (const item of batch) {
      // The batch was read before the place moved on.
      if (byCodePoints(item.key, place.after) <= 0) continue;
      const at = item.key.indexOf(delimiter, prefix.length);
      if (at === -1) {
        found.push(item);
        continue;
      }
      const common = item.key.slice(0, at + delimiter.length);
      place.after = common + lastCharacter;
      found.push({ kind: "prefix", key: common });
    }
    if (found.length > 0) yield found;
  }
}

/** Position is where a list has come to. It moves on when the keys of a common prefix are left out: their folders are not read. */
interface Position {
  after: string;
}

interface TreeQuery {
  readonly prefix: string;
  /** Whether folders are common prefixes. */
  readonly isFlat: boolean;
  readonly place: Position;
  readonly signal: AbortSignal;
}

async function* keysBelow(
  reader: FileReader,
  { prefix, isFlat, place, signal }: TreeQuery,
): AsyncGenerator<ListedKey[]> {
  const base = prefix.slice(0, prefix.lastIndexOf("/") + 1);
  const folder = parseTreePath(base.slice(0, -1));
  if (folder === undefined || (base !== "" && folder === treeRoot)) return;
  const entry = await reader.find(folder);
  if (entry?.kind !== "folder") return;
  if (base !== "" && base === prefix && byCodePoints(base, place.after) > 0)
    yield [{ kind: "object", key: base, entry }];
  yield* inFolder(reader, { folder, base, place, begins: prefix.slice(base.length), isFlat, signal });
}

interface FolderQuery {
  readonly folder: TreePath;
  /** What its keys begin with: its path and a slash. */
  readonly base: string;
  readonly place: Position;
  /** What names in it begin with. */
  readonly begins: string;
  readonly isFlat: boolean;
  readonly signal: AbortSignal;
}

/**
 * A tree sorts a folder `a` before `a-b`, but its keys begin with `a/` and are behind it: a folder waits until all names are read that could
 * be between the two. These begin with its name, so that few wait at a time.
 */
async function* inFolder(reader: FileReader, query: FolderQuery): AsyncGenerator<ListedKey[]> {
  const { folder, base, place, begins, isFlat, signal } = query;
  const { after } = place;
  if (!after.startsWith(base) && byCodePoints(after, base) > 0) return;
  const [reached = ""] = after.startsWith(base) ? after.slice(base.length).split("/", 1) : [];
  const from = byCodePoints(reached, begins) > 0 ? reached : begins;
  const waiting: Array<{ readonly name: string; readonly entry: FileEntry }> = [];
  let batch: ListedKey[] = [];
  const add = (name: string, entry: FileEntry) => {
    const key = base + name;
    // `a!` is behind the name `a`, but not behind the key `a/b`.
    if (entry.kind === "file") {
      if (byCodePoints(key, place.after) > 0) batch.push({ kind: "object", key, entry });
      return;
    }
    const at = waiting.findIndex((other) => byCodePoints(other.name, `${name}/`) > 0);
    waiting.splice(at === -1 ? waiting.length : at, 0, { name: `${name}/`, entry });
  };
  const isReady = (name?: string) =>
    waiting[0] !== undefined && (name === undefined || byCodePoints(waiting[0].name, name) <= 0);
  async function* ready(name?: string): AsyncGenerator<ListedKey[]> {
    while (isReady(name)) {
      const first = waiting.shift() as (typeof waiting)[number];
      const key = base + first.name;
      const isBehind = byCodePoints(key, place.after) > 0;
      if (isFlat) {
        // A page that ended within the prefix, by the key of another list, goes on with the prefix.
        if (isBehind || (place.after !== key && place.after.startsWith(key)))
          batch.push({ kind: "prefix", key });
        continue;
      }
      if (isBehind) batch.push({ kind: "object", key, entry: first.entry });
      // Whoever reads the batch may move the place beyond this folder.
      yield taken();
      yield* inFolder(reader, { folder: first.entry.path, base: key, place, begins: "", isFlat, signal });
    }
  }
  const taken = () => {
    const whole = batch;
    batch = [];
    return whole;
  };
  for (const name of namesBefore(from)) {
    const path = parseTreePath(base + name);
    const entry = name.startsWith(begins) && path !== undefined ? await reader.find(path) : undefined;
    if (entry !== undefined) add(name, entry);
  }
  for await (const entries of reader.entriesAfter(folder, from)) {
    // Nobody reads the rest of the list of a client that has left.
    signal.throwIfAborted();
    for (const entry of entries) {
      const name = entry.path.slice(entry.path.lastIndexOf("/") + 1);
      if (!name.startsWith(begins)) {
        yield* ready();
        return yield taken();
      }
      if (isReady(name)) yield* ready(name);
      add(name, entry);
    }
    if (batch.length > 0) yield taken();
  }
  yield* ready();
  yield taken();
}

/** The name itself, and those before it whose folders have keys behind it: `a` has `a/b`, which is behind `a-b`. */
function namesBefore(name: string): string[] {
  const slash = "/".charCodeAt(0);
  return Array.from({ length: name.length }, (_, at) => at + 1)
    .filter((length) => length === name.length || name.charCodeAt(length) < slash)
    .map((length) => name.slice(0, length));
}
