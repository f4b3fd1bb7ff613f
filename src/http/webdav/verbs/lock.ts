import { isElement, type XmlElement } from "../../../base/xml.ts";
import { escapeXml, printXml } from "../../../base/xml-text.ts";
import { covers, isBelow, type Lock, LockedFault } from "../../../buckets/locks.ts";
import { warrantOf } from "../conditions.ts";
import { hrefOf } from "../dav-path.ts";
import { depthOf, requireParent, type Visit } from "../dav-request.ts";
import { Refused } from "../http-error.ts";
import { activeLock, lockRoot } from "../xml/lock-xml.ts";
import { statuses, xmlResponse } from "../xml/multistatus.ts";
import { isDav, readXml } from "../xml/request-xml.ts";

/** Clients that work on refresh in time; what a client that died leaves behind ends with the day. */
const longestSeconds = 24 * 3600;
const usualSeconds = 3600;
const longestOwner = 8192;

export async function lock(visit: Visit): Promise<Response> {
  const body = await readXml(visit.request);
  return body === undefined ? refresh(visit) : take(visit, body);
}

async function take(visit: Visit, body: XmlElement): Promise<Response> {
  const { files, path, bucket, caller, slash } = visit;
  const wanted = parseLockInfo(body);
  const depth = depthOf(visit, [0, "infinity"], "infinity");
  const present = await files.tree.find(path);
  if (present === undefined) {
    await requireParent(files, path);
    if (slash) throw new Refused(409, "there is no such folder; make it before locking it");
  }
  try {
    const { lock, created } = await files.lock(
      path,
      {
        ...wanted,
        token: `urn:uuid:${crypto.randomUUID()}`,
        kind: present?.kind ?? "file",
        deep: depth === "infinity",
        holder: caller.key,
        until: Date.now() + secondsOf(visit) * 1000,
      },
      warrantOf(visit),
    );
    return discovery(created ? 201 : 200, [lock], bucket.name, { "lock-token": `<${lock.token}>` });
  } catch (error) {
    if (error instanceof LockedFault) return conflict(visit, error);
    throw error;
  }
}

/** RFC 4918 §9.10.2: no body, and the token in the If header. */
async function refresh(visit: Visit): Promise<Response> {
  const { files, path, bucket } = visit;
  const warrant = warrantOf(visit);
  if (warrant.tokens.size === 0)
    throw new Refused(400, "a lock needs a lockinfo body; a refresh needs the lock's token in the If header");
  await warrant.check();
  const at = await files.canonical(path);
  const held = (await files.locks.around(at, false)).find((lock) => covers(lock, at) && warrant.shows(lock));
  const renewed = held && (await files.locks.refresh(held, Date.now() + secondsOf(visit) * 1000));
  if (renewed === undefined)
    throw new Refused(412, "there is no such lock here", "<D:lock-token-matches-request-uri/>");
  return discovery(200, [renewed], bucket.name, {});
}

export async function unlock(visit: Visit): Promise<Response> {
  const { request, files, path, caller } = visit;
  // Some clients leave the brackets out.
  const token = /^\s*<?([^<>\s]+)>?\s*$/.exec(request.headers.get("lock-token") ?? "")?.[1];
  if (token === undefined) throw new Refused(400, "the Lock-Token header must hold <the lock's token>");
  await warrantOf(visit).check();
  const at = await files.canonical(path);
  const held = (await files.locks.around(at, false)).find((lock) => covers(lock, at) && lock.token === token);
  if (held === undefined)
    throw new Refused(409, "there is no such lock here", "<D:lock-token-matches-request-uri/>");
  if (held.holder !== caller.key && !caller.isSuper)
    throw new Refused(403, "the lock was taken with another token, which has to release it");
  await files.locks.release(held);
  return new Response(null, { status: 204 });
}

function parseLockInfo(body: XmlElement): Pick<Lock, "scope" | "owner"> {
  if (!isDav(body, "lockinfo")) throw new Refused(400, "the body is no lockinfo");
  const child = (name: string) => body.children.filter(isElement).find((element) => isDav(element, name));
  const [scope] = child("lockscope")?.children.filter(isElement) ?? [];
  const [type] = child("locktype")?.children.filter(isElement) ?? [];
  if (scope === undefined || type === undefined)
    throw new Refused(400, "a lockinfo says its lockscope and its locktype");
  const shared = isDav(scope, "shared");
  if (!isDav(type, "write") || (!shared && !isDav(scope, "exclusive")))
    throw new Refused(422, "locks are for writing, exclusive or shared");
  const owner = (child("owner")?.children ?? [])
    .map((part) => (typeof part === "string" ? escapeXml(part) : printXml(part)))
    .join("");
  if (owner.length > longestOwner) throw new Refused(413, `the owner may have ${longestOwner} characters`);
  return { scope: shared ? "shared" : "exclusive", owner: owner.trim() };
}

function secondsOf({ request }: Visit): number {
  const header = request.headers.get("timeout");
  if (header === null) return usualSeconds;
  if (/^\s*infinite/i.test(header)) return longestSeconds;
  const seconds = Number(/Second-(\d+)/i.exec(header)?.[1] ?? usualSeconds);
  return Math.min(Math.max(seconds, 1), longestSeconds);
}

function discovery(
  status: number,
  locks: readonly Lock[],
  bucket: string,
  headers: Record<string, string>,
): Response {
  const inside = locks.map((lock) => activeLock(lock, bucket)).join("");
  return xmlResponse(
    status,
    `<D:prop xmlns:D="DAV:"><D:lockdiscovery>${inside}</D:lockdiscovery></D:prop>\n`,
    headers,
  );
}

/** A lock above or on the resource, or, for a deep lock, on something below it: RFC 4918 §9.10.6. */
function conflict({ path, bucket }: Visit, { locks, detail }: LockedFault): Response {
  const below = locks.filter((lock) => isBelow(lock.path, path));
  if (below.length === locks.length) {
    return statuses([
      ...below.map((lock) => ({ href: lockRoot(lock, bucket.name), status: 423 })),
      { href: hrefOf(bucket.name, path, true), status: 424 },
    ]);
  }
  const roots = locks.map((lock) => `<D:href>${escapeXml(lockRoot(lock, bucket.name))}</D:href>`).join("");
  throw new Refused(423, detail, `<D:no-conflicting-lock>${roots}</D:no-conflicting-lock>`);
}
