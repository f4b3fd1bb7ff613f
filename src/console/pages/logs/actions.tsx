import { time } from "../../format.ts";
import { Button } from "../../ui/button.tsx";
import { save } from "../../ui/save.ts";
import { entryCount } from "./line.ts";
import type { LogFeed } from "./log-feed.ts";
import { maxRows, type Row, toJsonLines } from "./rows.ts";

/** Entry count, connection status and buttons beside the title. */
export function Actions({ feed, rows }: { readonly feed: LogFeed; readonly rows: readonly Row[] }) {
  const paused = feed.paused.value;
  return (
    <>
      <span class="logs-count muted">{howMany(rows.length, feed.shown.value.length)}</span>
      <Status feed={feed} />
      <Button
        icon={paused ? "play" : "pause"}
        title="Space"
        onClick={() => (paused ? feed.resume() : feed.pause())}
      >
        {paused ? "Resume" : "Pause"}
      </Button>
      <Button
        icon="trash"
        title="Empties this page; the server keeps its entries"
        disabled={feed.shown.value.length === 0}
        onClick={() => feed.clear()}
      >
        Clear
      </Button>
      <Button
        icon="update"
        title="Saves the listed entries, one JSON object per line"
        disabled={rows.length === 0}
        onClick={() => save(fileName(), new Blob([toJsonLines(rows)], { type: "application/x-ndjson" }))}
      >
        Export
      </Button>
    </>
  );
}

function howMany(listed: number, all: number): string {
  if (listed < all) return `${listed.toLocaleString("en")} of ${entryCount(all)}`;
  return all < maxRows ? entryCount(all) : `the newest ${entryCount(all)}`;
}

function fileName(): string {
  return `log-${time(Date.now()).replace(" ", "-").replaceAll(":", "")}.jsonl`;
}

/** Badge that says whether new entries arrive. */
function Status({ feed }: { readonly feed: LogFeed }) {
  const [kind, word, more] = statusOf(feed);
  return (
    <span role="status" class={`badge ${kind}`} title={more}>
      {word}
    </span>
  );
}

function statusOf(feed: LogFeed): readonly [kind: string, word: string, more: string] {
  const now = feed.status.value;
  if (now.state === "failed") return ["bad", "Stopped", "No new entries arrive"];
  if (now.state === "broken") return ["warn", "Reconnecting…", now.why];
  if (now.state === "connecting")
    return feed.filterError.value === undefined
      ? ["", "Connecting…", "Opening the log stream"]
      : ["bad", "Stopped", "The filter is invalid"];
  return feed.paused.value
    ? ["accent", "Paused", "New entries are held back until you resume"]
    : ["good", "Live", "New entries appear as they are written"];
}
