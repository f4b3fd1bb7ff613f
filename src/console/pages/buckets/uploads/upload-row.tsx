import { bytes } from "../../../format.ts";
import { IconButton } from "../../../ui/button.tsx";
import { Icon, type IconName } from "../../../ui/icons.tsx";
import { explain } from "../../../ui/problem.tsx";
import { FileName, visibleText } from "../../../ui/visible-text.tsx";
import type { Upload, UploadState } from "./upload.ts";
import { uploads } from "./upload-queue.ts";

const icons: Readonly<Record<UploadState, IconName>> = {
  waiting: "more",
  running: "up",
  done: "check",
  failed: "warning",
  cancelled: "close",
};

/** One upload: its path, progress and buttons. */
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
export function ignoreDoubleClick(act: () => void): (event: MouseEvent) => void {
  return ({ detail }) => {
    if (detail <= 1) act();
  };
}

function stateText(state: UploadState, size: number): string {
  if (state === "done") return bytes(size);
  return state === "waiting" ? "Waiting" : "Cancelled";
}
