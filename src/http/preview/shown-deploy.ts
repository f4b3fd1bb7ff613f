import type { Buckets } from "../../buckets/buckets.ts";
import { noDeploy, previewNameOf } from "../../buckets/history/deploy-record.ts";
import type { ShownTree } from "../../buckets/history/deploys.ts";
import type { Bucket } from "../../buckets/record.ts";
import type { Lease } from "../../rpc/method.ts";
import type { Services } from "../../services.ts";
import { plainText } from "../content/plain.ts";
import type { StaticRequest } from "../static/serve.ts";
import { clearPreviewCookie, previewCookieOf } from "./preview-cookie.ts";

/** PreviewLink is a link to a deploy as a request names it. */
interface PreviewLink {
  readonly code: string;
  /** Undefined if there is none of the name. */
  readonly bucket: Bucket | undefined;
  /** An id, or what `namedDeploy` returns. */
  readonly deploy: string;
}

/** ShownDeploy is a deploy that a link shows now, with the tree of its files. */
export interface ShownDeploy {
  readonly state: "valid";
  readonly bucket: Bucket;
  readonly tree: ShownTree;
  readonly buckets: Buckets;
  /** Throws once the deploy is at another place: what is there then is what was published before. */
  readonly assertPresent: () => Promise<void>;
}

/**
 * EndedPreview is a link that was right until the tree of its deploy was exchanged: the deploy was published, rolled back to, or
 * replaced. What is in that tree now was not shown to the maker of the link.
 */
interface EndedPreview {
  readonly state: "ended";
  readonly bucket: Bucket;
  readonly isPublished: boolean;
}

/** findShown tells what a link shows now: nothing once it, its token, its bucket or its deploy has ended. */
export async function findShown(
  { code, bucket, deploy }: PreviewLink,
  { services: { buckets, links }, authenticator }: Lease<Services>,
): Promise<ShownDeploy | EndedPreview | { readonly state: "expired" | "unknown" }> {
  const name = previewNameOf(deploy);
  const target = { kind: "preview", bucket, path: deploy, mayBeEndless: name !== undefined } as const;
  const verdict = await links.check(code, target, authenticator);
  if (verdict.state === "expired") return { state: "expired" };
  if (verdict.state !== "valid" || !bucket?.enable) return { state: "unknown" };
  const id = name === undefined ? deploy : (await buckets.deploys.named(bucket, name))?.id;
  const tree = id === undefined ? undefined : await buckets.deploys.shownTree(bucket, id);
  if (id === undefined || tree === undefined) return { state: "unknown" };
  const { isPublished, exchanges } = tree;
  const isOther = name === undefined && exchanges !== verdict.link.exchanges;
  if (isPublished || isOther) return { state: "ended", bucket, isPublished };
  const assertPresent = async () => {
    const now = await buckets.deploys.shownTree(bucket, id);
    if (now?.location.path !== tree.location.path) throw noDeploy(id);
  };
  return { state: "valid", bucket, tree, buckets, assertPresent };
}

/** shownRequest is the request for a file of a deploy that a link shows. */
export function shownRequest(
  { bucket, tree, buckets, assertPresent }: ShownDeploy,
  at: Pick<StaticRequest, "request" | "base" | "keyBase" | "rest" | "isOwnHost">,
): StaticRequest {
  const shown = { ...bucket, ...tree.location };
  return { ...at, bucket: shown, buckets, freshState: undefined, assertPresent, isPreview: true };
}

/** unlisted keeps a preview to whoever has its link: no cache and no search engine gets it. */
export function unlisted(response: Response): Response {
  const { headers } = response;
  headers.set("cache-control", "private, no-store");
  headers.set("x-robots-tag", "noindex, nofollow");
  return response;
}

/** RootRequest is a GET or HEAD at the root of a host, and the bucket that is there. */
interface RootRequest {
  readonly request: Request;
  /** As in `request.url`: normalised, still percent-encoded. */
  readonly path: string;
  readonly bucket: Bucket;
  readonly isOwnHost: boolean;
}

/**
 * rootPreview returns the request for the deploy that the cookie of a request names. Everything is checked again, as at the address of
 * the preview. Undefined if there is nothing to show (any more): then the published file is sent, with `withoutPreview`.
 */
export async function rootPreview(
  { request, path, bucket, isOwnHost }: RootRequest,
  lease: Lease<Services>,
): Promise<StaticRequest | undefined> {
  const cookie = previewCookieOf(request);
  if (cookie === undefined || cookie.bucket !== bucket.name) return undefined;
  const { code, deploy } = cookie;
  const shown = await findShown({ code, bucket, deploy }, lease);
  if (shown.state !== "valid") return undefined;
  return shownRequest(shown, {
    request: withoutValidators(request),
    base: "/",
    keyBase: "/",
    rest: path.slice(1),
    isOwnHost,
  });
}

/** atRootOf adds what a preview at the root of a bucket's host has beside its own headers. */
export function atRootOf(bucket: Bucket, response: Response): Response {
  const { headers } = response;
  // A page of another origin of the same site would be sent the preview, and could run its scripts.
  if (!bucket.cors) headers.set("cross-origin-resource-policy", "same-origin");
  headers.append("vary", "cookie");
  return unlisted(response);
}

/** withoutPreview ends the preview of the client that gets the response, which no other client may get. */
export function withoutPreview(request: Request, response: Response): Response {
  const { headers } = response;
  headers.append("set-cookie", clearPreviewCookie(request));
  headers.append("vary", "cookie");
  headers.set("cache-control", "private, no-store");
  return response;
}

/**
 * What the client has is the published file: a 304 would give that file the headers of the deploy's rules, which stay after the
 * preview.
 */
function withoutValidators(request: Request): Request {
  const { headers } = request;
  if (!headers.has("if-none-match") && !headers.has("if-modified-since")) return request;
  const rest = new Headers(headers);
  rest.delete("if-none-match");
  rest.delete("if-modified-since");
  return new Request(new URL(request.url, "http://localhost").href, {
    method: request.method,
    headers: rest,
  });
}

export function refusePreviewWorker(): Response {
  return plainText(
    403,
    "403 Forbidden: this browser shows a preview, and a service worker of it would stay in the browser. GET /node/preview/ ends the preview.",
  );
}
