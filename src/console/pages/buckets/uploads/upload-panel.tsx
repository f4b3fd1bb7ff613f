import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { bytes, duration, plural } from "../../../format.ts";
import { Button, IconButton } from "../../../ui/button.tsx";
import { VirtualRows } from "../../../ui/virtual-rows.tsx";
import type { Totals, Upload, UploadState } from "./upload.ts";
import { single, UploadRow } from "./upload-row.tsx";
import { uploads } from "./uploads.ts";

const rowHeight = 44;

/** Whether the panel shows its headline alone. On a phone it would cover half of the page. */
const collapsed = signal(matchMedia("(max-width: 760px)").matches);

/** Uploads on their way and what has become of them, docked in the corner of every page. */
export function UploadPanel() {
  uploads.changed.value;
  return uploads.all.length === 0 ? null : <Docked />;
}

function Docked() {
  const dock = useRef<HTMLElement>(null);
  useLayoutEffect(() => reserveRoom(dock.current), []);
  // A component that reads signals is drawn anew for those alone.
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
          {!busy && <Button onClick={single(() => uploads.clear())}>Close</Button>}
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
      {isOpen && <Rows ordered={inOrder(all)} />}
    </section>
  );
}

function Rows({ ordered }: { readonly ordered: readonly Upload[] }) {
  return (
    <VirtualRows
      label="Files on their way"
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

/** Those that need somebody stand first, then those that move. */
const order: readonly UploadState[] = ["failed", "running", "waiting", "cancelled", "done"];

export function inOrder(all: readonly Upload[]): Upload[] {
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

/** Tells the page how high the dock is: toasts stand above it, and the end of a page can be scrolled out from under it. */
function reserveRoom(dock: HTMLElement | null): (() => void) | undefined {
  if (dock === null) return undefined;
  const { style } = document.documentElement;
  const observer = new ResizeObserver(() => style.setProperty("--dock-height", `${dock.offsetHeight}px`));
  observer.observe(dock);
  return () => {
    observer.disconnect();
    style.removeProperty("--dock-height");
  };
}
