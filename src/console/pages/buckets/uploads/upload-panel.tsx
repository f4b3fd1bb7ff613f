import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { bytes, duration } from "../../../format.ts";
import { route } from "../../../route.ts";
import { t } from "../../../text/text.ts";
import { Button, IconButton } from "../../../ui/button.tsx";
import { FileName } from "../../../ui/file-name.tsx";
import { Icon, type IconName } from "../../../ui/icons.tsx";
import { VirtualRows } from "../../../ui/list.tsx";
import { publishHeight } from "../../../ui/page.tsx";
import { explain, explainFor, isUnreachable } from "../../../ui/problem.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import type { NextTry, Totals, Upload, UploadState } from "./queue.ts";
import { uploads } from "./queue.ts";

const rowHeight = 44;

/** Whether the panel shows only its headline. On a phone the list would cover half of the page. */
const collapsed = signal(matchMedia("(max-width: 760px)").matches);

/** Running and finished uploads, docked in the corner of every page. */
export function UploadPanel() {
  uploads.changed.value;
  return uploads.all.length === 0 ? null : <UploadDock />;
}

function UploadDock() {
  const dock = useRef<HTMLElement>(null);
  useLayoutEffect(() => publishHeight(dock.current, "--dock-height"), []);
  // Reads the signal, because components with signals re-render only for the signals they read.
  uploads.changed.value;
  const { all, busy } = uploads;
  const totals = uploads.totals();
  const isOpen = !collapsed.value;
  const { page } = route.value;
  const seenOn = useRef(page);
  useEffect(() => {
    // What has succeeded was seen on the page before, and would cover what is done next.
    if (page !== seenOn.current && !busy && totals.counts.done === all.length) uploads.clear();
    seenOn.current = page;
  }, [page]);
  return (
    <section ref={dock} class={isOpen ? "uploads" : "uploads collapsed"} aria-label={t.files.uploads}>
      <header>
        <h2 aria-live="polite">{headline(totals, busy)}</h2>
        <div class="actions">
          {isOpen && totals.counts.failed > 0 && (
            <Button onClick={() => uploads.retry()}>{t.files.retryFailed}</Button>
          )}
          {isOpen && busy && <Button onClick={() => uploads.cancelAll()}>{t.files.cancelAll}</Button>}
          {!busy && <Button onClick={ignoreDoubleClick(() => uploads.clear())}>{t.frame.close}</Button>}
          <IconButton
            icon={isOpen ? "collapse" : "expand"}
            label={isOpen ? t.files.hideUploads : t.files.showUploads}
            onClick={() => {
              collapsed.value = isOpen;
            }}
          />
        </div>
      </header>
      {busy && (
        <div class="uploads-total">
          <progress aria-label={t.files.allUploads} max={Math.max(totals.bytes, 1)} value={totals.sent} />
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
      label={t.files.uploadingFiles}
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

function byUrgency(all: readonly Upload[]): Upload[] {
  return order.flatMap((wanted) => all.filter(({ state }) => state === wanted));
}

function headline({ counts }: Totals, busy: boolean): string {
  const over = [
    counts.failed > 0 ? t.files.failedCount(counts.failed) : "",
    counts.cancelled > 0 ? t.files.cancelledCount(counts.cancelled) : "",
  ];
  const main = busy
    ? t.files.uploading(t.frame.countFiles(counts.waiting + counts.running))
    : t.files.uploaded(t.frame.countFiles(counts.done));
  return notes([main, ...over].filter((part) => part !== ""));
}

function progressText({ sent, bytes: all, rate, leftMs, nextTry }: Totals): string {
  const parts = [t.files.sentOf(bytes(sent), bytes(all))];
  if (nextTry !== undefined) return notes([...parts, nextTryText(nextTry)]);
  if (rate > 0) parts.push(`${bytes(Math.round(rate))}/s`);
  if (leftMs !== undefined) parts.push(t.files.timeLeft(duration(leftMs)));
  return notes(parts);
}

function notes(parts: readonly string[]): string {
  return parts.reduce((before, part) => t.files.totals(before, part));
}

function nextTryText(nextTry: NextTry): string {
  const { error } = nextTry;
  const why = isUnreachable(error) ? t.files.waitsForServer : explain(error);
  return t.files.waitsBecause(why, countdown(nextTry));
}

function countdown({ at }: NextTry): string {
  const seconds = Math.max(Math.ceil((at - performance.now()) / 1000), 0);
  return seconds === 0 ? t.files.triesNow : t.files.nextTry(duration(1000 * seconds));
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
  // An upload is changed in place; see `UploadDock`.
  uploads.changed.value;
  const { state, path, bucket, size, sent, error, nextTry } = upload;
  const name = visibleText(path);
  const isOpen = state === "waiting" || state === "running";
  const isOver = state === "failed" || state === "cancelled";
  return (
    <li class={`uploads-row ${state}`}>
      <Icon name={nextTry === undefined ? icons[state] : "retry"} />
      <span class="uploads-name" title={`${bucket}/${name}`}>
        <FileName name={path} />
      </span>
      <span class="uploads-state">
        {nextTry !== undefined ? (
          <span title={nextTryText(nextTry)}>{countdown(nextTry)}</span>
        ) : state === "running" ? (
          <progress aria-label={t.files.progressOfName(name)} max={Math.max(size, 1)} value={sent} />
        ) : (
          <span
            class={state === "failed" ? "fault" : "muted"}
            title={state === "failed" ? explainFor(path, error) : ""}
          >
            {state === "failed" ? explainFor(path, error) : stateText(state, size)}
          </span>
        )}
      </span>
      {isOpen && (
        <IconButton
          icon="close"
          label={t.files.cancelOne(name)}
          onClick={ignoreDoubleClick(() => uploads.cancel(upload))}
        />
      )}
      {isOver && (
        <IconButton
          icon="retry"
          label={t.files.retryOne(name)}
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
  return state === "waiting" ? t.files.waiting : t.files.cancelled;
}
