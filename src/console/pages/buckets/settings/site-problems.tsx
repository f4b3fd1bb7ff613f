import type { Bucket } from "../../../../client/index.ts";
import { linkTo } from "../../../route.ts";
import { useSession } from "../../../session.ts";
import { t } from "../../../text/text.ts";
import { useLoad } from "../../../ui/call.tsx";
import { Problem } from "../../../ui/problem.tsx";
import { rich } from "../../../ui/rich.tsx";
import { Skeleton } from "../../../ui/skeleton.tsx";
import { type SiteProblem, SiteProblemList } from "../site-problem-list.tsx";

/** What is wrong with `_headers` and `_redirects` of the files that the bucket is served from. */
export function SiteProblems({ bucket }: { readonly bucket: Bucket }) {
  const { client } = useSession();
  const { name } = bucket;
  const { value, error, reload } = useLoad(
    (signal): Promise<SiteProblem[]> => client.call("static-bucket_site_problems", { name }, { signal }),
    [client, bucket],
  );
  const linkToFile = (file: string) => (
    <a class="mono" href={linkTo("buckets", [name], { file })}>
      {file}
    </a>
  );
  return (
    <section class="card form site-rules">
      <h2>{t.bucketTabs.rules}</h2>
      <p class="muted">
        {rich(t.bucketTabs.rulesAbout, {
          headers: linkToFile("_headers"),
          redirects: linkToFile("_redirects"),
        })}
      </p>
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value === undefined && error === undefined && <Skeleton rows={1} />}
      {value?.length === 0 && <p class="notice good">{t.bucketTabs.noProblems}</p>}
      {value !== undefined && value.length > 0 && <SiteProblemList problems={value} />}
    </section>
  );
}
