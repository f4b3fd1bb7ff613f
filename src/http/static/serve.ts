import { Fault } from "../../base/fault.ts";
import type { Buckets } from "../../buckets/buckets.ts";
import { isFresh } from "../../buckets/etag.ts";
import { childPath, folderPath, type TreePath, treePath } from "../../buckets/path.ts";
import type { Bucket } from "../../buckets/record.ts";
import type { Tree } from "../../buckets/tree.ts";
import type { CompressedStream, Compression } from "../content/compression.ts";
import type { ContentBudget } from "../content/content-budget.ts";
import { acceptedEncodings, type Encoding } from "../content/encoding.ts";
import { methodNotAllowed, plainText, serviceUnavailable } from "../content/plain.ts";
import { isGuarded, isPlainGet, respond, respondWhole, unchangedHeaders } from "../content/respond.ts";
import { type Found, findForm, wholeBytes } from "../content/variants.ts";
import { hotAddress } from "./cache-key.ts";
import type { HotFiles } from "./memory-cache.ts";

export const staticMethods = "GET, HEAD, OPTIONS";

export const corsHeaders = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "ETag, Content-Length, Content-Range",
};
const preflightHeaders = {
  ...corsHeaders,
  "access-control-allow-methods": staticMethods,
  "access-control-allow-headers": "*",
  "access-control-max-age": "86400",
};

/** A request for a file, however it came to its bucket. */
export interface StaticRequest {
  readonly request: Request;
  /** The part of the path above the bucket's files, as it was sent. */
  readonly base: string;
  readonly bucket: Bucket;
  /** The path below the bucket, still encoded. */
  readonly rest: string;
}

export interface StaticDoor {
  readonly buckets: Buckets;
  readonly hot: HotFiles;
  readonly compression: Compression;
  readonly contentBudget: ContentBudget;
}

/** The answer from memory for a path that holds a `%`. `base` is its part above the bucket's files. */
export function serveDecoded(
  request: Request,
  { base, path }: { readonly base: string; readonly path: string },
  { buckets, hot }: Pick<StaticDoor, "buckets" | "hot">,
): Response | undefined {
  const decoded = decodePath(path.slice(base.length));
  return decoded && serveHot(request, hotAddress(base, decoded.text), buckets, hot);
}

/** The answer that is kept in memory under this address, where there is one that still holds. A plain path is its own address. */
export function serveHot(
  request: Request,
  address: string,
  buckets: Buckets,
  hot: HotFiles,
): Response | undefined {
  const file = hot.file(address);
  if (file === undefined || (request.method !== "GET" && request.method !== "HEAD")) return undefined;
  const { headers } = request;
  const accepted = file.compressible ? encodingsFor(headers).join() : "";
  const form = hot.form(file, accepted, buckets);
  if (form === undefined) return undefined;
  const known = headers.get("if-none-match");
  if (known === form.representation.etag && !isGuarded(headers)) return new Response(null, form.unchanged);
  return known === null && isPlainGet(request)
    ? new Response(form.blob, form.whole)
    : respond(request, form.representation);
}

/** A range is one of the plain bytes, which a client can put together with others. */
function encodingsFor(headers: Headers): readonly Encoding[] {
  return headers.has("range") ? [] : acceptedEncodings(headers.get("accept-encoding"));
}

/** One request for a file of a bucket, from its own route or from the root. */
export async function serveBucket(asked: StaticRequest, door: StaticDoor): Promise<Response> {
  return withCors(asked.bucket, asked.request, await answer(asked, door));
}

/** Every answer of a bucket with `cors`, errors included. */
export function withCors(bucket: Bucket, { method }: Request, response: Response): Response {
  if (bucket.cors) {
    const headers = method === "OPTIONS" ? preflightHeaders : corsHeaders;
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  }
  return response;
}

async function answer(asked: StaticRequest, door: StaticDoor): Promise<Response> {
  const { request, base, bucket, rest } = asked;
  if (request.method === "OPTIONS")
    return new Response(null, { status: 204, headers: { allow: staticMethods } });
  if (request.method !== "GET" && request.method !== "HEAD") return methodNotAllowed(staticMethods);
  const decoded = decodePath(rest);
  if (decoded === undefined) return plainText(400, "400 Bad Request: this is no path of a file.");
  const tree = door.buckets.filesOf(bucket).tree;
  try {
    const entry = await tree.find(decoded.path);
    if (entry?.kind === "folder" && !decoded.slash) return toSlashForm(request);
    if (entry === undefined || (entry.kind === "file" && decoded.slash)) return await missing(request, tree);
    const file = entry.kind === "folder" ? await tree.find(childPath(entry.path, "index.html")) : entry;
    if (file?.kind !== "file") return await missing(request, tree);
    // Under the name on the disk, which may have another Unicode form than the one that was sent.
    const address = hotAddress(base, entry.path + (decoded.slash && entry.path !== "" ? "/" : ""));
    const kept = entry.path === decoded.path ? undefined : serveHot(request, address, door.buckets, door.hot);
    if (kept !== undefined) return kept;
    const { compression, contentBudget } = door;
    const encodings = encodingsFor(request.headers);
    const found = await findForm(tree, file, { encodings, compression, contentBudget });
    if (found.stream !== undefined) return streamed(request, found, found.stream);
    remember({ address, bucket, tree, found }, door.hot);
    return respond(request, found.representation);
  } catch (error) {
    return refusal(error);
  }
}

interface Remembered {
  readonly address: string;
  readonly bucket: Bucket;
  readonly tree: Tree;
  readonly found: Found;
}

/** What is in memory now stays there for the next, unless the file is so new that a change of it could go unseen. */
function remember({ address, bucket, tree, found }: Remembered, hot: HotFiles): void {
  const { content } = found.representation;
  if (!("blob" in content)) return;
  if (found.guards.some(({ stats }) => stats !== undefined && isFresh(stats))) return;
  const headers = { ...found.representation.headers, ...(bucket.cors ? corsHeaders : {}) };
  const representation = { ...found.representation, headers };
  hot.keep({ address, bucket, tree, compressible: found.compressible }, found.accepted.join(), {
    representation,
    blob: content.blob,
    whole: { headers: new Headers(headers) },
    unchanged: { status: 304, headers: new Headers(unchangedHeaders(headers)) },
    guards: found.guards,
  });
}

interface DecodedPath {
  readonly path: TreePath;
  readonly slash: boolean;
  /** The path with its slash. */
  readonly text: string;
}

/** Percent-decoded once, segment by segment: an encoded slash is part of a name, and so of no name. */
function decodePath(raw: string): DecodedPath | undefined {
  try {
    const segments = raw.split("/").map(decodeURIComponent);
    if (segments.some((segment) => segment.includes("/"))) return undefined;
    const text = segments.join("/");
    if (text === "") return { path: folderPath(""), slash: true, text };
    return { path: treePath(text.replace(/\/$/, "")), slash: text.endsWith("/"), text };
  } catch (error) {
    if (error instanceof URIError || error instanceof Fault) return undefined;
    throw error;
  }
}

export function toSlashForm({ url }: Request): Response {
  // Without a Host header, the address is a path alone.
  const { pathname, search } = new URL(url, "http://localhost");
  return new Response(null, { status: 301, headers: { location: `${pathname}/${search}` } });
}

/** The same whether it is the bucket or the file that does not exist. */
export function noSuchFile(): Response {
  return plainText(404, "404 Not Found: there is no such file.");
}

/** The bucket's own `404.html`, else a line. */
async function missing(request: Request, tree: Tree): Promise<Response> {
  const own = await tree.find(treePath("404.html"));
  if (own?.kind !== "file" || own.stats.size > wholeBytes) return noSuchFile();
  const { representation } = await findForm(tree, own);
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
  };
  return respondWhole(request, { ...representation, headers }, 404);
}

function refusal(error: unknown): Response {
  if (!(error instanceof Fault)) throw error;
  if (error.kind === "NotFound") return noSuchFile();
  if (error.kind === "InvalidInput") return plainText(400, `400 Bad Request: ${error.detail}.`);
  return serviceUnavailable(error.detail);
}

/** A large file, compressed while it is read: its length is not known beforehand. */
function streamed(request: Request, { representation }: Found, stream: CompressedStream): Response {
  const judged = respond(request, representation);
  if (judged.status !== 200 || request.method === "HEAD") {
    stream.cancel();
    judged.headers.delete("content-length");
    return judged;
  }
  return new Response(stream.start(), { headers: representation.headers });
}
