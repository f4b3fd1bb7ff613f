import { escapeXml, parseXml, type XmlElement, XmlError } from "../../../base/xml.ts";
import type { Lock } from "../../../buckets/metadata/locks.ts";
import { readBody } from "../../request/body.ts";
import { HttpError } from "../../request/http-error.ts";
import { hrefOf } from "../dav-request.ts";

/** Enough for a PROPPATCH with all properties that one resource may have. */
const maxXmlBytes = 1024 * 1024;
/** More properties than any client asks for. */
const maxElements = 10_000;

/** readXml parses the request's body, whatever its content type; undefined if it is empty. */
export async function readXml(request: Request): Promise<XmlElement | undefined> {
  const bytes = await readBody(request, maxXmlBytes);
  if (bytes === undefined) throw new HttpError(413, `the XML exceeds ${maxXmlBytes} bytes`);
  if (bytes.length === 0) return undefined;
  try {
    return parseXml(bytes, maxElements);
  } catch (error) {
    if (error instanceof XmlError) throw new HttpError(400, `the body is not valid XML: ${error.message}`);
    throw error;
  }
}

const dav = "DAV:";

export function isDav(element: XmlElement, name: string): boolean {
  return element.namespace === dav && element.name === name;
}

/** fullName returns `{namespace}name`, the key of a property. */
export function fullName({ namespace, name }: Pick<XmlElement, "namespace" | "name">): string {
  return `{${namespace}}${name}`;
}

export const supportedLock = ["exclusive", "shared"]
  .map(
    (scope) =>
      `<D:lockentry><D:lockscope><D:${scope}/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>`,
  )
  .join("");

/** activeLock describes a lock for `lockdiscovery`: RFC 4918 §14.1. `nowMs` is of the clock by which it expires. */
export function activeLock(lock: Lock, bucket: string, nowMs: number): string {
  const seconds = Math.max(0, Math.ceil((lock.until - nowMs) / 1000));
  return [
    "<D:activelock><D:locktype><D:write/></D:locktype>",
    `<D:lockscope><D:${lock.scope}/></D:lockscope>`,
    `<D:depth>${lock.deep ? "infinity" : "0"}</D:depth>`,
    lock.owner === "" ? "" : `<D:owner>${lock.owner}</D:owner>`,
    `<D:timeout>Second-${seconds}</D:timeout>`,
    `<D:locktoken><D:href>${escapeXml(lock.token)}</D:href></D:locktoken>`,
    `<D:lockroot><D:href>${escapeXml(lockRoot(lock, bucket))}</D:href></D:lockroot></D:activelock>`,
  ].join("");
}

export function lockRoot({ path, kind }: Lock, bucket: string): string {
  return hrefOf(bucket, path, kind);
}

/** lockRoots lists the roots of locks for a condition of RFC 4918 §16. */
export function lockRoots(locks: readonly Lock[], bucket: string): string {
  return locks.map((lock) => `<D:href>${escapeXml(lockRoot(lock, bucket))}</D:href>`).join("");
}
