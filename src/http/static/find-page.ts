import type { FileEntry, FileSnapshot, TreeReader } from "../../buckets/file-reader.ts";
import { childPath, parseTreePath, pathSegment, splitPath, type TreePath } from "../../buckets/path.ts";
import type { DecodedPath } from "./decode-path.ts";

const indexPage = pathSegment("index.html");
const pageType = ".html";

/** Page is the file that is sent for a path. */
export interface Page {
  readonly kind: "file";
  readonly file: FileEntry;
  /** The path as it was asked for, in the Unicode form that the store has, with its slash. */
  readonly at: string;
  /** What else must stay as it is for this file to be the one. */
  readonly dependencies: readonly FileSnapshot[];
}

/** FoundPage is what a path leads to. */
export type FoundPage =
  | Page
  /** A page whose address is another path of the bucket. */
  | { readonly kind: "moved"; readonly to: string }
  /** A folder with a page, asked for without the slash, or a folder without a page. */
  | { readonly kind: "folder"; readonly hasPage: boolean }
  | { readonly kind: "nothing" };

const nothing: FoundPage = { kind: "nothing" };

export interface PageOptions {
  /** Whether `/about` is the address of `about.html`. */
  readonly cleanUrls: boolean;
}

/** findPage finds what is sent for a path: a file, the `index.html` of a folder, or with `cleanUrls` the page of that name. */
export async function findPage(
  reader: TreeReader,
  { path, slash }: DecodedPath,
  { cleanUrls }: PageOptions,
): Promise<FoundPage> {
  const entry = await reader.find(path);
  if (entry?.kind === "file" && !slash) return cleanUrls ? atItsAddress(reader, entry) : pageOf(entry);
  if (entry?.kind === "folder") {
    const index = await reader.find(childPath(entry.path, indexPage));
    if (index?.kind === "file")
      return slash
        ? { ...pageOf(index), at: entry.path === "" ? "" : `${entry.path}/` }
        : { kind: "folder", hasPage: true };
  }
  const page = cleanUrls && path !== "" && entry?.kind !== "file" ? await namedPage(reader, path) : undefined;
  if (page !== undefined) {
    const at = page.path.slice(0, -pageType.length);
    const { folder: above, name } = splitPath(page.path);
    if (name === indexPage) return { kind: "moved", to: above === "" ? "" : `${above}/` };
    if (slash) return { kind: "moved", to: at };
    const folder = entry === undefined ? [] : [reader.snapshotOfMissing(childPath(entry.path, indexPage))];
    return {
      kind: "file",
      file: page,
      at,
      dependencies: [entry?.snapshot() ?? reader.snapshotOfMissing(path), ...folder],
    };
  }
  return entry?.kind === "folder" ? { kind: "folder", hasPage: false } : nothing;
}

/** findContent finds the file that a rule answers with, whichever its own address is; undefined if there is none. */
export async function findContent(
  reader: TreeReader,
  { path }: DecodedPath,
  { cleanUrls }: PageOptions,
): Promise<Page | undefined> {
  const entry = await reader.find(path);
  if (entry?.kind === "file") return pageOf(entry);
  const index = entry && (await reader.find(childPath(entry.path, indexPage)));
  if (index?.kind === "file") return pageOf(index);
  const page = cleanUrls && path !== "" ? await namedPage(reader, path) : undefined;
  return page && pageOf(page);
}

function pageOf(file: FileEntry): Page {
  return { kind: "file", file, at: file.path, dependencies: [] };
}

/** A page that was asked for by the name of its file has another address, unless something else has that one. */
async function atItsAddress(reader: TreeReader, file: FileEntry): Promise<FoundPage> {
  const { folder, name } = splitPath(file.path);
  if (name === indexPage) return { kind: "moved", to: folder === "" ? "" : `${folder}/` };
  if (!name.endsWith(pageType) || name === pageType) return pageOf(file);
  const clean = parseTreePath(file.path.slice(0, -pageType.length));
  if (clean === undefined) return pageOf(file);
  const other = await reader.find(clean);
  if (other === undefined) return { kind: "moved", to: clean };
  if (other.kind === "file") return { ...pageOf(file), dependencies: [other.snapshot()] };
  const index = await reader.find(childPath(other.path, indexPage));
  if (index?.kind !== "file") return { kind: "moved", to: clean };
  return { ...pageOf(file), dependencies: [index.snapshot()] };
}

async function namedPage(reader: TreeReader, path: TreePath): Promise<FileEntry | undefined> {
  const named = parseTreePath(path + pageType);
  const page = named && (await reader.find(named));
  return page?.kind === "file" ? page : undefined;
}
