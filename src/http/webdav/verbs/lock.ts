import { wholeNumber } from "../../../base/numbers.ts";
import { escapeXml, isElement, printXml, type XmlElement } from "../../../base/xml.ts";
import { type Lock, LockedFault } from "../../../buckets/metadata/locks.ts";
import { isBelow } from "../../../buckets/path.ts";
import { HttpError } from "../../request/http-error.ts";
import { type DavRequest, depthOf, hrefOf, requireParent, writeConditions } from "../dav-request.ts";
import { errorResponse, statuses, xmlResponse } from "../xml/multistatus.ts";
import { activeLock, isDav, lockRoot, lockRoots, readXml } from "../xml/request-xml.ts";

/** 24 h: active clients refresh their locks; that of a crashed one expires within a day. */
const maxLockSeconds = 24 * 3600;
const defaultLockSeconds = 3600;
const maxOwnerChars = 8192;

export async function lock(dav: DavRequest): Promise<Response> {
  const body = await readXml(dav.request);
  return body === undefined ? refresh(dav) : take(dav, body);
}

async function take(dav: DavRequest, body: XmlElement): Promise<Response> {
  const { files, path, bucket, caller, slash, audit } = dav;
  const lockInfo = parseLockInfo(body);
  const depth = depthOf(dav, [0, "infinity"], "infinity");
  const target = await files.reader.resolve(path);
  if (target.entry === undefined) {
    requireParent(target);
    if (slash) throw new HttpError(409, "there is no such folder; create it before locking it");
  }
  try {
    const { lock, created } = await files.locking.acquire(
      path,
      {
        ...lockInfo,
        token: `urn:uuid:${crypto.randomUUID()}`,
        kind: target.entry?.kind ?? "file",
        deep: depth === "infinity",
        holder: caller.key,
        timeoutMs: secondsOf(dav) * 1000,
      },
      writeConditions(dav),
    );
    if (created) audit("file.written", { bucket: bucket.name, path: lock.path, bytes: 0 });
    return lockResponse(dav, {
      status: created ? 201 : 200,
      lock,
      headers: { "lock-token": `<${lock.token}>` },
    });
  } catch (error) {
    if (error instanceof LockedFault) return conflictResponse(dav, error);
    throw error;
  }
}

/** RFC 4918 §9.10.2: no body, and the token in the If header. */
async function refresh(dav: DavRequest): Promise<Response> {
  const { files, path } = dav;
  const conditions = writeConditions(dav);
  if (conditions.holder.tokens.size === 0)
    throw new HttpError(
      400,
      "a lock needs a lockinfo body; a refresh needs the lock's token in the If header",
    );
  const renewed = await files.locking.refresh(path, secondsOf(dav) * 1000, conditions);
  if (renewed === undefined)
    throw new HttpError(412, "there is no such lock here", {
      condition: "<D:lock-token-matches-request-uri/>",
    });
  return lockResponse(dav, { status: 200, lock: renewed });
}

export async function unlock(dav: DavRequest): Promise<Response> {
  const { request, files, path } = dav;
  // Some clients leave the brackets out.
  const token = /^\s*<?([^<>\s]+)>?\s*$/.exec(request.headers.get("lock-token") ?? "")?.[1];
  if (token === undefined) throw new HttpError(400, "the Lock-Token header must be <the lock's token>");
  const outcome = await files.locking.release(path, { token, conditions: writeConditions(dav) });
  if (outcome === "missing")
    throw new HttpError(409, "there is no such lock here", {
      condition: "<D:lock-token-matches-request-uri/>",
    });
  if (outcome === "forbidden")
    throw new HttpError(403, "the lock belongs to another token; unlock it with that token");
  return new Response(null, { status: 204 });
}

function parseLockInfo(body: XmlElement): Pick<Lock, "scope" | "owner"> {
  if (!isDav(body, "lockinfo")) throw new HttpError(400, "the body is not a lockinfo element");
  const child = (name: string) => body.children.filter(isElement).find((element) => isDav(element, name));
  const [scope] = child("lockscope")?.children.filter(isElement) ?? [];
  const [type] = child("locktype")?.children.filter(isElement) ?? [];
  if (scope === undefined || type === undefined)
    throw new HttpError(400, "the lockinfo must have a lockscope and a locktype");
  const shared = isDav(scope, "shared");
  if (!isDav(type, "write") || (!shared && !isDav(scope, "exclusive")))
    throw new HttpError(422, "only write locks are supported, exclusive or shared");
  const owner = (child("owner")?.children ?? [])
    .map((part) => (typeof part === "string" ? escapeXml(part) : printXml(part)))
    .join("");
  if (owner.length > maxOwnerChars) throw new HttpError(413, `the owner exceeds ${maxOwnerChars} characters`);
  return { scope: shared ? "shared" : "exclusive", owner: owner.trim() };
}

function secondsOf({ request }: DavRequest): number {
  const header = request.headers.get("timeout");
  if (header === null) return defaultLockSeconds;
  if (/^\s*infinite/i.test(header)) return maxLockSeconds;
  const seconds = wholeNumber(/Second-(\d+)/i.exec(header)?.[1]) ?? defaultLockSeconds;
  return Math.min(Math.max(seconds, 1), maxLockSeconds);
}

interface LockResponse {
  readonly status: number;
  readonly lock: Lock;
  readonly headers?: Readonly<Record<string, string>>;
}

function lockResponse({ bucket, files }: DavRequest, { status, lock, headers = {} }: LockResponse): Response {
  const shown = activeLock(lock, bucket.name, files.metadata.locks.now());
  return xmlResponse(
    status,
    `<D:prop xmlns:D="DAV:"><D:lockdiscovery>${shown}</D:lockdiscovery></D:prop>\n`,
    headers,
  );
}

/** A conflicting lock on or above the resource or, for an infinite lock, only on resources below it: RFC 4918 §9.10.6. */
function conflictResponse({ path, bucket }: DavRequest, { locks }: LockedFault): Response {
  if (locks.every((lock) => isBelow(lock.path, path)))
    return statuses([
      ...locks.map((lock) => ({ href: lockRoot(lock, bucket.name), status: 423 })),
      { href: hrefOf(bucket.name, path, "folder"), status: 424 },
    ]);
  const roots = lockRoots(locks, bucket.name);
  return errorResponse(423, `<D:no-conflicting-lock>${roots}</D:no-conflicting-lock>`);
}
