import type { Stats } from "node:fs";
import { etagOf } from "../buckets/etag.ts";
import { treePath } from "../buckets/path.ts";
import type { Look, OpenFile, Tree, TreeEntry } from "../buckets/tree.ts";
import type { CompressedStream, Compression } from "./compression.ts";
import { toValidators } from "./conditions.ts";
import { type Encoding, endings } from "./encoding.ts";
import { mediaTypeOf } from "./media-type.ts";
import type { Representation } from "./representation.ts";

/** Files up to this size are read whole; larger ones are sent from the disk. */
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

/** The encodings that a client accepts, best first, and what compresses for it. */
export interface Accepted {
  readonly encodings: readonly Encoding[];
  readonly compression: Compression;
}

/** A file plain, compressed beforehand by somebody, or compressed now; always plain without `wanted`. */
export async function findForm(tree: Tree, entry: TreeEntry, wanted?: Accepted): Promise<Found> {
  const { value: type, compressible } = mediaTypeOf(entry.path);
  const vary: Record<string, string> = compressible ? { vary: "accept-encoding" } : {};
  const accepted = compressible ? (wanted?.encodings ?? []) : [];
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
    return { ...judged, representation: await toRepresentation(file, type, etagOf(file.stats), more) };
  }
  const [encoding] = accepted;
  const plain = async () => await toRepresentation(file, type, etagOf(file.stats), vary);
  if (wanted === undefined || encoding === undefined || file.stats.size < worthCompressing)
    return { ...judged, representation: await plain() };
  const compressed = await compressedForm({ file, type, encoding }, wanted.compression);
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
  type: string,
  etag: string,
  more: Record<string, string>,
): Promise<Representation> {
  const { stats } = file;
  const head = { ...toValidators(stats), etag, headers: fileHeaders(stats, type, etag, more) };
  if (stats.size > wholeBytes) return { ...head, size: stats.size, content: { file } };
  const blob = new Blob([await readAll(file)]);
  return { ...head, size: blob.size, content: { blob } };
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
  const headers = fileHeaders(stats, type, etag, { vary: "accept-encoding", "content-encoding": encoding });
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

function fileHeaders(
  stats: Stats,
  type: string,
  etag: string,
  more: Record<string, string>,
): Record<string, string> {
  return {
    "content-type": type,
    etag,
    "last-modified": new Date(stats.mtimeMs).toUTCString(),
    "cache-control": "no-cache",
    "accept-ranges": "bytes",
    "x-content-type-options": "nosniff",
    ...more,
  };
}
