// This folder is plain HTTP: it answers GET, HEAD and OPTIONS for the files of buckets. This file finds the bucket of
// an address or of a host name (address.ts, which also reads the path of a URL), and shows the placeholder at `/` while
// no bucket is the root; access.ts checks the caller of a private one. serve.ts answers OPTIONS, and GET and HEAD from
// memory-cache.ts (which makes the simple 200 and 304 itself) or from the file by the rules of `_redirects`, with the
// pages for what does not exist or fails. site-headers.ts adds the headers of `_headers` and those of CORS.

import type { BucketKey } from "../../buckets/bucket-cache.ts";
import type { Buckets } from "../../buckets/buckets.ts";
import type { Bucket, BucketState } from "../../buckets/record.ts";
import { type Language, languageOf, refusalPage, serverPage } from "../content/page.ts";
import { allowedMethods, notFound } from "../content/plain.ts";
import { type ArrivedRequest, answerRequest, type PipelineDeps, type Protocol } from "../pipeline.ts";
import { hasPreviewCookie } from "../preview/preview-cookie.ts";
import { atRootOf, refusePreviewWorker, rootPreview, withoutPreview } from "../preview/shown-deploy.ts";
import { isRootWorker, isWorkerScript, refuseWorker } from "../request/browser-request.ts";
import { hostNameOf } from "../request/host-name.ts";
import { readerRefusal, requireReader, withPrivacy } from "./access.ts";
import { decodePath, isOtherHost, misdirected, ownerOf } from "./address.ts";
import { cacheKey, type MemoryCache, wantsPresentState } from "./memory-cache.ts";
import { noSuchFile, type StaticRequest, serveBucket } from "./serve.ts";
import { staticMethods, withCors } from "./site-headers.ts";

export const staticPrefix = "/node/static/";

/** serveStatic answers for a file of a bucket below `/node/static/`: `{name}`, `{name}/` and `{name}/{path}`. */
export function serveStatic(arrived: ArrivedRequest, deps: PipelineDeps): Response | Promise<Response> {
  const { request, path } = arrived;
  const { cache } = deps.static;
  const { base, name } = bucketIn(path);
  const owner = ownerOf(request, cache.hosts);
  const isElsewhere = owner !== undefined && owner !== name;
  const key = keyOf(owner === undefined ? base : hostBase(name), path.slice(base.length));
  const cached = isElsewhere || base === "" ? undefined : fromMemory(request, key, cache);
  return cached ?? answerRequest(atItsRoute, arrived, deps);
}

/** The name of the bucket in a path below `/node/static/`, and the part above its files; empty without a slash behind the name. */
function bucketIn(path: string): { readonly base: string; readonly name: string } {
  const base = path.slice(0, path.indexOf("/", staticPrefix.length) + 1);
  const name = base === "" ? path.slice(staticPrefix.length) : base.slice(staticPrefix.length, -1);
  return { base, name };
}

/**
 * serveRoot answers for every path without a route of its own: the bucket of the host name, else the one that is the HTTP root,
 * else the placeholder page at `/`.
 */
export function serveRoot(arrived: ArrivedRequest, deps: PipelineDeps): Response | Promise<Response> {
  const { request, path } = arrived;
  const { cache } = deps.static;
  const isWorker = isRootWorker(request, path);
  const owner = ownerOf(request, cache.hosts);
  const key = keyOf(owner === undefined ? "/" : hostBase(owner), path.slice(1));
  const mayPreview = hasPreviewCookie(request) && (request.method === "GET" || request.method === "HEAD");
  const cached = isWorker || mayPreview ? undefined : fromMemory(request, key, cache, path);
  return cached ?? answerRequest(mayPreview ? previewAtRoot : atRoot, arrived, deps);
}

/** fromMemory answers a GET or HEAD on its arrival. `rootPath` is its path at the root of the host. */
function fromMemory(
  request: Request,
  key: string,
  cache: MemoryCache,
  rootPath?: string,
): Response | undefined {
  if (request.method !== "GET" && request.method !== "HEAD") return undefined;
  const entry = cache.get(key);
  const response = cache.answer(request, entry, "tick");
  if (response === undefined) cache.missed();
  else if (entry !== undefined && request.method === "GET") cache.remember(request, entry, rootPath);
  return response;
}

/** The key of a path as it was sent. A path that cannot be decoded has no file, and nothing is cached under it. */
function keyOf(keyBase: string, rest: string): string {
  const decoded = rest.includes("%") ? decodePath(rest) : undefined;
  return decoded === undefined ? keyBase + rest : cacheKey(keyBase, decoded.text);
}

/**
 * hostBase returns the beginning of the keys of a bucket's files at its own host names, where some headers differ. No path
 * contains NUL.
 */
function hostBase(name: string): string {
  return `\0host\0${name}/`;
}

/** What the routes of buckets share: who may read, and what every response of a bucket has, errors included. */
const bucketFiles = {
  name: "static",
  takesBodies: false,
  pages: "file",
  answer: ({ deps }, target) => serveBucket(target, target.isPreview ? deps.preview : deps.static),
  toResponse: (error, { request, target }) => readerRefusal(error, request, target),
  finish(response, request, target) {
    if (target !== undefined) withCors(target.bucket, request, withPrivacy(target, response));
  },
} satisfies Omit<Protocol<StaticRequest, StaticRequest>, "who">;

/** A bucket below `/node/static/`. */
const atItsRoute: Protocol<StaticRequest, StaticRequest> = {
  ...bucketFiles,
  async who(received) {
    const { request, path } = received;
    const { buckets } = received.services;
    const { base, name } = bucketIn(path);
    const { bucket, freshState } = await recordFor(request, name, buckets);
    const { hosts } = buckets.records;
    if (isOtherHost(request, name, hosts)) return misdirected();
    if (bucket === undefined || !bucket.enable)
      return request.method === "OPTIONS" ? allowedMethods(staticMethods) : noSuchFile();
    const isOwnHost = ownerOf(request, hosts) === name;
    const rest = path.slice(base.length);
    const keyBase = isOwnHost ? hostBase(name) : base;
    received.target = { request, base, keyBase, rest, bucket, isOwnHost, buckets, freshState };
    await requireReader(received, received.target);
    return received.target;
  },
};

/** The bucket at the root of the host that the request was sent to, or the placeholder. */
const atRoot: Protocol<StaticRequest, StaticRequest> = {
  ...bucketFiles,
  async who(received) {
    const { request, path, deps } = received;
    const { buckets } = received.services;
    const { bucket, freshState, isOwnHost } = await rootRecordFor(request, buckets);
    const hasConsole = deps.console.isOn();
    if (!bucket?.enable) {
      if (isOwnHost) return noSuchFile();
      return path === "/" ? placeholderPage(request, hasConsole) : noPage(request, path, hasConsole);
    }
    // At the HTTP root the worker would control the console too, which is not at a host name of a bucket.
    if (isRootWorker(request, path) && !isOwnHost && hasConsole) return refuseWorker();
    const keyBase = isOwnHost ? hostBase(bucket.name) : "/";
    const rest = path.slice(1);
    received.target = { request, base: "/", keyBase, rest, bucket, isOwnHost, buckets, freshState };
    await requireReader(received, received.target);
    return received.target;
  },
};

/** The same for a request that may carry the cookie of a preview: what the cookie shows, else the published files. */
const previewAtRoot: Protocol<StaticRequest, StaticRequest> = {
  ...atRoot,
  async who(received) {
    const { request, path, lease } = received;
    const { bucket, isOwnHost } = await rootRecordFor(request, received.services.buckets);
    received.target = bucket && (await rootPreview({ request, path, bucket, isOwnHost }, lease));
    if (received.target === undefined) return atRoot.who(received);
    return isWorkerScript(request) ? refusePreviewWorker() : received.target;
  },
  finish(response, request, target) {
    if (target?.isPreview) withCors(target.bucket, request, atRootOf(target.bucket, response));
    else {
      bucketFiles.finish(response, request, target);
      // While the link cannot be checked, the preview goes on.
      if (response.status < 500) withoutPreview(request, response);
    }
  },
};

/** recordFor returns the record that answers a request: a cached one, or one that was read for this request. */
async function recordFor(
  request: Request,
  key: BucketKey,
  { records }: Buckets,
): Promise<{ readonly bucket: Bucket | undefined; readonly freshState?: BucketState | undefined }> {
  if (!records.mayLag || !wantsPresentState(request.headers))
    return { bucket: await records.loadOrStale(key) };
  const freshState = await records.read(key);
  return { bucket: freshState?.record, freshState };
}

/** rootRecordFor is `recordFor` for the root of the host that the request was sent to. */
async function rootRecordFor(request: Request, { records }: Buckets) {
  const host = hostNameOf(request);
  const freshState =
    records.mayLag && wantsPresentState(request.headers) ? await records.readRoot(host) : undefined;
  const bucket = freshState === undefined ? await records.rootOrStale(host) : freshState.record;
  return { bucket, freshState, isOwnHost: bucket?.hosts.includes(host) ?? false };
}

interface PlaceholderTexts {
  readonly title: string;
  readonly calls: string;
  readonly console: (link: (text: string) => string) => string;
}

const placeholders: Readonly<Record<Language, PlaceholderTexts>> = {
  en: {
    title: "Node Server Is Running!",
    calls:
      "JSON-RPC 2.0 is served at <code>/jsonrpc</code>, by POST and over WebSocket; <code>rpc.discover</code> describes every method.",
    console: (link) => `The ${link("web console")} shows and does all of it in a browser.`,
  },
  zh: {
    title: "Node Server 正在运行！",
    calls:
      "JSON-RPC 2.0 的地址是 <code>/jsonrpc</code>，可用 POST 和 WebSocket；<code>rpc.discover</code> 说明每个方法。",
    console: (link) => `在${link("网页控制台")}里，可以用浏览器完成这一切。`,
  },
};

/** The link is relative, so that it is right behind a proxy that adds a prefix. */
function linkToConsole(path: string) {
  const top = "../".repeat(Math.max(path.split("/").length - 2, 0));
  return (text: string) => `<a href="${top}node/console/">${text}</a>`;
}

/** placeholderPage is shown at `/` while no bucket is the HTTP root. */
function placeholderPage(request: Request, hasConsole: boolean): Response {
  const { title, calls, console } = placeholders[languageOf(request)];
  const more = hasConsole ? `<p>${console(linkToConsole("/"))}</p>\n` : "";
  return serverPage(request, { title, body: `<p>${calls}</p>\n${more}` });
}

/** noPage answers where nothing is served. A person is shown the way to the console. */
function noPage(request: Request, path: string, hasConsole: boolean): Response {
  const text = languageOf(request) === "zh" ? "打开网页控制台" : "Open the web console";
  const more = hasConsole ? `<p>${linkToConsole(path)(text)}</p>\n` : "";
  return refusalPage(request, notFound(), "server", more);
}
