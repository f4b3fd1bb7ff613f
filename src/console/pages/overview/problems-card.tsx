import { useEffect, useState } from "preact/hooks";
import { linkTo } from "../../route.ts";
import { useSession } from "../../session.ts";
import { Problem } from "../../ui/problem.tsx";
import { LevelBadge } from "../logs/level-badge.tsx";
import { clock, entries, lineOf } from "../logs/line.ts";
import { Reading } from "../logs/reading.ts";
import type { Row } from "../logs/rows.ts";

const filter = "warn";
const mostShown = 8;
const mostKept = 500;

/** The newest warnings and errors, as they happen. */
export function ProblemsCard() {
  const session = useSession();
  const [reading] = useState(() => new Reading(session, mostKept));
  const read = () => void reading.follow(filter);
  useEffect(() => {
    read();
    return () => reading.close();
  }, []);
  const rows = reading.shown.value;
  const standing = reading.standing.value;
  return (
    <section class="card overview-problems" aria-labelledby="problems">
      <header>
        <h2 id="problems">Warnings and errors</h2>
        <a href={linkTo("logs", [], { filter })}>Open in the logs</a>
      </header>
      {standing.state === "failed" && <Problem error={standing.error} retry={read} />}
      <p class="muted" role="status">
        {standing.state === "connecting" ? "Reading the log…" : summary(rows.length)}
        {standing.state === "broken" && " The server is away; waiting for it."}
      </p>
      {rows.length > 0 && (
        <ol>
          {rows
            .slice(-mostShown)
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
  return count <= mostShown ? entries(count) : `The newest of ${entries(count)}`;
}

function ProblemRow({ row }: { readonly row: Row }) {
  if (row.kind !== "entry") return <li>{lineOf(row)}</li>;
  const { level, target, message, timestamp } = row.entry;
  return (
    <li>
      <LevelBadge level={level} /> <code>{target}</code>{" "}
      <time class="muted" dateTime={timestamp}>
        {clock(timestamp)}
      </time>
      <p>{message}</p>
    </li>
  );
}
