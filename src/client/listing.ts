import { NotNodeServer } from "./errors.ts";
import { FileConflict } from "./file-error.ts";
import { child, dav, propertiesOf } from "./multistatus.ts";
import { eachElement, type XmlElement, XmlSyntaxError } from "./xml.ts";

/** BucketEntry is a file or a folder of a bucket. */
export type BucketEntry =
  | {
      readonly name: string;
      readonly folder: false;
      /** In bytes. */
      readonly size: number;
      /** To the second. */
      readonly modified: Date;
      /** For `ifMatch` of an upload. */
      readonly etag: string;
    }
  | {
      readonly name: string;
      readonly folder: true;
      readonly size: undefined;
      readonly modified: Date;
      readonly etag: undefined;
    };

/** A PROPFIND body that asks for just what an entry has. */
export const listingRequest =
  '<propfind xmlns="DAV:"><prop><resourcetype/><getcontentlength/><getlastmodified/><getetag/></prop></propfind>';

/**
 * Reads the answer: the folder itself, then what it holds. Over WebDAV and not by `static-bucket-file_list`, because an answer
 * of JSON-RPC is limited in size, and that method names neither empty folders nor ETags.
 */
export function parseListing(xml: string, folder: string, address: string): BucketEntry[] {
  let own: string | undefined;
  const entries: BucketEntry[] = [];
  const take = (response: XmlElement) => {
    const { href, found, isFolder } = readResource(response);
    if (own !== undefined) entries.push(toEntry(nameIn(href, own), isFolder, found));
    else if (isFolder) own = href;
    else throw new FileConflict(`${folder}: it is a file, not a folder`, 409);
  };
  readResponses(xml, address, take);
  if (own === undefined) throw notListing(address);
  return entries.sort(
    (a, b) => Number(b.folder) - Number(a.folder) || (a.name < b.name ? -1 : Number(a.name > b.name)),
  );
}

/** Reads the answer about one resource. */
export function parseEntry(xml: string, path: string, address: string): BucketEntry {
  let entry: BucketEntry | undefined;
  readResponses(xml, address, (response) => {
    const { found, isFolder } = readResource(response);
    entry ??= toEntry(path.replace(/\/$/, "").split("/").at(-1), isFolder, found);
  });
  if (entry === undefined) throw notListing(address);
  return entry;
}

function readResource(response: XmlElement) {
  const href = child(response, "href")?.text.trim() ?? "";
  const found = propertiesOf(response);
  if (found === undefined) throw new XmlSyntaxError("a resource has no properties");
  return { href, found, isFolder: child(child(found, "resourcetype"), "collection") !== undefined };
}

function readResponses(xml: string, address: string, take: (response: XmlElement) => void): void {
  try {
    if (eachElement(xml, dav("response"), take) !== dav("multistatus"))
      throw new XmlSyntaxError("it is not a listing");
  } catch (error) {
    if (!(error instanceof XmlSyntaxError)) throw error;
    throw notListing(address, error);
  }
}

function notListing(address: string, cause?: XmlSyntaxError): NotNodeServer {
  return new NotNodeServer(`${address} is not a node-server: it answers with another listing`, { cause });
}

function toEntry(name: string | undefined, folder: boolean, found: XmlElement): BucketEntry {
  const modified = new Date(child(found, "getlastmodified")?.text ?? "");
  if (name === undefined || Number.isNaN(modified.getTime()))
    throw new XmlSyntaxError("a resource has no name in the folder, or no time");
  if (folder) return { name, folder, size: undefined, modified, etag: undefined };
  const size = Number(child(found, "getcontentlength")?.text ?? "NaN");
  const etag = child(found, "getetag")?.text;
  if (Number.isNaN(size) || etag === undefined) throw new XmlSyntaxError("a file has no size or no ETag");
  return { name, folder, size, modified, etag };
}

/** The name of an entry directly below the folder; undefined for anything else. */
function nameIn(href: string, folder: string): string | undefined {
  const below = href.startsWith(folder) ? href.slice(folder.length).replace(/\/$/, "") : "";
  if (below === "" || below.includes("/")) return undefined;
  try {
    return decodeURIComponent(below);
  } catch {
    return undefined;
  }
}
