import { contentsOf, type DropContents, droppedFolders } from "../uploads/drop.ts";
import { piecesOf, readZip, type SiteFile } from "./zip.ts";

/** Site is a folder or an archive that a person has chosen. */
export interface Site {
  /** Name of the folder or the archive, or an empty text for several things. */
  readonly name: string;
  readonly files: readonly SiteFile[];
  /** Files that no site needs: hidden ones, and those of package managers and of operating systems. */
  readonly skipped: number;
  /** Paths that no bucket can have. */
  readonly unusable: readonly string[];
}

/** What `node-server deploy` leaves out too, and what systems put into folders and archives. */
const skippedNames = new Set(["node_modules", "__macosx", "thumbs.db", "desktop.ini"]);

/** isSkipped returns whether a file is left out, by its path. The folder `.well-known` is part of sites (RFC 8615). */
function isSkipped(path: string): boolean {
  return path
    .split("/")
    .some((name) => skippedNames.has(name.toLowerCase()) || (name.startsWith(".") && name !== ".well-known"));
}

/** readSite returns the site in what was dropped or chosen: a ZIP archive, a folder, or several things. */
export async function readSite(dropped: DropContents): Promise<Site> {
  const [first] = dropped.files;
  const archive =
    dropped.files.length === 1 && first !== undefined && isArchive(first.path) ? first : undefined;
  if (archive === undefined) {
    const folders = droppedFolders(dropped);
    const isOne = folders.length === 1 && dropped.files.every(({ path }) => path.includes("/"));
    const { files } = (isOne ? contentsOf(dropped) : undefined) ?? dropped;
    return sorted(
      isOne ? (folders[0] ?? "") : "",
      files.map(({ path, file }) => ofBrowser(path, file)),
    );
  }
  let skipped = 0;
  const files = await readZip(archive.file, (path) => {
    if (isSkipped(path)) skipped += 1;
    return !isSkipped(path);
  });
  const site = sorted(archive.file.name, withoutTop(files));
  return { ...site, skipped: site.skipped + skipped };
}

function isArchive(path: string): boolean {
  return /^[^/]+\.zip$/i.test(path);
}

function sorted(name: string, files: readonly SiteFile[]): Site {
  const wanted = files.filter(({ path }) => !isSkipped(path));
  const isUsable = ({ path }: SiteFile) => !/^[A-Za-z]:|[\\\0]|\p{Surrogate}/u.test(path);
  return {
    name,
    files: wanted.filter(isUsable),
    skipped: files.length - wanted.length,
    unusable: wanted.filter((file) => !isUsable(file)).map(({ path }) => path),
  };
}

/** Most archives contain one folder with everything in it. */
function withoutTop(files: readonly SiteFile[]): readonly SiteFile[] {
  const [top = ""] = files[0]?.path.split("/", 1) ?? [];
  if (!files.every(({ path }) => path.startsWith(`${top}/`))) return files;
  return files.map((file) => ({ ...file, path: file.path.slice(top.length + 1) }));
}

function ofBrowser(path: string, file: File): SiteFile {
  return {
    path,
    size: file.size,
    pieces: () => piecesOf(file.stream(), (error) => error),
    blob: async () => file,
  };
}
