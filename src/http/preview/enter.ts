import type { Clock } from "../../base/clock.ts";
import type { Bucket } from "../../buckets/record.ts";
import { encodePath } from "../../sites/redirects-file.ts";
import { methodNotAllowed, redirect } from "../content/plain.ts";
import { isNavigation } from "../request/browser-request.ts";
import { decodePath } from "../static/decode-path.ts";
import { clearPreviewCookie, setPreviewCookie } from "./preview-cookie.ts";
import { type ShownDeploy, unlisted } from "./shown-deploy.ts";

/** Paths that are the server's own at every root: a file of a deploy is not shown there. */
const serverPaths = /^(?:jsonrpc|terminal|node)(?:\/|$)/;

interface EnteredPreview {
  readonly code: string;
  readonly deploy: string;
  readonly shown: ShownDeploy;
  readonly clock: Clock;
}

/**
 * enterAtRoot sends a browser that goes to the address of a preview to the same path at the root of the host, with a cookie that
 * shows the deploy there: pages of most generators link by absolute paths, and work nowhere else. Undefined for all other
 * requests, which are answered at the address itself. `rest` is the path below the address, still encoded.
 */
export function enterAtRoot(
  { request, rest }: { readonly request: Request; readonly rest: string },
  { code, deploy, shown: { bucket }, clock }: EnteredPreview,
): Response | undefined {
  const decoded = isNavigation(request) ? decodePath(rest) : undefined;
  if (decoded === undefined || serverPaths.test(decoded.text)) return undefined;
  const { search } = new URL(request.url, "http://localhost");
  // A path that can be decoded begins with a name: the location is never that of another host, such as `//example.org`.
  const location = `/${encodePath(decoded.text)}${search}`;
  const cookie = { code, bucket: bucket.name, deploy };
  return moved(location, setPreviewCookie(request, cookie, clock));
}

interface EndedPreview {
  readonly bucket: Bucket;
  /** The path below the address, still encoded. */
  readonly rest: string;
  readonly isAtRoot: boolean;
}

/** toPublished sends the client of a preview that ended with its publication to the same path of the published site. */
export function toPublished(request: Request, { bucket, rest, isAtRoot }: EndedPreview): Response {
  const { search } = new URL(request.url, "http://localhost");
  const path = encodePath(decodePath(rest)?.text ?? "");
  const base = isAtRoot && !serverPaths.test(path) ? "/" : `/node/static/${bucket.name}/`;
  return moved(`${base}${path}${search}`, clearPreviewCookie(request));
}

/** leavePreview ends the preview in this browser, and shows what is published. */
export function leavePreview(request: Request): Response {
  if (request.method !== "GET" && request.method !== "HEAD") return methodNotAllowed(["GET", "HEAD"]);
  return moved("/", clearPreviewCookie(request));
}

function moved(location: string, cookie: string): Response {
  return unlisted(redirect(303, location, { "set-cookie": cookie }));
}
