import { bytes } from "../../../format.ts";
import { IconButton } from "../../../ui/button.tsx";
import { Icon, type IconName } from "../../../ui/icons.tsx";
import { explain } from "../../../ui/problem.tsx";
import { FileName, visibleText } from "../../../ui/visible-text.tsx";
import type { Upload, UploadState } from "./upload.ts";
import { uploads } from "./uploads.ts";

const icons: Readonly<Record<UploadState, IconName>> = {
  waiting: "more",
  running: "up",
  done: "check",
  failed: "warning",
  cancelled: "close",
};

/** One upload: where it goes, how far it is, and what can be done about it. */
export function UploadRow({ upload }: { readonly upload: Upload }) {
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
            {state === "failed" ? explain(error) : words(state, size)}
          </span>
        )}
      </span>
      {isOpen && (
        <IconButton icon="close" label={`Cancel ${name}`} onClick={single(() => uploads.cancel(upload))} />
      )}
      {isOver && (
        <IconButton icon="retry" label={`Retry ${name}`} onClick={single(() => uploads.retry(upload))} />
      )}
    </li>
  );
}

/**
 * Ignores the second click of a double click. The first one changes the row and may move it, so the second is on a button that the person
 * did not see: Retry, or another row's Cancel. A key press has a `detail` of 0.
 */
export function single(act: () => void): (event: MouseEvent) => void {
  return ({ detail }) => {
    if (detail <= 1) act();
  };
}

function words(state: UploadState, size: number): string {
  if (state === "done") return bytes(size);
  return state === "waiting" ? "Waiting" : "Cancelled";
}
