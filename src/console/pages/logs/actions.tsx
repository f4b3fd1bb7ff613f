import { number, time } from "../../format.ts";
import { t } from "../../text/text.ts";
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
        title={t.logs.spaceKey}
        onClick={() => (paused ? feed.resume() : feed.pause())}
      >
        {paused ? t.logs.resume : t.logs.pause}
      </Button>
      <Button
        icon="trash"
        title={t.logs.clearTitle}
        disabled={feed.shown.value.length === 0}
        onClick={() => feed.clear()}
      >
        {t.logs.clear}
      </Button>
      <Button
        icon="download"
        title={t.logs.exportTitle}
        disabled={rows.length === 0}
        onClick={() => save(fileName(), new Blob([toJsonLines(rows)], { type: "application/x-ndjson" }))}
      >
        {t.logs.export}
      </Button>
    </>
  );
}

function howMany(listed: number, all: number): string {
  if (listed < all) return t.logs.listedOf(number(listed), entryCount(all));
  return all < maxRows ? entryCount(all) : t.logs.newest(entryCount(all));
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
  if (now.state === "failed") return ["bad", t.logs.stopped, t.logs.noNew];
  if (now.state === "broken") return ["warn", t.logs.reconnecting, now.why];
  if (now.state === "connecting")
    return feed.filterError.value === undefined
      ? ["", t.logs.connecting, t.logs.opening]
      : ["bad", t.logs.stopped, t.logs.invalidFilter];
  return feed.paused.value
    ? ["accent", t.logs.paused, t.logs.heldBack]
    : ["good", t.logs.live, t.logs.appear];
}
