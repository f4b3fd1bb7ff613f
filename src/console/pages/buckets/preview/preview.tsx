import { useEffect, useState } from "preact/hooks";
import { bytes, time } from "../../../format.ts";
import { serverUrl } from "../../../session.ts";
import { CopyButton } from "../../../ui/copy.tsx";
import { confirm, Dialog } from "../../../ui/dialog.tsx";
import { useLoad } from "../../../ui/load.ts";
import { Problem } from "../../../ui/problem.tsx";
import { FileName, visibleText } from "../../../ui/visible-text.tsx";
import type { OpenBucket } from "../bucket-access.ts";
import type { Entry } from "../files/entries.ts";
import { publicUrl } from "../path.ts";
import { DownloadButton } from "./download.tsx";
import { draftOf, dropDraft } from "./drafts.ts";
import { kindOf } from "./file-content.ts";
import { TextView } from "./text-view.tsx";

/** Larger texts make the editor slow, and the server refuses larger RPC results. */
export const maxTextBytes = 1024 * 1024;
const maxImageBytes = 32 * 1024 * 1024;

export interface PreviewProps {
  readonly openBucket: OpenBucket;
  /** Path of the file in the bucket. */
  readonly path: string;
  /** Undefined when the file does not exist. */
  readonly entry: Entry | undefined;
  readonly onClose: () => void;
  /** Called when the file differs from its entry in the list. */
  readonly onChanged: () => void;
}

/** Dialog that shows a file, with download and edit. */
export function Preview({ openBucket, path, entry, onClose, onChanged }: PreviewProps) {
  const { name, bucket, access } = openBucket;
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
            <DownloadButton openBucket={openBucket} paths={[path]} />
            {access.isPublic !== false && (
              <CopyButton
                label="Copy URL"
                text={publicUrl(serverUrl, { bucket: name, isRoot: bucket?.is_http_root ?? false, path })}
              />
            )}
          </div>
          <PreviewContent openBucket={openBucket} path={path} entry={entry} onChanged={onChanged} />
        </>
      )}
    </Dialog>
  );
}

const leaveQuestion = {
  title: "Leave without saving?",
  text: "Your changes to this file will be lost.",
  action: "Leave",
  danger: true,
};

function PreviewContent(props: Omit<PreviewProps, "onClose"> & { readonly entry: Entry }) {
  const { openBucket, path, entry } = props;
  // The initial size decides, so that the view does not change when a saved file grows.
  const [size] = useState(entry.size ?? 0);
  const kind = kindOf(path);
  if (!openBucket.access.mayRead)
    return <p>This token may not read files of this bucket: it needs StaticBucketFile::Read on it.</p>;
  if (kind.as === "image")
    return size > maxImageBytes ? (
      <p>This image is larger than {bytes(maxImageBytes)}, too large to show here. Download it instead.</p>
    ) : (
      <ImageView {...props} type={kind.type} />
    );
  if (kind.as === "binary")
    return <p>There is no preview for this kind of file. Download it to look inside.</p>;
  if (size > maxTextBytes)
    return <p>Text files above 1 MiB are not shown here. Download it to look inside.</p>;
  return <TextView {...props} language={kind.as === "text" ? kind.language : ""} />;
}

export interface ImageViewProps {
  readonly openBucket: OpenBucket;
  readonly path: string;
  readonly entry: Entry;
  readonly type: string;
}

/** Image in an `<img>` element, where an SVG cannot run scripts. */
function ImageView({ openBucket, path, entry, type }: ImageViewProps) {
  const { value, error, reload } = useLoad(
    async (signal) => new Blob([(await openBucket.access.read(path, signal)).blob], { type }),
    [path],
  );
  const [address, setAddress] = useState<string>();
  const [broken, setBroken] = useState(false);
  useEffect(() => {
    if (value === undefined) return;
    const url = URL.createObjectURL(value);
    setAddress(url);
    return () => URL.revokeObjectURL(url);
  }, [value]);
  if (error !== undefined) return <Problem error={error} retry={reload} />;
  if (broken) return <p>This file cannot be shown: the browser cannot read it as an image.</p>;
  if (address === undefined) return <p class="loading">Loading…</p>;
  return (
    <div class="files-image">
      <img src={address} alt={entry.name} onError={() => setBroken(true)} />
    </div>
  );
}
