import { visible } from "../../base/visible-text.ts";
import type { DeployCheck, NodeServerClient, PublishedDeploy } from "../../client/index.ts";
import { addressAtHost, bucketAddress } from "../buckets/bucket-address.ts";
import type { Context } from "../context.ts";
import { webAddress } from "../remote/addresses.ts";
import { numberText } from "../terminal/quantities.ts";

/** Returns the address at which visitors find a site that was published. */
export function publishedAddress(
  client: NodeServerClient,
  bucket: string,
  { host, at_root }: PublishedDeploy,
): string {
  return bucketAddress(client, { name: bucket, is_http_root: at_root, hosts: host === null ? [] : [host] });
}

/** Names the mistakes in the rules of a site, one a line. */
export function reportProblems(ctx: Context, { problems }: Pick<PublishedDeploy, "problems">): void {
  for (const { file, line, why } of problems) ctx.say(`note: ${visible(file)}:${line}: ${visible(why)}`);
}

/** Says what the publication of a deploy would change, and names the mistakes in its rules. */
export async function checkDeploy(
  ctx: Context,
  client: NodeServerClient,
  { bucket, deploy }: { readonly bucket: string; readonly deploy: string },
): Promise<DeployCheck> {
  const checked = await client.call("static-bucket_deploy_check", { name: bucket, deploy });
  reportProblems(ctx, checked);
  const { added, changed, removed, unchanged } = checked;
  const counts = [
    `${numberText(added)} added`,
    `${numberText(changed)} changed`,
    `${numberText(removed)} removed`,
  ];
  ctx.say(`compared with the published files: ${counts.join(", ")}, ${numberText(unchanged)} unchanged`);
  return checked;
}

/** Lines of the rules that are not applied as written. */
export function errorsIn({ problems }: Pick<PublishedDeploy, "problems">): number {
  return problems.filter(({ level }) => level === "error").length;
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
  const { address, expires, host, at_root } = made;
  const addressOf = (path: string) =>
    host === null ? webAddress(client.url, path) : addressAtHost(client.url, host, path);
  if (at_root)
    ctx.say(
      `a browser that opens the preview shows it instead of the site, for an hour or until it opens ${addressOf("/node/preview/")}`,
    );
  else
    ctx.say(
      `note: links that begin with / leave the preview, because ${bucket} has no host name of its own (\`node-server buckets update ${bucket} --host NAME\`)`,
    );
  return { address: addressOf(address), expires };
}
