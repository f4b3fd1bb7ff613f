import { useEffect, useState } from "preact/hooks";
import { sentences } from "../../format.ts";
import { linkTo } from "../../route.ts";
import { useSession } from "../../session.ts";
import { t } from "../../text/text.ts";
import { Problem } from "../../ui/problem.tsx";
import { visibleText } from "../../ui/visible-text.tsx";
import { LevelBadge } from "../logs/level-badge.tsx";
import { entryCount, fieldPairs, lineText, preciseTime } from "../logs/line.ts";
import { LogFeed } from "../logs/log-feed.ts";
import type { Row } from "../logs/rows.ts";

const filter = "warn";
const maxShown = 8;
const maxRowsInMemory = 500;

/** Warnings and errors, live; undefined without the permission. */
export function useProblems(): LogFeed | undefined {
  const session = useSession();
  const isAllowed = session.rights.may("log_stream");
  const [feed] = useState(() => (isAllowed ? new LogFeed(session, maxRowsInMemory) : undefined));
  useEffect(() => {
    void feed?.follow(filter);
    return () => feed?.close();
  }, []);
  return feed;
}

/** Newest warnings and errors. */
export function ProblemsCard({ feed }: { readonly feed: LogFeed }) {
  const read = () => void feed.follow(filter);
  const rows = feed.shown.value;
  const status = feed.status.value;
  return (
    <section class="card overview-problems" aria-labelledby="problems">
      <header>
        <h2 id="problems">{t.overview.problems}</h2>
        <a href={linkTo("logs", [], { filter })}>{t.overview.openInLogs}</a>
      </header>
      {status.state === "failed" && <Problem error={status.error} retry={read} />}
      <p class="muted" role="status">
        {sentences(
          status.state === "connecting" ? t.overview.readingLog : summary(rows.length),
          status.state === "broken" && t.overview.waitsForServer,
        )}
      </p>
      {rows.length > 0 && (
        <ol>
          {rows
            .slice(-maxShown)
            .reverse()
            .map((row) => (
              <ProblemRow key={row.id} row={row} />
            ))}
        </ol>
      )}
    </section>
  );
}

function summary(count: number): string {
  if (count === 0) return t.overview.noProblems;
  return count <= maxShown ? entryCount(count) : t.overview.newestOf(entryCount(count));
}

function ProblemRow({ row }: { readonly row: Row }) {
  if (row.kind !== "entry") return <li>{lineText(row)}</li>;
  const { level, target, message, timestamp, fields } = row.entry;
  const { event: _code, ...facts } = fields;
  return (
    <li>
      <LevelBadge level={level} /> <code>{target}</code>{" "}
      <time class="muted" dateTime={timestamp}>
        {preciseTime(timestamp)}
      </time>
      <p>
        {message} <span class="muted">{visibleText(fieldPairs(facts))}</span>
      </p>
    </li>
  );
}
