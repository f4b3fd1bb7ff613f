import { type Session, serverUrl, useSession } from "../../../session.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { save } from "../../../ui/save.ts";
import type { OpenBucket } from "../bucket-access.ts";
import type { Entry } from "../files/entries.ts";
import { join, nameOf, publicUrl } from "../path.ts";

/** Validity of a download link: the download has to begin within it. */
const linkSeconds = 300;
/** As many selected names as the server takes. */
const maxZipNames = 2000;
const maxZipNamesBytes = 64 * 1024;

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
  const fits = paths.length <= maxZipNames && size < maxZipNamesBytes;
  return fits ? undefined : t.files.tooManyDownloads(maxZipNames);
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
  const link = { name, ...zipOf(wanted), zip: true, expires_in: linkSeconds };
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
    const link = { name, path, expires_in: linkSeconds };
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
