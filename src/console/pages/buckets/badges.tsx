import type { Bucket } from "../../../client/index.ts";
import { t } from "../../text/text.ts";

/** Whether a bucket is public, private, off, or the HTTP root. */
export function Badges({ bucket }: { readonly bucket: Bucket | null | undefined }) {
  if (bucket === null) return <span class="badge warn">{t.buckets.missing}</span>;
  if (bucket === undefined) return null;
  return (
    <>
      {bucket.public === false ? (
        <span class="badge accent">{t.buckets.private}</span>
      ) : (
        <span class="badge">{t.buckets.public}</span>
      )}
      {bucket.is_http_root && <span class="badge accent">{t.buckets.httpRoot}</span>}
      {bucket.cors && <span class="badge">{t.buckets.cors}</span>}
      {!bucket.enable && <span class="badge warn">{t.buckets.off}</span>}
    </>
  );
}
