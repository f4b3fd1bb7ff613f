import { NotNodeServer } from "./errors.ts";
import { FileConflict } from "./file-error.ts";

/** What a folder of a bucket holds. */
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

/** Asks for just what an entry holds. */
export const listingQuestion =
  '<propfind xmlns="DAV:"><prop><resourcetype/><getcontentlength/><getlastmodified/><getetag/></prop></propfind>';

const head = /^<\?xml version="1\.0" encoding="utf-8"\?>\n<D:multistatus xmlns:D="DAV:">\n/;
const end = "</D:multistatus>\n";
/** One resource, exactly as a node-server answers that question. */
const resource = new RegExp(
  [
    "<D:response><D:href>([^<]+)</D:href><D:propstat><D:prop>",
    "(?:<D:resourcetype/>|(<D:resourcetype><D:collection/></D:resourcetype>))",
    "(?:<D:getcontentlength>(\\d+)</D:getcontentlength>)?",
    "<D:getlastmodified>([^<]+)</D:getlastmodified>",
    "(?:<D:getetag>([^<]+)</D:getetag>)?",
    "</D:prop><D:status>HTTP/1\\.1 200 OK</D:status></D:propstat>",
    "(?:<D:propstat><D:prop>(?:<D:\\w+/>)+</D:prop><D:status>HTTP/1\\.1 404 Not Found</D:status></D:propstat>)?",
    "</D:response>\\n",
  ].join(""),
  "y",
);

/**
 * Reads the answer: the folder itself, then what it holds. No XML parser, because not every runtime has one, and pages
 * that enforce Trusted Types may not use theirs.
 */
export function parseListing(xml: string, folder: string, address: string): BucketEntry[] {
  const foreign = () => new NotNodeServer(`${address} is no node-server: it answers with another listing`);
  let at = head.exec(xml)?.[0].length ?? -1;
  if (at === -1) throw foreign();
  let own: string | undefined;
  const entries: BucketEntry[] = [];
  while (!(xml.startsWith(end, at) && at + end.length === xml.length)) {
    resource.lastIndex = at;
    const found = resource.exec(xml);
    if (found === null) throw foreign();
    at = resource.lastIndex;
    const [, href = "", collection, size, modified = "", etag] = found;
    if (own === undefined) {
      if (collection === undefined) throw new FileConflict(`${folder}: it is a file, not a folder`, 409);
      own = href;
      continue;
    }
    const entry = toEntry(nameIn(href, own), collection !== undefined, size, new Date(modified), etag);
    if (entry === undefined) throw foreign();
    entries.push(entry);
  }
  if (own === undefined) throw foreign();
  return entries.sort(
    (a, b) => Number(b.folder) - Number(a.folder) || (a.name < b.name ? -1 : Number(a.name > b.name)),
  );
}

function toEntry(
  name: string | undefined,
  folder: boolean,
  size: string | undefined,
  modified: Date,
  etag: string | undefined,
): BucketEntry | undefined {
  if (name === undefined || Number.isNaN(modified.getTime())) return undefined;
  if (folder) return { name, folder, size: undefined, modified, etag: undefined };
  if (size === undefined || etag === undefined) return undefined;
  return { name, folder, size: Number(size), modified, etag: unescapeXml(etag) };
}

/** The name of what is directly below the folder; undefined for anything else. */
function nameIn(href: string, folder: string): string | undefined {
  const below = href.startsWith(folder) ? href.slice(folder.length).replace(/\/$/, "") : "";
  if (below === "" || below.includes("/")) return undefined;
  try {
    return decodeURIComponent(unescapeXml(below));
  } catch {
    return undefined;
  }
}

const characters: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#13;": "\r",
};

function unescapeXml(text: string): string {
  return text.replace(/&[^;]*;/g, (entity) => characters[entity] ?? entity);
}
