import { httpDate } from "../../base/clock.ts";
import { type ContentBudget, uncountedBytes } from "../../base/memory-budget.ts";
import { type TreePath, treePath } from "../../buckets/path.ts";
import type { FileEntry, FileSnapshot, FileStats, OpenFile, TreeReader } from "../../buckets/ports.ts";
import { headersOverHttp } from "../s3/object-record.ts";
import { type Compression, type Encoding, plainOnly, suffixes } from "./compression.ts";
import { toValidators, type Validators } from "./conditions.ts";
import { mediaTypeOf } from "./media-type.ts";
import { type Body, needsContent, type Representation } from "./respond.ts";

/** Files up to this size may be read whole, so that they can be cached; larger ones are sent from the disk. */
export const maxWholeBytes = 2 * 1024 * 1024;
/** Compressing a smaller file saves less than the header costs. */
const minCompressibleBytes = 512;

/** Variant is the representation of a file that was selected for a request, and what the selection depended on. */
export interface Variant {
  readonly representation: Representation;
  /**
   * The encodings that were considered, as `acceptedEncodings` returns them; none if the file is sent plain because too many are
   * being compressed.
   */
  readonly accepted: readonly Encoding[];
  readonly compressible: boolean;
  /** The files that the variant was made from, and those that were looked for and did not exist. */
  readonly dependencies: readonly FileSnapshot[];
  /** The file whose content is the body; undefined if the server compressed it. */
  readonly source: FileSnapshot | undefined;
}

interface VariantOptions {
  readonly request: Request;
  /** The encodings that the client accepts, best first. */
  readonly encodings: readonly Encoding[];
  readonly compression: Compression;
  readonly contentBudget: ContentBudget;
}

/**
 * selectVariant opens a file plain, compressed beforehand (`x.js.br`), or compressed now. Without `options` it is always plain, and
 * from the disk unless it is small. The representation's body must be sent or released.
 */
export async function selectVariant(
  reader: TreeReader,
  entry: FileEntry,
  options?: VariantOptions,
): Promise<Variant> {
  const { value: type, compressible: isCompressible } = mediaTypeOf(entry.path);
  // An error page has none of its own.
  const givenOf = (stats: FileStats) => (options === undefined ? none : headersOverHttp(stats, type));
  const expected = givenOf(entry.stats);
  const isEncoded = "content-encoding" in expected;
  const accepted = isCompressible && !isEncoded ? (options?.encodings ?? plainOnly) : plainOnly;
  const { precompressed, dependencies } = await findPrecompressed(reader, entry, accepted);
  const path = precompressed?.path ?? entry.path;
  const file = await reader.open(path);
  const own = await snapshotOrDispose(file);
  dependencies.push(own);
  // It may have been replaced meanwhile.
  const isExpected = precompressed !== undefined || file.stats.etag === entry.stats.etag;
  const given = isExpected ? expected : givenOf(file.stats);
  const compressible = isCompressible && !("content-encoding" in given);
  const more = compressible ? { vary: "accept-encoding", ...given } : given;
  const selected = { accepted, compressible, dependencies, source: own };
  if (precompressed !== undefined) {
    dependencies.push(entry.snapshot());
    const headers = fileHeaders(file, type, { ...more, "content-encoding": precompressed.encoding });
    return { ...selected, representation: await asStored(file, headers, options) };
  }
  const [encoding] = accepted;
  const plain = () => asStored(file, fileHeaders(file, type, more), options);
  if (
    options === undefined ||
    encoding === undefined ||
    !compressible ||
    file.stats.size < minCompressibleBytes
  )
    return { ...selected, representation: await plain() };
  const representation = await compressed({ file, type, encoding, given }, options);
  if (representation !== undefined) return { ...selected, source: undefined, representation };
  return { ...selected, accepted: plainOnly, representation: await plain() };
}

const none: Readonly<Record<string, string>> = {};

/**
 * plainVariant returns an open file as it is on the disk, for a request that is not answered from the cache. Its body must be sent or
 * released. `validators` are those that the client knows, where they are not those of the store.
 */
export async function plainVariant(
  file: OpenFile,
  path: TreePath,
  request: Request,
  validators = toValidators(file.stats),
): Promise<Representation> {
  const headers = fileHeaders(file, mediaTypeOf(path).value, {});
  if (isUnneeded(file, request, validators))
    return { ...validators, headers, body: await unneeded(file, file.stats.size) };
  const isRead = request.method !== "HEAD" && file.stats.size <= uncountedBytes;
  return { ...validators, headers, body: await bodyOf(file, isRead) };
}

/** snapshotOrDispose returns the snapshot of an open file; if that fails, the file is closed. */
export async function snapshotOrDispose(file: OpenFile): Promise<FileSnapshot> {
  try {
    return await file.snapshot();
  } catch (error) {
    await file[Symbol.asyncDispose]();
    throw error;
  }
}

/** The best compressed neighbour (`x.js.br`) that is not older than the file itself, and those better ones that cannot be used. */
async function findPrecompressed(reader: TreeReader, entry: FileEntry, accepted: readonly Encoding[]) {
  const dependencies: FileSnapshot[] = [];
  for (const encoding of accepted) {
    const path = treePath(entry.path + suffixes[encoding]);
    const neighbour = await reader.find(path);
    if (neighbour?.kind === "file" && neighbour.stats.modifiedMs >= entry.stats.modifiedMs)
      return { precompressed: { path: neighbour.path, encoding }, dependencies };
    dependencies.push(neighbour?.snapshot() ?? reader.snapshotOfMissing(path));
  }
  return { precompressed: undefined, dependencies };
}

/** The bytes as they are on the disk, in memory if they may be. */
async function asStored(
  file: OpenFile,
  headers: FileHeaders,
  options: VariantOptions | undefined,
): Promise<Representation> {
  const { size } = file.stats;
  const validators = toValidators(file.stats);
  if (options !== undefined && isUnneeded(file, options.request, validators))
    return { ...validators, headers, body: await unneeded(file, file.stats.size) };
  const isRead = options === undefined ? size <= uncountedBytes : mayRead(size, options);
  return { ...validators, headers, body: await bodyOf(file, isRead) };
}

async function bodyOf(file: OpenFile, isRead: boolean): Promise<Body> {
  if (isRead) return { kind: "memory", blob: new Blob([await readAll(file)]) };
  await file.prepare?.();
  return { kind: "file", file };
}

/** Content that is on this machine is read in any case, so that it is cached for the next request. */
function isUnneeded({ isRemote }: OpenFile, request: Request, validators: Validators): boolean {
  return isRemote === true && !needsContent(request, validators);
}

async function unneeded(file: OpenFile, size?: number): Promise<Body> {
  await file[Symbol.asyncDispose]();
  return { kind: "unneeded", size };
}

/** Reading a file pays only if it is cached for the next request. */
function mayRead(bytes: number, { contentBudget }: VariantOptions): boolean {
  return bytes <= maxWholeBytes && contentBudget.tryReserve(bytes);
}

interface ToCompress {
  readonly file: OpenFile;
  readonly type: string;
  readonly encoding: Encoding;
  /** Headers that it was put with. */
  readonly given: Readonly<Record<string, string>>;
}

/** The file compressed now; undefined if too many others are being compressed, and the file is then still open. */
async function compressed(
  { file, type, encoding, given }: ToCompress,
  { compression, request }: VariantOptions,
): Promise<Representation | undefined> {
  const etag = file.stats.etag.replace(/"$/, `-${encoding}"`);
  const more = { ...given, etag, vary: "accept-encoding", "content-encoding": encoding };
  const headers = fileHeaders(file, type, more);
  const head = { ...toValidators(file.stats), etag, headers };
  if (isUnneeded(file, request, head)) return { ...head, body: await unneeded(file) };
  if (file.stats.size > maxWholeBytes) {
    await file.prepare?.();
    const stream = compression.stream(file, encoding);
    return stream && { ...head, body: { kind: "stream", stream } };
  }
  const blob = await compression.whole(file, encoding);
  return blob && { ...head, body: { kind: "memory", blob } };
}

async function readAll(file: OpenFile): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return await file.bytes();
  } finally {
    await file[Symbol.asyncDispose]();
  }
}

type FileHeaders = Record<string, string> & { readonly etag: string };

function fileHeaders({ stats }: OpenFile, type: string, more: Readonly<Record<string, string>>): FileHeaders {
  return {
    "content-type": type,
    etag: stats.etag,
    "last-modified": httpDate(stats.modifiedMs),
    "cache-control": "no-cache",
    "accept-ranges": "bytes",
    "x-content-type-options": "nosniff",
    ...more,
  };
}
