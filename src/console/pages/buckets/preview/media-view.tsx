import { useEffect, useState } from "preact/hooks";
import { bytes } from "../../../format.ts";
import { type Session, serverUrl, useSession } from "../../../session/session.ts";
import { t } from "../../../text/text.ts";
import { useLoad } from "../../../ui/call.tsx";
import { Skeleton } from "../../../ui/page.tsx";
import { Problem } from "../../../ui/problem.tsx";
import { visibleText } from "../../../ui/visible-text.tsx";
import type { OpenBucket } from "../bucket-access.ts";
import { nameOf, publicUrl } from "../path.ts";

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
export function ImageView({ openBucket, path, size, type }: MediaViewProps) {
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
export function PdfView({ openBucket, path, size, type }: MediaViewProps) {
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
export function PlayerView({ openBucket, path, as }: MediaViewProps & { readonly as: "audio" | "video" }) {
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
  const link = { name, path, expires_in: playSeconds };
  const { address } = await client.call("static-bucket-file_link", link);
  return `${serverUrl}${address}`;
}
