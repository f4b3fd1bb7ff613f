import type { Buckets } from "../../buckets/buckets.ts";
import type { Lease } from "../../rpc/lease.ts";
import type { Services } from "../../services.ts";
import type { Console } from "../console/console.ts";
import { isRootWorker, refuseWorker } from "../console/service-worker.ts";
import { allowedMethods, notFound } from "../content/plain.ts";
import { serveCached, serveDecoded } from "./cached.ts";
import { staticMethods, withCors } from "./cors.ts";
import { placeholderPage } from "./placeholder-page.ts";
import { noSuchFile, redirectToFolder, type StaticOptions, serveBucket } from "./serve.ts";

export interface BucketRouteOptions {
  readonly acquire: () => Lease<Services>;
  /** For a synchronous answer, which needs no lease. */
  readonly buckets: () => Buckets;
  readonly static: StaticOptions;
  readonly console: Console;
}

export const staticPrefix = "/node/static/";

/** serveStatic answers for a file of a bucket below `/node/static/`. */
export function serveStatic(
  request: Request,
  path: string,
  options: BucketRouteOptions,
): Response | Promise<Response> {
  return fromCache(request, path, options) ?? bucketRoute(request, path, options);
}

/** serveRoot answers for every path without a route of its own: the bucket that is the HTTP root, or the placeholder page at `/`. */
export function serveRoot(
  request: Request,
  path: string,
  options: BucketRouteOptions,
): Response | Promise<Response> {
  const cached = isRefusedWorker(request, path, options) ? undefined : fromCache(request, path, options);
  return cached ?? rootRoute(request, path, options);
}

function fromCache(request: Request, path: string, options: BucketRouteOptions): Response | undefined {
  const access = { buckets: options.buckets(), cache: options.static.cache };
  if (!path.includes("%")) return serveCached(request, path, access);
  const base = path.startsWith(staticPrefix) ? baseOf(path) : "/";
  return serveDecoded(request, { base, path }, access);
}

/** The part of a path below `/node/static/` that names the bucket, including its slash. */
function baseOf(path: string): string {
  return path.slice(0, path.indexOf("/", staticPrefix.length) + 1);
}

/** `{name}`, `{name}/` and `{name}/{path}` of a bucket. */
async function bucketRoute(request: Request, path: string, options: BucketRouteOptions): Promise<Response> {
  const rest = path.slice(staticPrefix.length);
  const slash = rest.indexOf("/");
  const name = slash === -1 ? rest : rest.slice(0, slash);
  const { services, release } = options.acquire();
  try {
    const { buckets } = services;
    const bucket = await buckets.getForServing(name);
    if (bucket === undefined || !bucket.enable)
      return request.method === "OPTIONS" ? allowedMethods(staticMethods) : noSuchFile();
    if (slash === -1 && isReading(request)) return withCors(bucket, request, redirectToFolder(request));
    const target = { request, base: baseOf(path), rest: rest.slice(slash + 1), bucket, buckets };
    return await serveBucket(target, options.static);
  } finally {
    release();
  }
}

async function rootRoute(request: Request, path: string, options: BucketRouteOptions): Promise<Response> {
  const { services, release } = options.acquire();
  try {
    const { buckets } = services;
    const bucket = await buckets.httpRoot();
    if (bucket !== undefined && isRefusedWorker(request, path, options)) return refuseWorker();
    if (bucket !== undefined)
      return await serveBucket({ request, base: "/", rest: path.slice(1), bucket, buckets }, options.static);
  } finally {
    release();
  }
  return path === "/" ? placeholderPage({ console: options.console.isOn() }) : notFound();
}

/** The script of a service worker in the top folder of the HTTP root would control the console too. */
function isRefusedWorker(request: Request, path: string, { console }: BucketRouteOptions): boolean {
  return console.isOn() && isRootWorker(request, path);
}

function isReading({ method }: Request): boolean {
  return method === "GET" || method === "HEAD";
}
