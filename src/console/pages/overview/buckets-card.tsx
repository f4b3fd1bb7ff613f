import { bytes } from "../../format.ts";
import { linkTo } from "../../route.ts";
import { t } from "../../text/text.ts";
import { FileName } from "../../ui/visible-text.tsx";
import type { BucketSize } from "./bucket-sizes.ts";

const maxShown = 6;

/** The largest buckets. */
export function BucketsCard({ buckets }: { readonly buckets: readonly BucketSize[] }) {
  const total = buckets.reduce((sum, bucket) => sum + bucket.bytes, 0);
  const largest = buckets[0]?.bytes ?? 0;
  return (
    <section class="card overview-buckets" aria-labelledby="buckets">
      <header>
        <h2 id="buckets">{t.overview.bucketsBySize}</h2>
        <a href={linkTo("buckets")}>{t.overview.allBuckets}</a>
      </header>
      {buckets.length === 0 ? (
        <p class="muted">{t.overview.noBuckets}</p>
      ) : (
        <>
          <p class="muted">{t.overview.bucketsTotal(buckets.length, bytes(total))}</p>
          <ul>
            {buckets.slice(0, maxShown).map(({ name, files, bytes: size }) => (
              <li key={name}>
                <a href={linkTo("buckets", [name])}>
                  <FileName name={name} />
                </a>
                <span class="muted">{t.frame.countFiles(files)}</span>
                <span class="number">{bytes(size)}</span>
                <div class="overview-track">
                  <div
                    class="overview-bar"
                    style={{ width: `${largest === 0 ? 0 : (100 * size) / largest}%` }}
                  />
                </div>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
