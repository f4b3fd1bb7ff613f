import { escapeXml } from "../../base/xml.ts";
import type { TreePath } from "../../buckets/path.ts";
import type { BucketView, FileEntry, FileStats } from "../../buckets/ports.ts";
import { type Checksums, checksumNames } from "./checksums.ts";
import { S3Error } from "./errors.ts";

/** User metadata of one object: names and values together. */
const maxMetadataBytes = 8 * 1024;
/** Headers of a PUT that a GET answers. */
const contentHeaders = [
  "cache-control",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-type",
  "expires",
] as const;
const metadataPrefix = "x-amz-meta-";

/** ObjectRecord is what S3 knows of a file or a folder beside its content. It is one dead property, so that it moves with its file. */
export interface ObjectRecord {
  /** Content headers and `x-amz-meta-*`, by their names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** True for a folder that was put as an object. */
  readonly marker?: true;
  /** What was computed of the content. */
  readonly content?: ContentRecord;
}

/** ContentRecord is right as long as the file has this entity tag: another way of changing it does not know this record. */
interface ContentRecord {
  readonly of: string;
  /** MD5 in hexadecimal; of a multipart upload with the number of its parts. */
  readonly etag: string;
  readonly checksums?: Checksums;
  /** Set if `checksums` are those of the checksums of the parts. */
  readonly composite?: true;
  /** The sizes of the parts of a multipart upload. */
  readonly parts?: readonly number[];
}

/** S3Object is a file or folder as S3 shows it. */
export interface S3Object {
  /** With its quotes. */
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly marker: boolean;
  readonly content: Omit<ContentRecord, "of" | "etag"> | undefined;
}

/** The property, as `{namespace}name`. */
const namespace = "https://node-server.dev/s3";
const propertyName = `{${namespace}}object`;
const [opening, closing] = [`<n:object xmlns:n="${namespace}">`, "</n:object>"];
const etagOfNothing = '"d41d8cd98f00b204e9800998ecf8427e"';

/** recordChanges returns the change of properties that stores a record, in place of the one before. */
export function recordChanges(record: ObjectRecord): ReadonlyMap<string, string> {
  return new Map([[propertyName, opening + escapeXml(JSON.stringify(record)) + closing]]);
}

/** withoutRecord is the change of properties that deletes a record. */
export const withoutRecord: ReadonlyMap<string, string | undefined> = new Map([[propertyName, undefined]]);

/** contentRecord returns what is stored of content that was put as a file with these stats. */
export function contentRecord({ etag }: FileStats, content: Omit<ContentRecord, "of">): ContentRecord {
  const { checksums, ...rest } = content;
  const hasChecksums = checksums !== undefined && Object.keys(checksums).length > 0;
  return { of: etag, ...rest, ...(hasChecksums && { checksums }) };
}

/** readObject returns what S3 shows of a file or folder. */
export async function readObject(
  { metadata }: BucketView,
  entry: Pick<FileEntry, "path" | "kind" | "stats">,
): Promise<S3Object> {
  const { properties } = metadata;
  const property = properties.isKnownEmpty ? undefined : (await properties.get(entry.path))[propertyName];
  return toObject(entry, property);
}

/** readObjects returns what S3 shows of each of these files and folders. */
export async function readObjects(
  { metadata }: BucketView,
  entries: readonly FileEntry[],
): Promise<Map<TreePath, S3Object>> {
  const objects = new Map<TreePath, S3Object>();
  let at = 0;
  const paths = entries.map(({ path }) => path);
  for await (const { count, found } of metadata.properties.inParts(paths)) {
    for (const entry of entries.slice(at, at + count))
      objects.set(entry.path, toObject(entry, found.get(entry.path)?.[propertyName]));
    at += count;
  }
  return objects;
}

function toObject(
  { kind, stats }: Pick<FileEntry, "kind" | "stats">,
  property: string | undefined,
): S3Object {
  const record = property === undefined ? none : parseRecord(property);
  const { content } = record;
  const isRight = kind === "file" && content !== undefined && content.of === stats.etag;
  const etag = kind === "folder" ? etagOfNothing : isRight ? `"${content.etag}"` : opaqueEtag(stats.etag);
  return {
    etag,
    headers: record.headers ?? {},
    marker: record.marker === true,
    content: isRight ? content : undefined,
  };
}

/** opaqueEtag returns the tag of a file that S3 has not put: of no content, as those of multipart uploads are for clients. */
function opaqueEtag(etag: string): string {
  return `"${Bun.CryptoHasher.hash("md5", etag, "hex")}-1"`;
}

const none: ObjectRecord = {};
const entities: Readonly<Record<string, string>> = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&amp;": "&" };

/** Another program may have written the property: what is not a record of this form is as if it was not there. */
function parseRecord(property: string): ObjectRecord {
  if (!property.startsWith(opening) || !property.endsWith(closing)) return none;
  const text = property.slice(opening.length, -closing.length);
  try {
    const value: unknown = JSON.parse(
      text.replace(/&(?:lt|gt|quot|amp);/g, (entity) => entities[entity] ?? ""),
    );
    return isRecord(value) ? value : none;
  } catch (error) {
    if (error instanceof SyntaxError) return none;
    throw error;
  }
}

function isRecord(value: unknown): value is ObjectRecord {
  if (typeof value !== "object" || value === null) return false;
  const { headers = {}, content } = value as Record<string, unknown>;
  return (
    isTexts(headers) &&
    Object.keys(headers).every(isStoredHeader) &&
    (content === undefined || isContent(content))
  );
}

function isContent(value: unknown): value is ContentRecord {
  if (typeof value !== "object" || value === null) return false;
  const { of, etag, checksums = {}, parts = [] } = value as Record<string, unknown>;
  const isEtag = typeof etag === "string" && /^[0-9a-f]{32}(?:-\d{1,5})?$/.test(etag);
  const areParts = Array.isArray(parts) && parts.every((size) => Number.isSafeInteger(size) && size >= 0);
  return (
    typeof of === "string" &&
    isEtag &&
    areParts &&
    isTexts(checksums) &&
    Object.keys(checksums).every(isChecksum)
  );
}

/** Whether a header is one that a PUT gives an object: an answer has no other ones from a record. */
function isStoredHeader(name: string): boolean {
  return name.startsWith(metadataPrefix) || (contentHeaders as readonly string[]).includes(name);
}

function isChecksum(name: string): boolean {
  return (checksumNames as readonly string[]).includes(name);
}

/** Texts that headers can have. */
function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).every(
    ([name, text]) => /^[\w.!#$%&'*+^`|~-]+$/.test(name) && typeof text === "string" && isHeaderText(text),
  );
}

function isHeaderText(text: string): boolean {
  return /^[\t -~\x80-\xff]*$/.test(text);
}

/** recordHeaders returns the content headers and the metadata of a request that puts an object. */
export function recordHeaders(headers: Headers): Record<string, string> {
  const kept: Record<string, string> = {};
  let bytes = 0;
  for (const [name, value] of headers) {
    if (name.startsWith(metadataPrefix)) {
      kept[name] = value;
      bytes += name.length + value.length;
    } else if ((contentHeaders as readonly string[]).includes(name)) {
      const shown = name === "content-encoding" ? withoutChunks(value) : value;
      if (shown !== "") kept[name] = shown;
    }
  }
  const unreadable = Object.entries(kept).find(([, value]) => !isHeaderText(value));
  if (unreadable !== undefined)
    throw new S3Error("InvalidArgument", `${unreadable[0]} has a character that headers cannot have`);
  if (bytes > maxMetadataBytes)
    throw new S3Error("MetadataTooLarge", `x-amz-meta-* may have ${maxMetadataBytes} bytes together`);
  return kept;
}

/** `aws-chunked` is how the body is sent, and not what the object is encoded with. */
function withoutChunks(encoding: string): string {
  return encoding
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "" && part.toLowerCase() !== "aws-chunked")
    .join(",");
}

/** conditionEtag returns whether an If-Match or If-None-Match names an entity tag. S3 takes it without quotes, too. */
export function conditionEtag(header: string, etag: string): boolean {
  if (header.trim() === "*") return true;
  const bare = etag.replaceAll('"', "");
  return header.split(",").some((part) => part.trim().replace(/^W\/|"/g, "") === bare);
}
