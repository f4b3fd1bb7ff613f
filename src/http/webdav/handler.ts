import { authorise, type Caller } from "../../auth/caller.ts";
import { type AuthDoor, Refusal } from "../../auth/door.ts";
import { inBucket } from "../../auth/need.ts";
import { Fault } from "../../base/fault.ts";
import { type TreePath, treeRoot } from "../../buckets/path.ts";
import type { Logger } from "../../log/hub.ts";
import { inSpan } from "../../log/span.ts";
import type { Loan } from "../../rpc/engine.ts";
import type { Services } from "../../services.ts";
import { methodNotAllowed, plainText } from "../pages.ts";
import { type Place, parsePlace } from "./address.ts";
import { faultResponse, refusedResponse } from "./faults.ts";
import { Refused } from "./refused.ts";
import { allow, verbs } from "./verbs.ts";

export interface WebdavDoor {
  readonly borrow: () => Loan<Services>;
  /** The largest upload; 0 means no limit. */
  readonly maxUploadBytes: () => number;
}

const challenge = { "www-authenticate": 'Basic realm="Node Static WebDAV", charset="UTF-8"' };

/** The credentials are in a header of their own and no cookie exists, so any origin may try. */
const cors = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "DAV, ETag, Content-Length, Content-Range, Last-Modified, Location, Lock-Token, X-OC-Mtime",
};

/** The same for everybody, everywhere: Windows asks at `/` first, without credentials, and gives up on a refusal. */
export const optionsHeaders = {
  ...cors,
  dav: "1, 2, 3",
  allow,
  "ms-author-via": "DAV",
  "access-control-allow-methods": allow,
  "access-control-allow-headers":
    "Authorization, Content-Type, Depth, Destination, If, If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since, Lock-Token, Overwrite, Range, Timeout, X-Expected-Entity-Length, X-OC-Mtime, X-Requested-With",
  "access-control-max-age": "86400",
};

/** One request on the WebDAV route. `rawPath` is the whole path, as it was sent. */
export async function serveWebdav(
  request: Request,
  rawPath: string,
  address: () => string,
  door: WebdavDoor,
): Promise<Response> {
  if (request.method === "OPTIONS") return new Response(null, { headers: optionsHeaders });
  const { services, door: auth, release } = door.borrow();
  try {
    const response = await answer(request, rawPath, address, auth, services, door.maxUploadBytes());
    for (const [name, value] of Object.entries(cors)) response.headers.set(name, value);
    return response;
  } finally {
    release();
  }
}

/** Who asks comes first: a stranger learns nothing, not even whether there is such a bucket. */
async function answer(
  request: Request,
  rawPath: string,
  address: () => string,
  auth: AuthDoor,
  services: Services,
  maxUploadBytes: number,
): Promise<Response> {
  const log = services.hub.logger("server");
  const start = performance.now();
  let path: TreePath = treeRoot;
  let bucketName = "";
  try {
    const caller = await authenticate(request, address, auth);
    const place = placeOf(rawPath);
    ({ path, bucket: bucketName } = place);
    authorise(
      caller,
      inBucket(
        bucketName,
        "static_bucket_file.read",
        "static_bucket_file.write",
        "static_bucket_file.delete",
        "static_bucket_file.list",
      ),
    );
    const bucket = await services.buckets.get(bucketName);
    if (bucket === undefined || !bucket.enable) throw new Refused(404, "there is no such bucket");
    const verb = Object.hasOwn(verbs, request.method) ? verbs[request.method] : undefined;
    if (verb === undefined) return methodNotAllowed(allow);
    const files = services.buckets.filesOf(bucket);
    const visit = { request, caller, bucket, files, path, slash: place.slash, maxUploadBytes };
    const response = await inSpan(`webdav::${request.method}`, spanFields(caller, bucketName, path), () =>
      verb(visit),
    );
    tell(log, request, bucketName, path, response.status, start);
    return response;
  } catch (error) {
    const response = toResponse(error, bucketName, path);
    tell(log, request, bucketName, path, response.status, start);
    return response;
  }
}

async function authenticate(request: Request, address: () => string, auth: AuthDoor): Promise<Caller> {
  const basic = /^Basic +([A-Za-z0-9+/=_-]+) *$/i.exec(request.headers.get("authorization") ?? "")?.[1];
  const text = basic === undefined ? undefined : Buffer.from(basic, "base64").toString("utf8");
  const colon = text?.indexOf(":") ?? -1;
  if (text === undefined || colon <= 0 || colon === text.length - 1)
    throw new Refused(
      401,
      "this address asks for a token's key and secret, or a user name and password",
      undefined,
      challenge,
    );
  try {
    return await auth.recognise(text.slice(0, colon), text.slice(colon + 1), {
      address,
      aside: (wait) => wait(),
    });
  } catch (error) {
    if (error instanceof Refusal && error.delayMs > 0) await Bun.sleep(error.delayMs);
    // One that ran out is as good as a wrong one: the client asks its user again.
    if (error instanceof Fault && error.kind === "PermissionDenied")
      throw new Refused(401, error.detail, undefined, challenge);
    throw error;
  }
}

function placeOf(rawPath: string): Place {
  const place = parsePlace(rawPath);
  if (place === undefined) throw new Refused(404, "the address names no bucket");
  return place;
}

function toResponse(error: unknown, bucket: string, path: TreePath): Response {
  if (error instanceof Refused) return refusedResponse(error);
  if (error instanceof Fault && error.kind === "PermissionDenied")
    return plainText(403, `403 ${error.message}.`);
  if (error instanceof Fault) return faultResponse(error, bucket, path);
  // The client broke off; nobody hears the answer.
  if (error instanceof Error && error.name === "AbortError")
    return plainText(400, "400 the request was broken off.");
  throw error;
}

function spanFields({ by, key, username }: Caller, bucket: string, path: TreePath) {
  return { ...(by === "key" ? { token_key: key } : { username }), bucket, path };
}

/** One line for each request. */
function tell(
  log: Logger,
  { method }: Request,
  bucket: string,
  path: TreePath,
  status: number,
  start: number,
): void {
  if (!log.wants("DEBUG")) return;
  const elapsed_ms = Math.round((performance.now() - start) * 1000) / 1000;
  log.debug(`webdav ${method}`, { bucket, path, status, elapsed_ms });
}
