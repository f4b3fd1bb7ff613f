import type { LogEntry } from "../../../client/index.ts";
import { ago, time } from "../../format.ts";
import { linkTo } from "../../route.ts";
import { t } from "../../text/text.ts";
import { type LoadState, useCall } from "../../ui/call.tsx";
import { Problem } from "../../ui/problem.tsx";
import { auditRows } from "../activity/audit-rows.ts";
import { Change, Who } from "../activity/change.tsx";
import { useActors } from "../activity/use-actors.ts";

const refreshMs = 10_000;
const maxShown = 8;
/** Many entries about files become one line. */
const maxRead = 200;

/** The newest audit entries; undefined without the permission. */
export function useAudit(): LoadState<readonly LogEntry[] | undefined> {
  return useCall("audit_list", { limit: maxRead }, { every: refreshMs });
}

/** The newest changes, and who made them. */
export function ActivityCard({ audit }: { readonly audit: LoadState<readonly LogEntry[] | undefined> }) {
  const { value, error, reload } = audit;
  const rows = auditRows(value ?? []).slice(0, maxShown);
  const actors = useActors(rows);
  return (
    <section class="card overview-activity" aria-labelledby="activity">
      <header>
        <h2 id="activity">{t.overview.recentActivity}</h2>
        <a href={linkTo("activity")}>{t.overview.allActivity}</a>
      </header>
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value !== undefined && rows.length === 0 && <p class="muted">{t.activity.none}</p>}
      {rows.length > 0 && (
        <ol>
          {rows.map((row) => (
            <li key={row.key}>
              <div>
                <Change row={row} actors={actors} />
              </div>
              <div class="muted">
                <Who row={row} actors={actors} />
                {" · "}
                <time dateTime={row.entry.timestamp} title={time(row.at)}>
                  {ago(row.at)}
                </time>
              </div>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
