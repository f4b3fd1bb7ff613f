import type { Buckets } from "../../buckets/buckets.ts";
import { noDeploy } from "../../buckets/history/deploy-record.ts";
import type { ShownTree } from "../../buckets/history/deploys.ts";
import type { Bucket } from "../../buckets/record.ts";
import type { Lease } from "../../rpc/method.ts";
import type { Services } from "../../services.ts";
import type { StaticRequest } from "../static/serve.ts";

/** PreviewLink is a link to a deploy as a request names it. */
export interface PreviewLink {
  readonly code: string;
  /** Undefined if there is none of the name. */
  readonly bucket: Bucket | undefined;
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
export interface EndedPreview {
  readonly state: "ended";
  readonly bucket: Bucket;
  readonly isPublished: boolean;
}

/** findShown tells what a link shows now: nothing once it, its token, its bucket or its deploy has ended. */
export async function findShown(
  { code, bucket, deploy }: PreviewLink,
  { services: { buckets, links }, authenticator }: Lease<Services>,
): Promise<ShownDeploy | EndedPreview | { readonly state: "expired" | "unknown" }> {
  const target = { kind: "preview", bucket, path: deploy } as const;
  const verdict = await links.check(code, target, authenticator);
  if (verdict.state === "expired") return { state: "expired" };
  const tree =
    verdict.state === "valid" && bucket?.enable ? await buckets.deploys.shownTree(bucket, deploy) : undefined;
  if (verdict.state !== "valid" || tree === undefined || bucket === undefined) return { state: "unknown" };
  const { isPublished, exchanges } = tree;
  if (isPublished || exchanges !== verdict.link.exchanges) return { state: "ended", bucket, isPublished };
  const assertPresent = async () => {
    const now = await buckets.deploys.shownTree(bucket, deploy);
    if (now?.location.path !== tree.location.path) throw noDeploy(deploy);
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
