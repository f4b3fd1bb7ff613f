import type { Stats } from "node:fs";
import { Readable } from "node:stream";
import { Fault } from "../base/fault.ts";
import type { Buckets } from "../buckets/buckets.ts";
import { etagOf } from "../buckets/etag.ts";
import { childPath, folderPath, type TreePath, treePath } from "../buckets/path.ts";
import type { Bucket } from "../buckets/record.ts";
import type { OpenFile, Tree, TreeEntry } from "../buckets/tree.ts";
import { acceptedEncodings, compress, compressor, type Encoding, endings } from "./encoding.ts";
import { mediaTypeOf } from "./media-type.ts";
import { methodNotAllowed, plainText } from "./pages.ts";
import { type Representation, respond } from "./representation.ts";

export const staticMethods = "GET, HEAD, OPTIONS";

/** Files up to this size are read whole; larger ones are sent from the disk. */
const wholeBytes = 2 * 1024 * 1024;
/** Smaller ones are not worth a header. */
const worthCompressing = 512;

const corsHeaders = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "ETag, Content-Length, Content-Range",
};
const preflightHeaders = {
  ...corsHeaders,
  "access-control-allow-methods": staticMethods,
  "access-control-allow-headers": "*",
  "access-control-max-age": "86400",
};

/** One request for a file of a bucket, from its own route or from the root: `path` is the rest of the address, still encoded. */
export async function serveBucket(
  request: Request,
  bucket: Bucket,
  path: string,
  buckets: Buckets,
): Promise<Response> {
  return withCors(bucket, request, await answer(request, bucket, path, buckets));
}

/** Every answer of a bucket with `cors`, errors included. */
export function withCors(bucket: Bucket, { method }: Request, response: Response): Response {
  if (bucket.cors) {
    const headers = method === "OPTIONS" ? preflightHeaders : corsHeaders;
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  }
  return response;
}

async function answer(request: Request, bucket: Bucket, path: string, buckets: Buckets): Promise<Response> {
  if (request.method === "OPTIONS")
    return new Response(null, { status: 204, headers: { allow: staticMethods } });
  if (request.method !== "GET" && request.method !== "HEAD") return methodNotAllowed(staticMethods);
  const decoded = decodePath(path);
  if (decoded === undefined) return plainText(400, "400 Bad Request: this is no path of a file.");
  const tree = buckets.treeOf(bucket);
  try {
    const entry = await tree.find(decoded.path);
    if (entry === undefined) return await missing(request, tree);
    if (entry.kind === "folder") {
      if (!decoded.slash) return toSlashForm(request);
      return (
        (await serveFile(request, tree, childPath(entry.path, "index.html"))) ??
        (await missing(request, tree))
      );
    }
    if (decoded.slash) return await missing(request, tree);
    return (await serveFile(request, tree, entry.path)) ?? (await missing(request, tree));
  } catch (error) {
    return refusal(error);
  }
}

/** Percent-decoded once, segment by segment: an encoded slash is part of a name, and so of no name. */
function decodePath(raw: string): { readonly path: TreePath; readonly slash: boolean } | undefined {
  try {
    const segments = raw.split("/").map(decodeURIComponent);
    if (segments.some((segment) => segment.includes("/"))) return undefined;
    const text = segments.join("/");
    return text === ""
      ? { path: folderPath(""), slash: true }
      : { path: treePath(text.replace(/\/$/, "")), slash: text.endsWith("/") };
  } catch (error) {
    if (error instanceof URIError || error instanceof Fault) return undefined;
    throw error;
  }
}

export function toSlashForm(request: Request): Response {
  const { pathname, search } = new URL(request.url);
  return new Response(null, { status: 301, headers: { location: `${pathname}/${search}` } });
}

/** The bucket's own `404.html`, else a line. */
async function missing(request: Request, tree: Tree): Promise<Response> {
  const own = await tree.find(treePath("404.html"));
  if (own?.kind !== "file" || own.stats.size > wholeBytes)
    return plainText(404, "404 Not Found: there is no such file.");
  const content = await tree.read(own.path, wholeBytes);
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
  };
  if (request.method === "HEAD")
    return new Response(null, {
      status: 404,
      headers: { ...headers, "content-length": String(content.length) },
    });
  return new Response(content, { status: 404, headers });
}

function refusal(error: unknown): Response {
  if (!(error instanceof Fault)) throw error;
  if (error.kind === "NotFound") return plainText(404, "404 Not Found: there is no such file.");
  if (error.kind === "InvalidInput") return plainText(400, `400 Bad Request: ${error.detail}.`);
  return plainText(503, `503 Service Unavailable: ${error.detail}.`);
}

/** Undefined when the file is not there (any more). */
async function serveFile(request: Request, tree: Tree, path: TreePath): Promise<Response | undefined> {
  const entry = await tree.find(path);
  if (entry?.kind !== "file") return undefined;
  const type = mediaTypeOf(path);
  const ranged = request.headers.has("range");
  const accepted =
    type.compressible && !ranged ? acceptedEncodings(request.headers.get("accept-encoding")) : [];
  const neighbour = await precompressed(tree, entry, accepted);
  const file = await tree.open(neighbour?.path ?? path);
  const vary: Record<string, string> = type.compressible ? { vary: "accept-encoding" } : {};
  if (neighbour !== undefined)
    return respond(
      request,
      toRepresentation(file, type.value, { ...vary, "content-encoding": neighbour.encoding }),
    );
  const [encoding] = accepted;
  if (encoding === undefined || file.stats.size < worthCompressing)
    return respond(request, toRepresentation(file, type.value, vary));
  return compressed(request, file, type.value, encoding);
}

/** A compressed neighbour (`x.js.br`) that is not older than the file itself. */
async function precompressed(
  tree: Tree,
  entry: TreeEntry,
  accepted: readonly Encoding[],
): Promise<{ path: TreePath; encoding: Encoding } | undefined> {
  for (const encoding of accepted) {
    const neighbour = await tree.find(treePath(entry.path + endings[encoding]));
    if (neighbour?.kind === "file" && neighbour.stats.mtimeMs >= entry.stats.mtimeMs)
      return { path: neighbour.path, encoding };
  }
  return undefined;
}

function toRepresentation(file: OpenFile, type: string, more: Record<string, string>): Representation {
  const etag = etagOf(file.stats);
  return {
    ...validators(file.stats, etag),
    size: file.stats.size,
    headers: fileHeaders(file.stats, type, etag, more),
    content: { file },
  };
}

function validators(stats: Stats, etag: string) {
  return { etag, modifiedMs: Math.floor(stats.mtimeMs / 1000) * 1000 };
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

/** Compressed on the way: small files whole, so that their length is known, large ones as they are read. */
async function compressed(
  request: Request,
  file: OpenFile,
  type: string,
  encoding: Encoding,
): Promise<Response> {
  const etag = etagOf(file.stats).replace(/"$/, `-${encoding}"`);
  const headers = fileHeaders(file.stats, type, etag, {
    vary: "accept-encoding",
    "content-encoding": encoding,
  });
  if (file.stats.size <= wholeBytes) {
    const bytes = await readAll(file);
    const blob = new Blob([await compress(bytes, encoding)]);
    return respond(request, { ...validators(file.stats, etag), size: blob.size, headers, content: { blob } });
  }
  return stream(request, file, headers, encoding, etag);
}

async function readAll(file: OpenFile): Promise<Buffer> {
  try {
    return await file.handle.readFile();
  } finally {
    await file[Symbol.asyncDispose]();
  }
}

function stream(
  request: Request,
  file: OpenFile,
  headers: Record<string, string>,
  encoding: Encoding,
  etag: string,
): Response {
  const empty = respond(request, {
    ...validators(file.stats, etag),
    size: 0,
    headers,
    content: { blob: new Blob() },
  });
  if (empty.status !== 200 || request.method === "HEAD") {
    void file[Symbol.asyncDispose]();
    empty.headers.delete("content-length");
    return empty;
  }
  const source = file.handle.createReadStream({ start: 0, end: file.stats.size - 1 });
  return new Response(Readable.toWeb(source.pipe(compressor(encoding))) as unknown as ReadableStream, {
    headers,
  });
}
