import { useState } from "preact/hooks";
import { bytes, time } from "../../../format.ts";
import { serverUrl } from "../../../session.ts";
import { CopyButton } from "../../../ui/copy.tsx";
import { confirm, Dialog } from "../../../ui/dialog.tsx";
import { FileName, visibleText } from "../../../ui/visible-text.tsx";
import { publicUrl } from "../addresses.ts";
import type { Entry } from "../files/entry.ts";
import type { Opened } from "../opened.ts";
import { DownloadButton } from "./download.tsx";
import { draftOf, dropDraft } from "./drafts.ts";
import { ImageView } from "./image-view.tsx";
import { kindOf } from "./kind.ts";
import { TextView } from "./text-view.tsx";

/** Larger texts make an editor slow, and larger answers to a call are refused. */
export const largestText = 1024 * 1024;
const largestImage = 32 * 1024 * 1024;

export interface PreviewProps {
  readonly opened: Opened;
  /** Of the file, in the bucket. */
  readonly path: string;
  /** Undefined when there is no such file. */
  readonly entry: Entry | undefined;
  readonly onClose: () => void;
  /** The file in the bucket is no longer the one that was listed. */
  readonly onChanged: () => void;
}

/** A file: what it shows, what it is, and what can be done with it. */
export function Preview({ opened, path, entry, onClose, onChanged }: PreviewProps) {
  const { name, bucket, door } = opened;
  const close = async () => {
    const unsaved = draftOf(name, path) !== undefined;
    if (unsaved && !(await confirm(leaveQuestion))) return;
    dropDraft(name, path);
    onClose();
  };
  return (
    <Dialog
      title={visibleText(entry?.name ?? "No such file")}
      wide
      closesOnBackdrop
      onClose={() => void close()}
    >
      {entry === undefined ? (
        <p>
          There is no file <FileName name={path} /> in this bucket. It may have been moved or deleted.
        </p>
      ) : (
        <>
          <div class="files-facts">
            <span class="muted">
              {bytes(entry.size ?? 0)}, changed {time(entry.changed)}
            </span>
            <DownloadButton opened={opened} paths={[path]} />
            {door.isPublic !== false && (
              <CopyButton
                label="Copy URL"
                text={publicUrl(serverUrl, name, bucket?.is_http_root ?? false, path)}
              />
            )}
          </div>
          <Shown opened={opened} path={path} entry={entry} onChanged={onChanged} />
        </>
      )}
    </Dialog>
  );
}

const leaveQuestion = {
  title: "Leave without saving?",
  text: "What you changed in this file is lost.",
  action: "Leave",
  danger: true,
};

function Shown(props: Omit<PreviewProps, "onClose"> & { readonly entry: Entry }) {
  const { opened, path, entry } = props;
  // A file keeps its view while it is saved and grows.
  const [size] = useState(entry.size ?? 0);
  const kind = kindOf(path);
  if (!opened.door.mayRead)
    return <p>This token may not read files of this bucket: it needs StaticBucketFile::Read on it.</p>;
  if (kind.as === "image")
    return size > largestImage ? (
      <p>This picture is larger than {bytes(largestImage)}, too large to show here. Download it instead.</p>
    ) : (
      <ImageView {...props} type={kind.type} />
    );
  if (kind.as === "binary")
    return <p>There is no preview for this kind of file. Download it to look inside.</p>;
  if (size > largestText)
    return <p>Texts above 1 MiB are not shown here: this file is larger. Download it to look inside.</p>;
  return <TextView {...props} language={kind.as === "text" ? kind.language : ""} />;
}
