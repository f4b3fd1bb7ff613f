import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { bytes, duration, plural } from "../../../format.ts";
import { Button, IconButton } from "../../../ui/button.tsx";
import { VirtualRows } from "../../../ui/virtual-rows.tsx";
import type { Totals, Upload, UploadState } from "./upload.ts";
import { uploads } from "./upload-queue.ts";
import { ignoreDoubleClick, UploadRow } from "./upload-row.tsx";

const rowHeight = 44;

/** Whether the panel shows only its headline. On a phone the list would cover half of the page. */
const collapsed = signal(matchMedia("(max-width: 760px)").matches);

/** Running and finished uploads, docked in the corner of every page. */
export function UploadPanel() {
  uploads.changed.value;
  return uploads.all.length === 0 ? null : <Docked />;
}

function Docked() {
  const dock = useRef<HTMLElement>(null);
  useLayoutEffect(() => reserveDockSpace(dock.current), []);
  // Reads the signal, because components with signals re-render only for the signals they read.
  uploads.changed.value;
  const { all, busy } = uploads;
  const totals = uploads.totals();
  const isOpen = !collapsed.value;
  return (
    <section ref={dock} class={isOpen ? "uploads" : "uploads collapsed"} aria-label="Uploads">
      <header>
        <h2 aria-live="polite">{headline(totals, busy)}</h2>
        <div class="actions">
          {isOpen && totals.counts.failed > 0 && (
            <Button onClick={() => uploads.retry()}>Retry failed</Button>
          )}
          {isOpen && busy && <Button onClick={() => uploads.cancelAll()}>Cancel all</Button>}
          {!busy && <Button onClick={ignoreDoubleClick(() => uploads.clear())}>Close</Button>}
          <IconButton
            icon={isOpen ? "collapse" : "expand"}
            label={isOpen ? "Hide the list of uploads" : "Show the list of uploads"}
            onClick={() => {
              collapsed.value = isOpen;
            }}
          />
        </div>
      </header>
      {busy && (
        <div class="uploads-total">
          <progress aria-label="All uploads" max={Math.max(totals.bytes, 1)} value={totals.sent} />
          <span class="muted">{progressText(totals)}</span>
        </div>
      )}
      {isOpen && <Rows ordered={byUrgency(all)} />}
    </section>
  );
}

function Rows({ ordered }: { readonly ordered: readonly Upload[] }) {
  return (
    <VirtualRows
      label="Uploading files"
      class="uploads-rows"
      count={ordered.length}
      rowHeight={rowHeight}
      row={(at) => {
        const upload = ordered[at];
        return upload === undefined ? null : <UploadRow key={upload.id} upload={upload} />;
      }}
    />
  );
}

/** Display order: uploads that need attention first, then running ones. */
const order: readonly UploadState[] = ["failed", "running", "waiting", "cancelled", "done"];

export function byUrgency(all: readonly Upload[]): Upload[] {
  return order.flatMap((wanted) => all.filter(({ state }) => state === wanted));
}

function headline({ counts }: Totals, busy: boolean): string {
  const over = [
    counts.failed > 0 ? `${counts.failed} failed` : "",
    counts.cancelled > 0 ? `${counts.cancelled} cancelled` : "",
  ];
  const main = busy
    ? `Uploading ${plural(counts.waiting + counts.running, "file")}`
    : `${plural(counts.done, "file")} uploaded`;
  return [main, ...over].filter((part) => part !== "").join(", ");
}

function progressText({ sent, bytes: all, rate, leftMs }: Totals): string {
  const parts = [`${bytes(sent)} of ${bytes(all)}`];
  if (rate > 0) parts.push(`${bytes(Math.round(rate))}/s`);
  if (leftMs !== undefined) parts.push(`${duration(leftMs)} left`);
  return parts.join(", ");
}

/** Publishes the height of the dock: toasts stay above it, and the end of a page can be scrolled above it. */
function reserveDockSpace(dock: HTMLElement | null): (() => void) | undefined {
  if (dock === null) return undefined;
  const { style } = document.documentElement;
  const observer = new ResizeObserver(() => style.setProperty("--dock-height", `${dock.offsetHeight}px`));
  observer.observe(dock);
  return () => {
    observer.disconnect();
    style.removeProperty("--dock-height");
  };
}
