import type { BucketCache } from "../../buckets/bucket-cache.ts";
import { parseDeployTarget } from "../../buckets/deploys/deploy-record.ts";
import type { Lease } from "../../rpc/method.ts";
import type { Services } from "../../services.ts";
import { errorReason, plainText } from "../content/plain.ts";
import { hostNameOf } from "../request/host-name.ts";
import { MemoryCache } from "../static/memory-cache.ts";
import { isOtherHost, misdirected } from "../static/own-host.ts";
import { type StaticOptions, serveBucket } from "../static/serve.ts";
import { enterAtRoot, leavePreview, toPublished } from "./enter.ts";
import { findShown, unlisted } from "./shown-deploy.ts";

export const previewPrefix = "/node/preview/";

export interface PreviewOptions {
  readonly acquire: () => Lease<Services>;
  /** Nothing of a preview is kept in memory. */
  readonly preview: StaticOptions;
}

/** previewOptions are those of plain HTTP, without its memory. */
export function previewOptions(options: StaticOptions, records: () => BucketCache): StaticOptions {
  return { ...options, cache: new MemoryCache({ maxBytes: () => 0, records }) };
}

/**
 * servePreview shows a deploy to whoever has a link to it: `/node/preview/<code>/<bucket>@<deploy>/<path>`, as plain HTTP shows
 * the bucket. A browser is sent on to the root of the host if the bucket is there (`enterAtRoot`). Its pages are made by whoever
 * may write to the bucket, and so have the rights of the bucket's own pages. The address without a code ends a preview at the
 * root.
 */
export async function servePreview(
  { request, path }: { readonly request: Request; readonly path: string },
  options: PreviewOptions,
): Promise<Response> {
  if (path === previewPrefix) return leavePreview(request);
  const [, code = "", name = "", slash = ""] = addressForm.exec(path) ?? [];
  const { bucket: bucketName, deploy } = parseDeployTarget(decoded(name));
  if (deploy === undefined) return unknownPreview();
  const lease = options.acquire();
  try {
    const { buckets, clock } = lease.services;
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
      const target = { bucket, rest: base === "" ? "" : rest, isAtRoot };
      return withoutReferrer(toPublished(request, target));
    }
    const { tree } = shown;
    const isOwnHost = bucket.hosts.includes(host);
    if (base !== "" && isAtRoot) {
      const entered = enterAtRoot({ request, rest }, { code, deploy, shown, clock });
      if (entered !== undefined) return withoutReferrer(entered);
    }
    const response = await serveBucket(
      {
        request,
        base,
        keyBase: base,
        rest,
        bucket: { ...bucket, ...tree.place },
        isOwnHost,
        buckets,
        found: undefined,
        assertPresent: shown.assertPresent,
      },
      options.preview,
    );
    return withoutReferrer(unlisted(response));
  } finally {
    lease.release();
  }
}

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
  return withoutReferrer(
    unlisted(plainText(404, "404 Not Found: there is no such preview, or it has ended.")),
  );
}

/** For holders of a link that was right. */
function endedPreview(): Response {
  const line = "410 Gone: this preview has ended. Ask for another link.";
  return withoutReferrer(unlisted(plainText(410, line, errorReason("ended"))));
}

/** The address is what opens the preview: no other site gets it. */
function withoutReferrer(response: Response): Response {
  response.headers.set("referrer-policy", "no-referrer");
  return response;
}
