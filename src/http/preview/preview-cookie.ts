import type { Clock } from "../../base/clock.ts";
import { parseDeployTarget } from "../../buckets/history/deploy-record.ts";
import { parseCode } from "../../links/link-code.ts";
import { cookiesOf, isHttps, withPort } from "../request/browser-request.ts";

const name = "node_server_preview";
const maxAgeSeconds = 60 * 60;
/** A code, a name of a bucket and a deploy are shorter. */
const maxValueChars = 512;

/** PreviewCookie is what a browser that shows a preview sends with its requests. Nothing of it is proven. */
interface PreviewCookie {
  readonly code: string;
  readonly bucket: string;
  readonly deploy: string;
}

/**
 * hasPreviewCookie returns whether a request may carry the cookie. It is asked for every request at the root of a host, of which
 * few have any cookie.
 */
export function hasPreviewCookie({ headers }: Request): boolean {
  return headers.get("cookie")?.includes(name) ?? false;
}

/**
 * previewCookieOf reads the cookie; undefined if there is none, or one that the server would not have set. Of several, the first
 * alone counts.
 */
export function previewCookieOf(request: Request): PreviewCookie | undefined {
  const [value = ""] = cookiesOf(request, cookieName(request));
  if (value.length > maxValueChars) return undefined;
  const [, code = "", target = ""] = /^([^/]+)\/([\w.@~-]+)$/.exec(value) ?? [];
  const { bucket, deploy } = parseDeployTarget(target);
  if (deploy === undefined || parseCode(code)?.kind !== "preview") return undefined;
  return { code, bucket, deploy };
}

/** setPreviewCookie returns the header that begins a preview in a browser. It lasts an hour, and no longer than its link. */
export function setPreviewCookie(
  request: Request,
  { code, bucket, deploy }: PreviewCookie,
  clock: Clock,
): string {
  const left = (parseCode(code)?.expires ?? 0) - Math.floor(clock.now() / 1000);
  return cookieLine(request, `${code}/${bucket}@${deploy}`, Math.max(0, Math.min(left, maxAgeSeconds)));
}

/** clearPreviewCookie returns the header that ends a preview. */
export function clearPreviewCookie(request: Request): string {
  return cookieLine(request, "", 0);
}

function cookieLine(request: Request, value: string, seconds: number): string {
  const secure = isHttps(request) ? "; Secure" : "";
  return `${cookieName(request)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`;
}

/** With `__Host-` neither another host name of the domain nor plain http can have set it (RFC 6265bis §4.1.3.2). */
function cookieName(request: Request): string {
  return withPort(isHttps(request) ? `__Host-${name}` : name, request);
}
