import { uncountedBytes } from "../../base/memory-budget.ts";
import { etagOf } from "../../buckets/etag.ts";
import { treePath } from "../../buckets/path.ts";
import type { Look, OpenFile, Tree, TreeEntry } from "../../buckets/tree.ts";
import type { CompressedStream, Compression } from "./compression.ts";
import { toValidators } from "./conditions.ts";
import type { ContentBudget } from "./content-budget.ts";
import { type Encoding, endings } from "./encoding.ts";
import { mediaTypeOf } from "./media-type.ts";
import type { Representation } from "./respond.ts";

/** Files up to this size may be read whole, so that they can be kept in memory; larger ones are sent from the disk. */
export const wholeBytes = 2 * 1024 * 1024;
/** Smaller ones are not worth a header. */
const worthCompressing = 512;

/** The form of a file that suits a request. */
export interface Found {
  readonly representation: Representation;
  /** The encodings that were taken into account; none for a file that goes out plain because too many are being compressed. */
  readonly accepted: readonly Encoding[];
  readonly compressible: boolean;
  /** What the form was made from, and what was looked for in vain. */
  readonly guards: readonly Look[];
  /** Too large to be compressed beforehand. */
  readonly stream?: CompressedStream;
}

/** How a file may be brought into memory for a client. */
export interface FormOptions {
  /** Those that the client accepts, best first. */
  readonly encodings: readonly Encoding[];
  readonly compression: Compression;
  readonly contentBudget: ContentBudget;
}

/** A file plain, compressed beforehand by somebody, or compressed now; always plain, and a large one from the disk, without `options`. */
export async function findForm(tree: Tree, entry: TreeEntry, options?: FormOptions): Promise<Found> {
  const { value: type, compressible } = mediaTypeOf(entry.path);
  const vary: Record<string, string> = compressible ? { vary: "accept-encoding" } : {};
  const accepted = compressible ? (options?.encodings ?? []) : [];
  const { neighbour, looked } = await precompressed(tree, entry, accepted);
  const path = neighbour?.path ?? entry.path;
  const file = await tree.open(path);
  const own = await tree.lookOf(path, file).catch(async (error: unknown) => {
    await file[Symbol.asyncDispose]();
    throw error;
  });
  const guards: Look[] = [...looked, own];
  const judged = { accepted, compressible, guards };
  if (neighbour !== undefined) {
    guards.push({ path: entry.path, stats: entry.stats });
    const more = { ...vary, "content-encoding": neighbour.encoding };
    return {
      ...judged,
      representation: await toRepresentation(file, fileHeaders(file, type, more), options),
    };
  }
  const [encoding] = accepted;
  const plain = async () => await toRepresentation(file, fileHeaders(file, type, vary), options);
  if (options === undefined || encoding === undefined || file.stats.size < worthCompressing)
    return { ...judged, representation: await plain() };
  const compressed = await compressedForm({ file, type, encoding }, options.compression);
  if (compressed !== undefined) return { ...judged, ...compressed };
  return { ...judged, accepted: [], representation: await plain() };
}

/** A compressed neighbour (`x.js.br`) that is not older than the file itself, and those that were not there. */
async function precompressed(tree: Tree, entry: TreeEntry, accepted: readonly Encoding[]) {
  const looked: Look[] = [];
  for (const encoding of accepted) {
    const path = treePath(entry.path + endings[encoding]);
    const neighbour = await tree.find(path);
    if (neighbour?.kind === "file" && neighbour.stats.mtimeMs >= entry.stats.mtimeMs) {
      return { neighbour: { path: neighbour.path, encoding }, looked };
    }
    looked.push({ path, stats: neighbour?.stats });
  }
  return { neighbour: undefined, looked };
}

async function toRepresentation(
  file: OpenFile,
  headers: FileHeaders,
  options: FormOptions | undefined,
): Promise<Representation> {
  const { stats } = file;
  const head = { ...toValidators(stats), etag: headers.etag, headers };
  const isRead = options === undefined ? stats.size <= uncountedBytes : mayRead(stats.size, options);
  if (!isRead) return { ...head, size: stats.size, content: { file } };
  const blob = new Blob([await readAll(file)]);
  return { ...head, size: blob.size, content: { blob } };
}

/** Reading a file is of use only if it is kept for the next request. */
function mayRead(bytes: number, { contentBudget }: FormOptions): boolean {
  return bytes <= wholeBytes && contentBudget.take(bytes);
}

interface ToCompress {
  readonly file: OpenFile;
  readonly type: string;
  readonly encoding: Encoding;
}

/** The compressed form; undefined when too many are being made, and the file is still open. */
async function compressedForm(
  { file, type, encoding }: ToCompress,
  compression: Compression,
): Promise<Pick<Found, "representation" | "stream"> | undefined> {
  const { stats } = file;
  const etag = etagOf(stats).replace(/"$/, `-${encoding}"`);
  const headers = fileHeaders(file, type, { etag, vary: "accept-encoding", "content-encoding": encoding });
  const head = { ...toValidators(stats), etag, headers };
  if (stats.size > wholeBytes) {
    const stream = compression.stream(file, encoding);
    return stream && { representation: { ...head, size: 0, content: { blob: new Blob() } }, stream };
  }
  const blob = await compression.whole(file, encoding);
  return blob && { representation: { ...head, size: blob.size, content: { blob } } };
}

async function readAll(file: OpenFile): Promise<Buffer> {
  try {
    return await file.handle.readFile();
  } finally {
    await file[Symbol.asyncDispose]();
  }
}

type FileHeaders = Record<string, string> & { readonly etag: string };

function fileHeaders({ stats }: OpenFile, type: string, more: Record<string, string>): FileHeaders {
  return {
    "content-type": type,
    etag: etagOf(stats),
    "last-modified": new Date(stats.mtimeMs).toUTCString(),
    "cache-control": "no-cache",
    "accept-ranges": "bytes",
    "x-content-type-options": "nosniff",
    ...more,
  };
}
