import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { bytes, duration, plural } from "../../../format.ts";
import { Button, IconButton } from "../../../ui/button.tsx";
import { Icon, type IconName } from "../../../ui/icons.tsx";
import { explain } from "../../../ui/problem.tsx";
import { VirtualRows } from "../../../ui/virtual-rows.tsx";
import { FileName, visibleText } from "../../../ui/visible-text.tsx";
import type { Totals, Upload, UploadState } from "./upload.ts";
import { uploads } from "./upload-queue.ts";

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

const icons: Readonly<Record<UploadState, IconName>> = {
  waiting: "more",
  running: "up",
  done: "check",
  failed: "warning",
  cancelled: "close",
};

/** One upload: its path, progress and buttons. */
function UploadRow({ upload }: { readonly upload: Upload }) {
  const { state, path, bucket, size, sent, error } = upload;
  const name = visibleText(path);
  const isOpen = state === "waiting" || state === "running";
  const isOver = state === "failed" || state === "cancelled";
  return (
    <li class={`uploads-row ${state}`}>
      <Icon name={icons[state]} />
      <span class="uploads-name" title={`${bucket}/${name}`}>
        <FileName name={path} />
      </span>
      <span class="uploads-state">
        {state === "running" ? (
          <progress aria-label={`Progress of ${name}`} max={Math.max(size, 1)} value={sent} />
        ) : (
          <span
            class={state === "failed" ? "fault" : "muted"}
            title={state === "failed" ? explain(error) : ""}
          >
            {state === "failed" ? explain(error) : stateText(state, size)}
          </span>
        )}
      </span>
      {isOpen && (
        <IconButton
          icon="close"
          label={`Cancel ${name}`}
          onClick={ignoreDoubleClick(() => uploads.cancel(upload))}
        />
      )}
      {isOver && (
        <IconButton
          icon="retry"
          label={`Retry ${name}`}
          onClick={ignoreDoubleClick(() => uploads.retry(upload))}
        />
      )}
    </li>
  );
}

/**
 * Ignores the second click of a double click. The first one changes the row and may move it, so the second would hit a button that
 * the person did not aim at: Retry, or another row's Cancel. A key press has a `detail` of 0.
 */
function ignoreDoubleClick(act: () => void): (event: MouseEvent) => void {
  return ({ detail }) => {
    if (detail <= 1) act();
  };
}

function stateText(state: UploadState, size: number): string {
  if (state === "done") return bytes(size);
  return state === "waiting" ? "Waiting" : "Cancelled";
}
