import { useEffect, useState } from "preact/hooks";
import { linkTo } from "../../route.ts";
import { useSession } from "../../session.ts";
import { Problem } from "../../ui/problem.tsx";
import { LevelBadge } from "../logs/level-badge.tsx";
import { entryCount, lineText, preciseTime } from "../logs/line.ts";
import { LogFeed } from "../logs/log-feed.ts";
import type { Row } from "../logs/rows.ts";

const filter = "warn";
const maxShown = 8;
const maxRowsInMemory = 500;

/** Newest warnings and errors, live. */
export function ProblemsCard() {
  const session = useSession();
  const [feed] = useState(() => new LogFeed(session, maxRowsInMemory));
  const read = () => void feed.follow(filter);
  useEffect(() => {
    read();
    return () => feed.close();
  }, []);
  const rows = feed.shown.value;
  const status = feed.status.value;
  return (
    <section class="card overview-problems" aria-labelledby="problems">
      <header>
        <h2 id="problems">Warnings and errors</h2>
        <a href={linkTo("logs", [], { filter })}>Open in the logs</a>
      </header>
      {status.state === "failed" && <Problem error={status.error} retry={read} />}
      <p class="muted" role="status">
        {status.state === "connecting" ? "Reading the log…" : summary(rows.length)}
        {status.state === "broken" && " The server cannot be reached; waiting for it."}
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
  if (count === 0) return "None in the server’s memory. New ones appear here.";
  return count <= maxShown ? entryCount(count) : `The newest of ${entryCount(count)}`;
}

function ProblemRow({ row }: { readonly row: Row }) {
  if (row.kind !== "entry") return <li>{lineText(row)}</li>;
  const { level, target, message, timestamp } = row.entry;
  return (
    <li>
      <LevelBadge level={level} /> <code>{target}</code>{" "}
      <time class="muted" dateTime={timestamp}>
        {preciseTime(timestamp)}
      </time>
      <p>{message}</p>
    </li>
  );
}
