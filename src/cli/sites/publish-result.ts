import { visible } from "../../base/visible-text.ts";
import type { NodeServerClient } from "../../client/index.ts";
import { addressAtHost, addressOfBucket, bucketAddress } from "../buckets/bucket-address.ts";
import type { Context } from "../context.ts";
import { webAddress } from "../remote/addresses.ts";

/** A mistake in `_headers` or `_redirects`, as the server found it. */
interface SiteProblem {
  readonly file: string;
  readonly line: number;
  readonly level: "error" | "warning";
  readonly why: string;
}

export interface PublishResult {
  readonly deploy: string;
  readonly replaced: string | null;
  readonly problems?: readonly SiteProblem[];
  readonly host?: string | null;
  readonly at_root?: boolean;
}

/**
 * Returns the address at which visitors find a site that was published. An older server does not say it, and only tells it to
 * tokens that may read the bucket's record.
 */
export async function publishedAddress(
  client: NodeServerClient,
  bucket: string,
  { host = null, at_root }: PublishResult,
): Promise<string> {
  if (at_root === undefined) return addressOfBucket(client, bucket);
  const hosts = host === null ? [] : [host];
  return bucketAddress(client, { name: bucket, is_http_root: at_root, hosts });
}

/** Names the mistakes in the rules of a site that was published, one a line. An older server does not send them. */
export function reportProblems(ctx: Context, published: PublishResult): readonly SiteProblem[] {
  const { problems = [] } = published;
  for (const { file, line, why } of problems) ctx.say(`note: ${visible(file)}:${line}: ${visible(why)}`);
  return problems;
}

interface Preview {
  readonly address: string;
  readonly expires: number;
}

/** Makes an address at which a deploy can be looked at before it is published, and says what a browser makes of it. */
export async function previewAddress(
  ctx: Context,
  client: NodeServerClient,
  { bucket, deploy }: { readonly bucket: string; readonly deploy: string },
): Promise<Preview> {
  const made = await client.call("static-bucket_deploy_preview", { name: bucket, deploy });
  // An older server does not send `host` and `at_root`.
  const { address, expires, host = null, at_root } = made;
  const addressOf = (path: string) =>
    host === null ? webAddress(client.url, path) : addressAtHost(client.url, host, path);
  if (at_root === true)
    ctx.say(
      `a browser that opens the preview shows it instead of the site, for an hour or until it opens ${addressOf("/node/preview/")}`,
    );
  if (at_root === false)
    ctx.say(
      `note: links that begin with / leave the preview, because ${bucket} has no host name of its own (\`node-server buckets update ${bucket} --host NAME\`)`,
    );
  return { address: addressOf(address), expires };
}
