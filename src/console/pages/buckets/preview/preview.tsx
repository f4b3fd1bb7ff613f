import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { bounds } from "../../../../client/index.ts";
import { bytes, number, time } from "../../../format.ts";
import { type Session, serverUrl, useSession } from "../../../session/session.ts";
import { t } from "../../../text/text.ts";
import { Button, IconButton } from "../../../ui/button.tsx";
import { useLoad } from "../../../ui/call.tsx";
import { CopyButton, save } from "../../../ui/copy.tsx";
import { confirm, Dialog, type Question } from "../../../ui/dialog.tsx";
import { FileName } from "../../../ui/file-name.tsx";
import { Skeleton } from "../../../ui/page.tsx";
import { Problem } from "../../../ui/problem.tsx";
import { rich } from "../../../ui/rich.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import { mayCopyUrl, type OpenBucket } from "../bucket-access.ts";
import type { Entry } from "../files/model.ts";
import { linkKindsTo, MakeLink } from "../links/link-form.tsx";
import { join, nameOf, parentOf, publicUrl } from "../path.ts";
import { kindOf } from "./model.ts";
import { draftOf, dropDraft, TextView } from "./text-view.tsx";

interface PreviewProps {
  readonly openBucket: OpenBucket;
  /** Path of the file in the bucket. */
  readonly path: string;
  /** Undefined when the file does not exist. */
  readonly entry: Entry | undefined;
  /** Names of the files in the list, in its order, for "next" and "previous". */
  readonly names: readonly string[];
  /** Shows another file of the list. */
  readonly onStep: (name: string) => void;
  readonly onClose: () => void;
  /** Called when the file differs from its entry in the list. */
  readonly onChanged: () => void;
  /** Called when the record of the bucket has changed. */
  readonly onBucketChange: () => void;
}

/** Dialog that shows a file, with download, share and edit, and leads to its neighbours in the list. */
export function Preview(props: PreviewProps) {
  const { openBucket, path, entry, names, onStep, onClose, onChanged, onBucketChange } = props;
  const { name, site, access } = openBucket;
  const { rights } = useSession();
  const [isSharing, setSharing] = useState(false);
  const linkKinds = entry === undefined ? [] : linkKindsTo(rights, name, entry);
  const { files } = access;
  const close = async () => {
    const unsaved = draftOf(name, path) !== undefined;
    if (unsaved && !(await confirm(leaveQuestion()))) return;
    dropDraft(name, path);
    onClose();
  };
  return (
    <Dialog
      title={visibleText(entry?.name ?? t.files.noFile)}
      wide
      closesOnBackdrop
      onClose={() => void close()}
    >
      {entry === undefined ? (
        <>
          <p>{rich(t.files.noFileText, { name: <FileName name={path} /> })}</p>
          {files !== undefined && (
            <footer>
              <Button onClick={() => files.upload(path, "", { onlyNew: true }).then(onChanged)}>
                {t.files.createIt}
              </Button>
            </footer>
          )}
        </>
      ) : (
        <>
          <div class="files-facts">
            <span class="muted">{t.files.facts(bytes(entry.size ?? 0), time(entry.changed ?? 0))}</span>
            <Steps names={names} current={nameOf(path)} onStep={onStep} />
            <DownloadButton openBucket={openBucket} folder={parentOf(path)} entries={[entry]} />
            {mayCopyUrl(openBucket) && (
              <CopyButton
                icon="link"
                label={t.frame.copyUrl}
                text={publicUrl(serverUrl, { name, site, path })}
              />
            )}
            {linkKinds.length > 0 && (
              <Button icon="share" title={t.files.shareLink} onClick={() => setSharing(true)}>
                {t.files.share}
              </Button>
            )}
          </div>
          <PreviewContent
            key={path}
            openBucket={openBucket}
            path={path}
            entry={entry}
            onChanged={onChanged}
          />
          {isSharing && (
            <MakeLink
              openBucket={openBucket}
              kinds={linkKinds}
              path={path}
              onClose={() => setSharing(false)}
              onBucketChange={onBucketChange}
            />
          )}
        </>
      )}
    </Dialog>
  );
}

function leaveQuestion(): Question {
  const { leaveQuestion: title, leave: action } = t.frame;
  return { title, text: t.files.changesLost, action, danger: true };
}

/** What uses the arrow keys itself. */
const ownKeys = "input, textarea, select, audio, video, iframe, .editor, [role=tablist], [contenteditable]";

interface StepsProps {
  readonly names: readonly string[];
  readonly current: string;
  readonly onStep: (name: string) => void;
}

/** Buttons for the previous and next file of the list; also the arrow keys. A draft of the current file is kept. */
function Steps({ names, current, onStep }: StepsProps) {
  const at = names.indexOf(current);
  const [before, after] = [names[at - 1], names[at + 1]];
  const latest = useRef({ before, after, onStep });
  latest.current = { before, after, onStep };
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { key, target, altKey, ctrlKey, metaKey, shiftKey } = event;
      if (altKey || ctrlKey || metaKey || shiftKey || event.defaultPrevented) return;
      if (target instanceof Element && target.closest(ownKeys) !== null) return;
      // A question above the preview has the keys.
      if (document.querySelectorAll("dialog[open]").length > 1) return;
      const { before, after, onStep } = latest.current;
      const next = key === "ArrowLeft" ? before : key === "ArrowRight" ? after : undefined;
      if (next !== undefined) onStep(next);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const step = (name: string | undefined) => {
    if (name !== undefined) onStep(name);
  };
  if (at === -1 || names.length < 2) return null;
  return (
    <div class="preview-steps">
      <IconButton
        icon="previous"
        label={t.files.previousFile}
        disabled={before === undefined}
        onClick={() => step(before)}
      />
      <span class="muted">{t.files.fileOf(number(at + 1), number(names.length))}</span>
      <IconButton
        icon="next"
        label={t.files.nextFile}
        disabled={after === undefined}
        onClick={() => step(after)}
      />
    </div>
  );
}

interface PreviewContentProps {
  readonly openBucket: OpenBucket;
  readonly path: string;
  readonly entry: Entry;
  readonly onChanged: () => void;
}

function PreviewContent({ openBucket, path, entry, onChanged }: PreviewContentProps) {
  // The initial size decides, so that the view does not change when a saved file grows.
  const [size] = useState(entry.size ?? 0);
  if (!openBucket.access.mayRead) return <p>{t.files.mayNotRead}</p>;
  const kind = kindOf(path);
  const file = { openBucket, path, size };
  switch (kind.as) {
    case "image":
      return <ImageView {...file} type={kind.type} />;
    case "pdf":
      return <PdfView {...file} type={kind.type} />;
    case "audio":
    case "video":
      return <PlayerView {...file} as={kind.as} type={kind.type} />;
    case "archive":
    case "binary":
      return <p>{t.files.noPreview}</p>;
    case "unknown":
      return <TextView {...file} as="text" language="" onChanged={onChanged} />;
    default:
      return <TextView {...file} as={kind.as} language={kind.language} onChanged={onChanged} />;
  }
}

/** Validity of a download link: the download has to begin within it. */
const linkSeconds = 300;

export interface DownloadSelection {
  /** Folder of the entries. */
  readonly folder: string;
  readonly entries: readonly Pick<Entry, "name" | "folder">[];
  /** Whether the entries are all that the folder contains. */
  readonly isWholeFolder?: boolean;
}

/** Download button: one file as it is, several and folders as a ZIP archive. */
export function DownloadButton({
  openBucket,
  ...wanted
}: { readonly openBucket: OpenBucket } & DownloadSelection) {
  const session = useSession();
  const { access } = openBucket;
  if (!access.mayRead && access.readers !== "anybody") return null;
  const refusal = downloadRefusal(openBucket, wanted);
  const label = fileOf(wanted) === undefined ? t.files.downloadZip : t.files.download;
  return (
    <Button
      icon="download"
      title={refusal ?? label}
      disabled={refusal !== undefined}
      onClick={() => download(session, openBucket, wanted)}
    >
      {label}
    </Button>
  );
}

/** The file, if nothing else is wanted. */
function fileOf({ entries }: DownloadSelection): DownloadSelection["entries"][number] | undefined {
  const [one] = entries;
  return entries.length === 1 && one?.folder === false ? one : undefined;
}

/** Downloads one file as it is, several and folders as a ZIP archive. */
export function download(session: Session, openBucket: OpenBucket, wanted: DownloadSelection): Promise<void> {
  const file = fileOf(wanted);
  return file === undefined
    ? downloadZip(session, openBucket.name, wanted)
    : downloadFile(session, openBucket, join(wanted.folder, file.name), nameOf(file.name));
}

/** Reason why the selection cannot be downloaded; undefined when it can. */
export function downloadRefusal({ access }: OpenBucket, wanted: DownloadSelection): string | undefined {
  if (fileOf(wanted) !== undefined) return undefined;
  if (!access.mayRead) return t.files.mayNotRead;
  if (access.readers === "nobody") return t.files.zipOff;
  const { path, paths = [] } = zipOf(wanted);
  const size = paths.reduce((sum, name) => sum + new Blob([name]).size, path.length);
  const fits = paths.length <= bounds.maxLinkPaths && size < bounds.maxLinkPathsBytes;
  return fits ? undefined : t.files.tooManyDownloads(bounds.maxLinkPaths);
}

/** Folder of an archive, and what of it; without `paths` all of it. */
function zipOf({ folder, entries, isWholeFolder = false }: DownloadSelection): ZipParams {
  const [one] = entries;
  if (entries.length === 1 && one?.folder) return { path: join(folder, one.name) };
  return isWholeFolder ? { path: folder } : { path: folder, paths: entries.map(({ name }) => name) };
}

interface ZipParams {
  readonly path: string;
  readonly paths?: string[];
}

async function downloadZip({ client }: Session, name: string, wanted: DownloadSelection): Promise<void> {
  const link = { name, ...zipOf(wanted), zip: true, expires_in: linkSeconds, listed: false };
  follow(serverUrl + (await client.call("static-bucket-file_link", link)).address, "");
}

/**
 * The browser streams a public file to disk from its address, and a private one from a signed link; a file of a bucket that is
 * off is read into memory.
 */
async function downloadFile(
  { client }: Session,
  { name, access }: OpenBucket,
  path: string,
  saveAs: string,
): Promise<void> {
  if (access.readers === "anybody") follow(publicUrl(serverUrl, { name, path }), saveAs);
  else if (access.readers === "tokens") {
    const link = { name, path, expires_in: linkSeconds, listed: false };
    follow(serverUrl + (await client.call("static-bucket-file_link", link)).address, saveAs);
  } else save(saveAs, (await access.read(path)).blob);
}

/** Without a name, the one that the server says is used. */
function follow(href: string, name: string): void {
  const link = document.createElement("a");
  link.href = href;
  link.download = name;
  link.click();
}

interface MediaViewProps {
  readonly openBucket: OpenBucket;
  readonly path: string;
  /** Size in bytes when the view was opened. */
  readonly size: number;
  /** Media type, of the file's name. */
  readonly type: string;
}

/** These are read into memory. */
const maxImageBytes = 32 * 1024 * 1024;
const maxPdfBytes = 64 * 1024 * 1024;

/** Image in an `<img>` element, where an SVG cannot run scripts. */
function ImageView({ openBucket, path, size, type }: MediaViewProps) {
  const { address, error, reload } = useBlobAddress(openBucket, path, type, size <= maxImageBytes);
  const [broken, setBroken] = useState(false);
  if (size > maxImageBytes) return <p>{t.files.imageTooLarge(bytes(maxImageBytes))}</p>;
  if (error !== undefined) return <Problem error={error} retry={reload} />;
  if (broken) return <p>{t.files.notAnImage}</p>;
  if (address === undefined) return <Skeleton rows={4} />;
  return (
    <div class="files-image">
      <img src={address} alt={visibleText(nameOf(path))} onError={() => setBroken(true)} />
    </div>
  );
}

/**
 * PDF in the browser's own viewer. Its frame shows a blob of the type `application/pdf`, which inherits the Content-Security-Policy of
 * this page: content that is not a PDF runs nothing.
 */
function PdfView({ openBucket, path, size, type }: MediaViewProps) {
  const hasViewer = navigator.pdfViewerEnabled;
  const isShown = hasViewer && size <= maxPdfBytes;
  const { address, error, reload } = useBlobAddress(openBucket, path, type, isShown);
  if (!hasViewer) return <p>{t.files.noPdfViewer}</p>;
  if (!isShown) return <p>{t.files.pdfTooLarge(bytes(maxPdfBytes))}</p>;
  if (error !== undefined) return <Problem error={error} retry={reload} />;
  if (address === undefined) return <Skeleton rows={6} />;
  return <iframe class="preview-pdf" src={address} title={t.files.contentOf(visibleText(path))} />;
}

/** Sound or video, streamed: the browser asks for the ranges that it plays. */
function PlayerView({ openBucket, path, as }: MediaViewProps & { readonly as: "audio" | "video" }) {
  const session = useSession();
  const { value, error, reload } = useLoad(() => addressToRead(session, openBucket, path), [path]);
  const [broken, setBroken] = useState(false);
  useEffect(() => (value?.startsWith("blob:") ? () => URL.revokeObjectURL(value) : undefined), [value]);
  if (error !== undefined) return <Problem error={error} retry={reload} />;
  if (broken) return <p>{t.files.notPlayable}</p>;
  if (value === undefined) return <Skeleton rows={2} />;
  const label = t.files.contentOf(visibleText(path));
  const onError = () => setBroken(true);
  return as === "audio" ? (
    // biome-ignore lint/a11y/useMediaCaption: a file of a bucket has none.
    <audio
      class="preview-player"
      src={value}
      aria-label={label}
      controls
      preload="metadata"
      onError={onError}
    />
  ) : (
    // biome-ignore lint/a11y/useMediaCaption: a file of a bucket has none.
    <video
      class="preview-player"
      src={value}
      aria-label={label}
      controls
      preload="metadata"
      onError={onError}
    />
  );
}

/** Reads a file, and has a `blob:` address of it while the component is there. */
function useBlobAddress(openBucket: OpenBucket, path: string, type: string, isWanted: boolean) {
  const { value, error, reload } = useLoad(
    async (signal) =>
      isWanted ? new Blob([(await openBucket.access.read(path, signal)).blob], { type }) : undefined,
    [path],
  );
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    if (value === undefined) return;
    const url = URL.createObjectURL(value);
    setAddress(url);
    return () => URL.revokeObjectURL(url);
  }, [value]);
  return { address, error, reload };
}

/** How long a player can ask for further parts of a private file. */
const playSeconds = 6 * 3600;

/**
 * Address from which the browser itself reads a file: the public one, a signed link, or, for a bucket that is off, a blob in
 * memory. No token is in it.
 */
async function addressToRead(
  { client }: Session,
  { name, access }: OpenBucket,
  path: string,
): Promise<string> {
  if (access.readers === "anybody") return publicUrl(serverUrl, { name, path });
  if (access.readers !== "tokens") return URL.createObjectURL((await access.read(path)).blob);
  const link = { name, path, expires_in: playSeconds, listed: false };
  const { address } = await client.call("static-bucket-file_link", link);
  return `${serverUrl}${address}`;
}
