import type { Buckets } from "../../buckets/buckets.ts";
import type { Lease } from "../../rpc/lease.ts";
import type { Services } from "../../services.ts";
import type { Console } from "../console/console.ts";
import { isRootWorker, refuseWorker } from "../console/service-worker.ts";
import { notFound, placeholderPage } from "../content/plain.ts";
import {
  noSuchFile,
  type StaticDoor,
  serveBucket,
  serveDecoded,
  serveHot,
  staticMethods,
  toSlashForm,
  withCors,
} from "./serve.ts";

export interface BucketDoor extends Omit<StaticDoor, "buckets"> {
  readonly acquire: () => Lease<Services>;
  /** For a question that is answered at once, which needs no lease. */
  readonly buckets: () => Buckets;
  readonly console: Console;
}

export const staticPrefix = "/node/static/";

/** A file of a bucket below `/node/static/`. */
export function serveStatic(request: Request, path: string, door: BucketDoor): Response | Promise<Response> {
  return fromMemory(request, path, door) ?? bucketRoute(request, path, door);
}

/** Whatever no other route owns: the bucket that is the HTTP root, else the placeholder page at `/`. */
export function serveRoot(request: Request, path: string, door: BucketDoor): Response | Promise<Response> {
  const refused = door.console.isOn() && isRootWorker(request, path);
  return (refused ? undefined : fromMemory(request, path, door)) ?? rootRoute(request, path, refused, door);
}

/** At once, where the answer is in memory and still holds. */
function fromMemory(request: Request, path: string, { buckets, hot }: BucketDoor): Response | undefined {
  if (!path.includes("%")) return serveHot(request, path, buckets(), hot);
  const base = path.startsWith(staticPrefix) ? baseOf(path) : "/";
  return serveDecoded(request, { base, path }, { buckets: buckets(), hot });
}

/** The part of a path below `/node/static/` that names the bucket, its slash included. */
function baseOf(path: string): string {
  return path.slice(0, path.indexOf("/", staticPrefix.length) + 1);
}

/** `{name}`, `{name}/` and `{name}/{path}` of a bucket. */
async function bucketRoute(
  request: Request,
  path: string,
  { acquire, hot, compression, contentBudget }: BucketDoor,
): Promise<Response> {
  const rest = path.slice(staticPrefix.length);
  const slash = rest.indexOf("/");
  const name = slash === -1 ? rest : rest.slice(0, slash);
  const { services, release } = acquire();
  try {
    const bucket = await services.buckets.getForServing(name);
    if (bucket === undefined || !bucket.enable)
      return request.method === "OPTIONS" ? options() : noSuchFile();
    if (slash === -1 && isReading(request)) return withCors(bucket, request, toSlashForm(request));
    return await serveBucket(
      { request, base: baseOf(path), bucket, rest: rest.slice(slash + 1) },
      { buckets: services.buckets, hot, compression, contentBudget },
    );
  } finally {
    release();
  }
}

async function rootRoute(
  request: Request,
  path: string,
  refused: boolean,
  { acquire, hot, compression, contentBudget, console }: BucketDoor,
): Promise<Response> {
  const { services, release } = acquire();
  try {
    const bucket = await services.buckets.httpRoot();
    if (bucket !== undefined && refused) return refuseWorker();
    if (bucket !== undefined)
      return await serveBucket(
        { request, base: "/", bucket, rest: path.slice(1) },
        { buckets: services.buckets, hot, compression, contentBudget },
      );
  } finally {
    release();
  }
  return path === "/" ? placeholderPage(console.isOn()) : notFound();
}

function options(): Response {
  return new Response(null, { status: 204, headers: { allow: staticMethods } });
}

function isReading({ method }: Request): boolean {
  return method === "GET" || method === "HEAD";
}
