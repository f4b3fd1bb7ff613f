import type { Bucket } from "../../../client/index.ts";
import { serverUrl } from "../../session.ts";
import { t } from "../../text/text.ts";
import { Icon } from "../../ui/icons.tsx";
import { publicUrl } from "./path.ts";

interface Site {
  readonly name: string;
  readonly bucket: Bucket | null | undefined;
}

/**
 * Address of the site of a bucket; undefined when a browser could not open it: it is off, or private without a host name at which
 * browsers can sign in.
 */
export function siteUrl({ name, bucket }: Site): string | undefined {
  if (bucket == null || !bucket.enable) return undefined;
  if (bucket.public === false && bucket.hosts === undefined) return undefined;
  return publicUrl(serverUrl, { name, bucket, path: "" });
}

/** Address without what all addresses of this server have in common. */
export function shortAddress(url: string): string {
  return url.startsWith(`${serverUrl}/`)
    ? url.slice(serverUrl.length)
    : url.replace(/^https?:\/\//, "").replace(/\/$/, "");
}

/** Button that opens the site in a new tab. */
export function OpenSite(site: Site) {
  const url = siteUrl(site);
  if (url === undefined) return null;
  return (
    <a class="button" href={url} target="_blank" rel="noopener noreferrer">
      <Icon name="external" />
      <span>{t.buckets.openSite}</span>
    </a>
  );
}
