import { time } from "../../format.ts";
import { Button } from "../../ui/button.tsx";
import { save } from "../../ui/save.ts";
import { entries } from "./line.ts";
import type { Reading } from "./reading.ts";
import { mostRows, type Row, toJsonLines } from "./rows.ts";
import { Status } from "./status.tsx";

/** The buttons beside the title. */
export function Actions({ reading, rows }: { readonly reading: Reading; readonly rows: readonly Row[] }) {
  const paused = reading.paused.value;
  return (
    <>
      <span class="logs-count muted">{howMany(rows.length, reading.shown.value.length)}</span>
      <Status reading={reading} />
      <Button
        icon={paused ? "play" : "pause"}
        title="Space"
        onClick={() => (paused ? reading.resume() : reading.pause())}
      >
        {paused ? "Resume" : "Pause"}
      </Button>
      <Button
        icon="trash"
        title="Empties this page; the server keeps its entries"
        disabled={reading.shown.value.length === 0}
        onClick={() => reading.clear()}
      >
        Clear
      </Button>
      <Button
        icon="update"
        title="Saves what is listed, one JSON object a line"
        disabled={rows.length === 0}
        onClick={() => save(fileName(), new Blob([toJsonLines(rows)], { type: "application/x-ndjson" }))}
      >
        Export
      </Button>
    </>
  );
}

function howMany(listed: number, all: number): string {
  if (listed < all) return `${listed.toLocaleString("en")} of ${entries(all)}`;
  return all < mostRows ? entries(all) : `the newest ${entries(all)}`;
}

function fileName(): string {
  return `log-${time(Date.now()).replace(" ", "-").replaceAll(":", "")}.jsonl`;
}
