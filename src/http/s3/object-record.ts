import { wholeNumber } from "../../base/numbers.ts";
import {
  fileRecordIn,
  parseRecordProperty,
  recordProperty,
  toRecordProperty,
} from "../../buckets/metadata/properties.ts";
import type { TreePath } from "../../buckets/path.ts";
import type { BucketView, FileEntry, FileStats } from "../../buckets/ports.ts";
import { givenType } from "../content/media-type.ts";
import { type ChecksumName, type Checksums, checksumNames } from "./checksums.ts";
import { S3Error } from "./errors.ts";

/** User metadata of one object: names and values together. */
const maxMetadataBytes = 8 * 1024;
/** Of the headers about the content. */
const maxContentHeaderBytes = 4 * 1024;
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
/** Parts of one upload. */
export const maxParts = 10_000;

/** ContentRecord is what S3 knows of a file beside its content. It is stored with the content, so that it moves and ends with it. */
export interface ContentRecord {
  /** MD5 in hexadecimal; of a multipart upload, of those of its parts, without their number. */
  readonly md5: string;
  /** Content headers and `x-amz-meta-*`, by their names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly checksums?: Checksums;
  /** Set if `checksums` are those of the checksums of the parts. */
  readonly composite?: boolean;
  /** The sizes of the parts of a multipart upload. */
  readonly parts?: readonly number[];
}

/** S3Object is a file or folder as S3 shows it. */
export interface S3Object {
  /** With its quotes. */
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
  /** True for a folder that was put as an object. */
  readonly marker: boolean;
  /** What was computed of the content; undefined if S3 has not put it. */
  readonly content: Pick<ContentRecord, "checksums" | "composite" | "parts"> | undefined;
}

const etagOfNothing = '"d41d8cd98f00b204e9800998ecf8427e"';

/** folderRecord returns the change of properties by which a folder is an object from now on. */
export function folderRecord(headers: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map([[recordProperty, toRecordProperty({ marker: true, headers })]]);
}

/** withoutRecord is the change of properties that deletes a record. */
export const withoutRecord: ReadonlyMap<string, string | undefined> = new Map([[recordProperty, undefined]]);

/** readObject returns what S3 shows of a file or folder. */
export async function readObject(
  { metadata }: BucketView,
  entry: Pick<FileEntry, "path" | "kind" | "stats">,
): Promise<S3Object> {
  const { record } = entry.stats;
  if (record !== undefined) return toObject(entry, decodeRecord(record));
  const { properties } = metadata;
  if (properties.isKnownEmpty) return toObject(entry);
  return fromProperty(entry, (await properties.get(entry.path))[recordProperty]);
}

/** readObjects returns what S3 shows of each of these files and folders. */
export async function readObjects(
  { metadata }: BucketView,
  entries: readonly FileEntry[],
): Promise<Map<TreePath, S3Object>> {
  const objects = new Map<TreePath, S3Object>();
  const others: FileEntry[] = [];
  for (const entry of entries) {
    const { record } = entry.stats;
    if (record === undefined) others.push(entry);
    else objects.set(entry.path, toObject(entry, decodeRecord(record)));
  }
  let at = 0;
  const paths = others.map(({ path }) => path);
  for await (const { count, found } of metadata.properties.inParts(paths)) {
    for (const entry of others.slice(at, at + count))
      objects.set(entry.path, fromProperty(entry, found.get(entry.path)?.[recordProperty]));
    at += count;
  }
  return objects;
}

function toObject(
  { kind, stats }: Pick<FileEntry, "kind" | "stats">,
  content?: ContentRecord,
  ofFolder: Partial<Pick<S3Object, "headers" | "marker">> = {},
): S3Object {
  const etag = kind === "folder" ? etagOfNothing : content ? `"${etagOf(content)}"` : opaqueEtag(stats.etag);
  const { headers = content?.headers ?? {}, marker = false } = ofFolder;
  return { etag, headers, marker, content };
}

/** etagOf returns the entity tag of what S3 has put, without quotes. */
export function etagOf({ md5, parts }: Pick<ContentRecord, "md5" | "parts">): string {
  return parts === undefined ? md5 : `${md5}-${parts.length}`;
}

/** opaqueEtag returns the tag of a file that S3 has not put: of no content, as those of multipart uploads are for clients. */
function opaqueEtag(etag: string): string {
  return `"${Bun.CryptoHasher.hash("md5", etag, "hex")}-1"`;
}

/** Another program may have written the property: what is not of its form is as if it was not there. */
function fromProperty(entry: Pick<FileEntry, "kind" | "stats">, property: string | undefined): S3Object {
  if (entry.kind === "file") {
    const record = fileRecordIn(property, entry.stats);
    return toObject(entry, record && decodeRecord(record));
  }
  const { headers, marker } = (parseRecordProperty(property ?? "") ?? {}) as Record<string, unknown>;
  return toObject(entry, undefined, { headers: isStored(headers) ? headers : {}, marker: marker === true });
}

/** The members of an encoded record. A header with a name of its own is the name, a zero byte and the value. */
const [md5Member, partsMember, compositeMember, metadataMember] = [1, 2, 3, 4];
const [firstChecksum, firstHeader] = [16, 32];

/** encodeRecord returns a record as bytes: members of a number, a length and a value. Those of most objects fit into an inode. */
export function encodeRecord({
  md5,
  headers = {},
  checksums = {},
  composite,
  parts,
}: ContentRecord): Uint8Array {
  // Each character is a byte: one text becomes bytes faster than many small ones.
  let text = "";
  const add = (member: number, value: string) => {
    text += String.fromCharCode(member, ...length(value)) + value;
  };
  add(md5Member, Buffer.from(md5, "hex").toString("latin1"));
  // Parts are mostly of one size, but for the last one.
  if (parts !== undefined) add(partsMember, JSON.stringify(runsOf(parts)));
  if (composite) add(compositeMember, "");
  for (const [at, name] of checksumNames.entries()) {
    const value = checksums[name];
    if (value !== undefined)
      add(firstChecksum + at, Buffer.from(value.replace(/-\d+$/, ""), "base64").toString("latin1"));
  }
  for (const [name, value] of Object.entries(headers)) {
    const at = (contentHeaders as readonly string[]).indexOf(name);
    if (at === -1) add(metadataMember, `${name}\0${value}`);
    else add(firstHeader + at, value);
  }
  return Buffer.from(text, "latin1");
}

/** A length below 128 is one byte; a longer one has seven bits in each byte, the lowest first. */
function length(value: string): number[] {
  const bytes: number[] = [];
  let rest = value.length;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return [...bytes, rest];
}

function runsOf(sizes: readonly number[]): Array<[size: number, count: number]> {
  const runs: Array<[number, number]> = [];
  for (const size of sizes) {
    const last = runs.at(-1);
    if (last?.[0] === size) last[1] += 1;
    else runs.push([size, 1]);
  }
  return runs;
}

/** Records that are in memory were decoded already. */
const decodedRecords = new WeakMap<Uint8Array, { readonly content: ContentRecord | undefined }>();

function decodeRecord(bytes: Uint8Array): ContentRecord | undefined {
  let known = decodedRecords.get(bytes);
  if (known === undefined) {
    known = { content: decode(bytes) };
    decodedRecords.set(bytes, known);
  }
  return known.content;
}

/** Another program may have written the record: what is not of its form is as if it was not there. */
function decode(bytes: Uint8Array): ContentRecord | undefined {
  const buffer = bytes instanceof Buffer ? bytes : Buffer.from(bytes);
  const headers: Record<string, string> = {};
  const checksums: { [N in ChecksumName]?: string } = {};
  let md5: string | undefined;
  let parts: number[] | undefined;
  let composite = false;
  let isRight = true;
  const addHeader = (name: string, value: string) => {
    isRight &&= isStoredHeader(name) && isHeaderText(value);
    headers[name] = value;
  };
  for (let at = 0; at < buffer.length; ) {
    const member = buffer[at] as number;
    at += 1;
    let size = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = buffer[at];
      if (byte === undefined || factor > 128 ** 3) return undefined;
      at += 1;
      size += (byte % 128) * factor;
      if (byte < 128) break;
    }
    const end = at + size;
    if (end > buffer.length) return undefined;
    const checksum = checksumNames[member - firstChecksum];
    const header = contentHeaders[member - firstHeader];
    if (member === md5Member && size === 16) md5 = buffer.toString("hex", at, end);
    else if (member === partsMember) parts = partsIn(buffer.toString("latin1", at, end));
    else if (member === compositeMember) composite = true;
    else if (checksum !== undefined) checksums[checksum] = buffer.toString("base64", at, end);
    else if (header !== undefined) addHeader(header, buffer.toString("latin1", at, end));
    else if (member === metadataMember) {
      const [name = "", value = ""] = buffer.toString("latin1", at, end).split("\0", 2);
      addHeader(name, value);
    }
    at = end;
  }
  if (md5 === undefined || !isRight) return undefined;
  if (composite)
    for (const name of checksumNames)
      if (checksums[name] !== undefined) checksums[name] += `-${parts?.length ?? 1}`;
  const hasChecksums = Object.keys(checksums).length > 0;
  return { md5, headers, composite, ...(hasChecksums && { checksums }), ...(parts && { parts }) };
}

function partsIn(text: string): number[] | undefined {
  const sizes: number[] = [];
  for (const [, size, count] of text.matchAll(/\[(\d{1,15}),(\d{1,5})\]/g))
    for (let left = wholeNumber(count) ?? 0; left > 0 && sizes.length <= maxParts; left -= 1)
      sizes.push(wholeNumber(size) ?? 0);
  return sizes.length > 0 && sizes.length <= maxParts ? sizes : undefined;
}

/** Whether these are headers that a PUT gives an object: an answer has no other ones from a record. */
function isStored(headers: unknown): headers is Readonly<Record<string, string>> {
  if (typeof headers !== "object" || headers === null) return false;
  return Object.entries(headers).every(
    ([name, text]) => isStoredHeader(name) && typeof text === "string" && isHeaderText(text),
  );
}

function isStoredHeader(name: string): boolean {
  return (
    (contentHeaders as readonly string[]).includes(name) ||
    (name.startsWith(metadataPrefix) && isHeaderName(name))
  );
}

function isHeaderName(name: string): boolean {
  return /^[\w.!#$%&'*+^`|~-]+$/.test(name);
}

function isHeaderText(text: string): boolean {
  return /^[\t -~\x80-\xff]*$/.test(text);
}

/**
 * headersOverHttp returns the headers with which S3 has put a file, as plain HTTP shows them; `ownType` is the type of its name. It tells
 * only what the store has kept with the file.
 */
export function headersOverHttp(
  { record }: Pick<FileStats, "record">,
  ownType: string,
): Readonly<Record<string, string>> {
  const headers = (record && decodeRecord(record)?.headers) ?? {};
  const type = headers["content-type"];
  return type === undefined ? headers : { ...headers, "content-type": givenType(type, ownType) };
}

/** recordHeaders returns the content headers and the metadata of a request that puts an object. */
export function recordHeaders(headers: Iterable<readonly [string, string]>): Record<string, string> {
  const kept: Record<string, string> = {};
  let [bytes, contentBytes] = [0, 0];
  for (const [name, value] of headers) {
    if (name.startsWith(metadataPrefix)) {
      kept[name] = value;
      bytes += name.length + value.length;
    } else if ((contentHeaders as readonly string[]).includes(name)) {
      const shown = name === "content-encoding" ? withoutChunks(value) : value;
      if (shown !== "") kept[name] = shown;
      contentBytes += shown.length;
    }
  }
  const unreadable = Object.entries(kept).find(
    ([name, value]) => !isHeaderName(name) || !isHeaderText(value),
  );
  if (unreadable !== undefined)
    throw new S3Error("InvalidArgument", `${unreadable[0]} has a character that headers cannot have`);
  if (bytes > maxMetadataBytes)
    throw new S3Error("MetadataTooLarge", `x-amz-meta-* may have ${maxMetadataBytes} bytes together`);
  if (contentBytes > maxContentHeaderBytes)
    throw new S3Error(
      "MetadataTooLarge",
      `headers about the content may have ${maxContentHeaderBytes} bytes together`,
    );
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
