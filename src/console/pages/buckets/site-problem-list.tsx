import type { PublishedDeploy } from "../../../client/index.ts";
import { t } from "../../text/text.ts";

export type SiteProblem = PublishedDeploy["problems"][number];

/** Lines of `_headers` and `_redirects` that do not do what their author wants. */
export function SiteProblemList({ problems }: { readonly problems: readonly SiteProblem[] }) {
  return (
    <ul class="site-problems">
      {problems.map(({ file, line, level, why }) => (
        <li key={`${file} ${line} ${why}`}>
          <span class={level === "error" ? "badge bad" : "badge warn"}>
            {level === "error" ? t.bucketTabs.error : t.bucketTabs.warning}
          </span>
          <span class="mono">{line === 0 ? file : `${file}:${line}`}</span>
          <span>{why}</span>
        </li>
      ))}
    </ul>
  );
}
