import { bytes, plural } from "../../../format.ts";
import { Button, IconButton } from "../../../ui/button.tsx";
import { Icon, type IconName } from "../../../ui/icons.tsx";
import { explain } from "../../../ui/problem.tsx";
import { VirtualRows } from "../../../ui/virtual-rows.tsx";
import type { Totals, Upload, UploadState } from "./upload.ts";
import { uploads } from "./uploads.ts";

const rowHeight = 44;

/** What is on its way, and what has become of it. */
export function UploadPanel() {
  uploads.changed.value;
  const { all, busy } = uploads;
  if (all.length === 0) return null;
  const totals = uploads.totals();
  return (
    <section class="card uploads" aria-label="Uploads">
      <header>
        <h2 aria-live="polite">{headline(totals, busy)}</h2>
        <div class="actions">
          {totals.counts.failed > 0 && <Button onClick={() => uploads.retry()}>Retry failed</Button>}
          {busy ? (
            <Button onClick={() => uploads.cancelAll()}>Cancel all</Button>
          ) : (
            <Button onClick={() => uploads.clear()}>Close</Button>
          )}
        </div>
      </header>
      {busy && (
        <div class="uploads-total">
          <progress aria-label="All uploads" max={Math.max(totals.bytes, 1)} value={totals.sent} />
          <span class="muted">
            {bytes(totals.sent)} of {bytes(totals.bytes)}, {bytes(Math.round(totals.rate))}/s
          </span>
        </div>
      )}
      <VirtualRows
        label="Files on their way"
        class="uploads-rows"
        count={all.length}
        rowHeight={rowHeight}
        row={(at) => {
          const upload = all[at];
          return upload === undefined ? null : <Row key={upload.id} upload={upload} />;
        }}
      />
    </section>
  );
}

export function headline({ counts }: Totals, busy: boolean): string {
  const over = [
    counts.failed > 0 ? `${counts.failed} failed` : "",
    counts.cancelled > 0 ? `${counts.cancelled} cancelled` : "",
  ];
  const main = busy
    ? `Uploading ${plural(counts.waiting + counts.running, "file")}`
    : `${plural(counts.done, "file")} uploaded`;
  return [main, ...over].filter((part) => part !== "").join(", ");
}

const icons: Readonly<Record<UploadState, IconName>> = {
  waiting: "more",
  running: "up",
  done: "check",
  failed: "warning",
  cancelled: "close",
};

function Row({ upload }: { readonly upload: Upload }) {
  const { state, path, bucket, size, sent, error } = upload;
  const open = state === "waiting" || state === "running";
  return (
    <li class={`uploads-row ${state}`}>
      <Icon name={icons[state]} />
      <span class="uploads-name" title={`${bucket}/${path}`}>
        {path}
      </span>
      <span class="uploads-state">
        {state === "running" ? (
          <progress aria-label={`Progress of ${path}`} max={Math.max(size, 1)} value={sent} />
        ) : (
          <span
            class={state === "failed" ? "fault" : "muted"}
            title={state === "failed" ? explain(error) : ""}
          >
            {state === "failed" ? explain(error) : words(state, size)}
          </span>
        )}
      </span>
      {open && <IconButton icon="close" label={`Cancel ${path}`} onClick={() => uploads.cancel(upload)} />}
    </li>
  );
}

function words(state: UploadState, size: number): string {
  if (state === "done") return bytes(size);
  return state === "waiting" ? "Waiting" : "Cancelled";
}
