// This folder shows a deploy before it is published, to whoever has a link to it. This file answers at the address of
// the link. A bucket that has a root of its own is shown there, as its pages expect: preview-cookie.ts marks the
// browser. shown-deploy.ts checks the link for every request, says what it shows now, and answers at the root from the
// deploy.

import type { Clock } from "../../base/clock.ts";
import type { BucketCache } from "../../buckets/bucket-cache.ts";
import { parseDeployTarget } from "../../buckets/history/deploy-record.ts";
import type { Bucket } from "../../buckets/record.ts";
import { encodePath } from "../../sites/redirects-file.ts";
import { errorReason, methodNotAllowed, plainText, redirect } from "../content/plain.ts";
import type { Protocol } from "../pipeline.ts";
import { refusalOf } from "../request/authentication.ts";
import { isNavigation } from "../request/browser-request.ts";
import { hostNameOf } from "../request/host-name.ts";
import { decodePath, isOtherHost, misdirected } from "../static/address.ts";
import { MemoryCache } from "../static/memory-cache.ts";
import { type StaticOptions, type StaticRequest, serveBucket } from "../static/serve.ts";
import { clearPreviewCookie, setPreviewCookie } from "./preview-cookie.ts";
import { findShown, type ShownDeploy, shownRequest, unlisted } from "./shown-deploy.ts";

export const previewPrefix = "/node/preview/";

/** previewOptions returns the options of plain HTTP, without its memory. */
export function previewOptions(options: StaticOptions, records: () => BucketCache): StaticOptions {
  return { ...options, cache: new MemoryCache({ maxBytes: () => 0, records }) };
}

/**
 * preview shows a deploy to whoever has a link to it: `/node/preview/<code>/<bucket>@<deploy>/<path>`, as plain HTTP shows the
 * bucket. A browser is sent on to the root of the host if the bucket is there (`enterAtRoot`). Its pages are made by whoever
 * may write to the bucket, and so have the rights of the bucket's own pages. The address without a code ends a preview at the
 * root.
 */
export const preview: Protocol<StaticRequest, undefined> = {
  name: "static",
  takesBodies: false,
  pages: "preview",
  async who({ request, path, lease, services }) {
    if (path === previewPrefix) return leavePreview(request);
    const [, code = "", name = "", slash = ""] = addressForm.exec(path) ?? [];
    const { bucket: bucketName, deploy } = parseDeployTarget(decoded(name));
    if (deploy === undefined) return unknownPreview();
    const { buckets, clock } = services;
    const shown = await findShown({ code, bucket: await buckets.get(bucketName), deploy }, lease);
    if (!("bucket" in shown)) return shown.state === "expired" ? endedPreview() : unknownPreview();
    const { bucket } = shown;
    const host = hostNameOf(request);
    const root = await buckets.records.rootOrStale(host);
    if (isOtherHost(request, bucketName, buckets.records.hosts)) return misdirected();
    const isAtRoot = root?.name === bucketName;
    const base = slash === "" ? "" : `${previewPrefix}${code}/${name}/`;
    const rest = path.slice(base.length);
    if (shown.state === "ended") {
      // Everybody may read the published files of a public bucket, and nobody else those of a private one.
      if (!bucket.public || !shown.isPublished) return endedPreview();
      return toPublished(request, { bucket, rest: base === "" ? "" : rest, isAtRoot });
    }
    const entered =
      base !== "" && isAtRoot ? enterAtRoot({ request, rest }, { code, deploy, shown, clock }) : undefined;
    const isOwnHost = bucket.hosts.includes(host);
    return entered ?? shownRequest(shown, { request, base, keyBase: base, rest, isOwnHost });
  },
  answer: ({ deps }, target) => serveBucket(target, deps.preview),
  toResponse: (error, { request }) => refusalOf(error, request),
  finish(response) {
    // The address is what opens the preview: no other site gets it.
    unlisted(response).headers.set("referrer-policy", "no-referrer");
  },
};

const addressForm = /^\/node\/preview\/([^/]+)\/([^/]+)(\/)?/;

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return "";
  }
}

/** The same for a wrong link, and for a deploy, a bucket or a token that does not exist any more. */
function unknownPreview(): Response {
  return plainText(404, "404 Not Found: there is no such preview, or it has ended.");
}

/** For holders of a link that was right. */
function endedPreview(): Response {
  const line = "410 Gone: this preview has ended. Ask for another link.";
  return plainText(410, line, errorReason("ended"));
}

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
function enterAtRoot(
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
function toPublished(request: Request, { bucket, rest, isAtRoot }: EndedPreview): Response {
  const { search } = new URL(request.url, "http://localhost");
  const path = encodePath(decodePath(rest)?.text ?? "");
  const base = isAtRoot && !serverPaths.test(path) ? "/" : `/node/static/${bucket.name}/`;
  return moved(`${base}${path}${search}`, clearPreviewCookie(request));
}

/** leavePreview ends the preview in this browser, and shows what is published. */
function leavePreview(request: Request): Response {
  if (request.method !== "GET" && request.method !== "HEAD") return methodNotAllowed(["GET", "HEAD"]);
  return moved("/", clearPreviewCookie(request));
}

function moved(location: string, cookie: string): Response {
  return redirect(303, location, { "set-cookie": cookie });
}
