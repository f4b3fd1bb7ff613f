import { httpDate, isoDate } from "../../../base/clock.ts";
import type { DiskUsage } from "../../../base/local-fs/stat.ts";
import { escapeXml, tagFor } from "../../../base/xml.ts";
import type { LockIndex } from "../../../buckets/metadata/locks.ts";
import type { Properties } from "../../../buckets/metadata/properties.ts";
import { splitPath, treeRoot } from "../../../buckets/path.ts";
import type { FileEntry } from "../../../buckets/ports.ts";
import { mediaTypeOf } from "../../content/media-type.ts";
import { hrefOf } from "../dav-request.ts";
import { statusLine, type TextParts } from "./multistatus.ts";
import { activeLock, supportedLock } from "./request-xml.ts";

/** Resource is what the live properties of one file or folder are computed from. */
export interface Resource {
  readonly entry: FileEntry;
  readonly bucket: string;
  /** The path of a folder above all buckets, which cannot be locked. */
  readonly href?: string;
  readonly locks: LockIndex;
  /** Undefined if no quota property is requested. */
  readonly diskUsage: DiskUsage | undefined;
}

/** LiveProperty is a property that the server computes. */
interface LiveProperty {
  /** The content of the property's element, as XML; undefined if the resource has no such property. */
  readonly value: (resource: Resource) => string | undefined;
  /** Sent only if it is requested by name. */
  readonly hidden?: true;
  /** A client may set a dead property of this name, which then replaces it. */
  readonly overridable?: true;
}

const onFiles =
  (value: (entry: FileEntry) => string): LiveProperty["value"] =>
  ({ entry }) =>
    entry.kind === "file" ? value(entry) : undefined;

/** Dates are not before 1970: some clients cannot parse such dates. */
const sinceEpoch = (ms: number) => Math.max(0, ms);

/** The time of a file in seconds since 1970, as Nextcloud and ownCloud have it. */
export const lastModifiedName = "{DAV:}lastmodified";

/** liveProperties are those that the server computes: RFC 4918 §15, RFC 4331, the times that Windows asks for, and what ownCloud added. */
export const liveProperties: ReadonlyMap<string, LiveProperty> = new Map<string, LiveProperty>([
  ["{DAV:}resourcetype", { value: ({ entry }) => (entry.kind === "folder" ? "<D:collection/>" : "") }],
  [
    "{DAV:}displayname",
    {
      value: ({ entry, bucket }) => escapeXml(entry.path === treeRoot ? bucket : splitPath(entry.path).name),
      overridable: true,
    },
  ],
  ["{DAV:}getcontentlength", { value: onFiles(({ stats }) => String(stats.size)) }],
  ["{DAV:}getcontenttype", { value: onFiles(({ path }) => escapeXml(mediaTypeOf(path).value)) }],
  ["{DAV:}getetag", { value: onFiles(({ stats }) => escapeXml(stats.etag)) }],
  ["{DAV:}getlastmodified", { value: ({ entry }) => httpDate(sinceEpoch(entry.stats.modifiedMs)) }],
  ["{DAV:}creationdate", { value: ({ entry }) => isoDate(sinceEpoch(entry.stats.createdMs)) }],
  ["{DAV:}supportedlock", { value: ({ href }) => (href === undefined ? supportedLock : "") }],
  [
    "{DAV:}lockdiscovery",
    {
      value: ({ entry, locks, bucket }) => {
        const covering = locks.covering(entry.path);
        return covering.map((lock) => activeLock(lock, bucket, locks.readAtMs)).join("");
      },
    },
  ],
  [
    "{DAV:}quota-available-bytes",
    { value: ({ diskUsage }) => diskUsage && String(diskUsage.availableBytes), hidden: true },
  ],
  [
    "{DAV:}quota-used-bytes",
    { value: ({ diskUsage }) => diskUsage && String(diskUsage.usedBytes), hidden: true },
  ],
  [
    "{urn:schemas-microsoft-com:}Win32LastModifiedTime",
    { value: ({ entry }) => httpDate(sinceEpoch(entry.stats.modifiedMs)), hidden: true },
  ],
  [
    "{urn:schemas-microsoft-com:}Win32LastAccessTime",
    { value: ({ entry }) => httpDate(sinceEpoch(entry.stats.accessedMs)), hidden: true },
  ],
  [
    lastModifiedName,
    { value: ({ entry }) => String(Math.floor(entry.stats.modifiedMs / 1000)), hidden: true },
  ],
  [
    "{http://owncloud.org/ns}checksums",
    {
      value: ({ entry: { stats } }) =>
        stats.sha256 && `<x:checksum xmlns:x="http://owncloud.org/ns">SHA256:${stats.sha256}</x:checksum>`,
      hidden: true,
    },
  ],
]);

export const lockDiscovery = "{DAV:}lockdiscovery";
export const quotaNames = ["{DAV:}quota-available-bytes", "{DAV:}quota-used-bytes"];

/** PropertyQuery is which properties a PROPFIND asks for. */
export type PropertyQuery =
  | { readonly kind: "names" }
  | { readonly kind: "all"; readonly include: readonly string[] }
  | { readonly kind: "some"; readonly names: readonly string[] };

/** namesIn returns the names that a PROPFIND asks for. */
export function namesIn(query: PropertyQuery): readonly string[] {
  return query.kind === "some" ? query.names : query.kind === "all" ? query.include : [];
}

/** Texts of this length are sent as a part of their own. */
const minSeparateChars = 16 * 1024;

/**
 * PropertyWriter writes the `response` elements of one PROPFIND. A request may name thousands of properties that no resource has, so
 * the part that is the same for all resources is written once: the cost of a resource is that of the properties it has.
 */
export class PropertyWriter {
  readonly #query: PropertyQuery;
  readonly #named: ReadonlySet<string>;
  /** Properties that the server computes, each with its tags. */
  readonly #live: readonly LiveElement[];
  /** Properties requested by name that can only be dead ones, and the empty element of each. */
  readonly #onlyDead: ReadonlyMap<string, string>;
  /** All elements of `#onlyDead`, for a resource that has none of them. Bytes if long, so that they are not encoded for each resource. */
  readonly #absent: string | Uint8Array;

  constructor(query: PropertyQuery) {
    this.#query = query;
    const names = namesIn(query);
    const shown = [...liveProperties].flatMap(([name, { hidden }]) => (hidden ? [] : [name]));
    const asked = query.kind === "some" ? names : [...shown, ...names];
    this.#named = new Set(names);
    this.#live = [...new Set(asked)].flatMap((name) => liveElements.get(name) ?? []);
    this.#onlyDead = new Map(
      names.filter((name) => !liveProperties.has(name)).map((name) => [name, element(name, "")]),
    );
    const absent = [...this.#onlyDead.values()].join("");
    this.#absent = absent.length < minSeparateChars ? absent : Buffer.from(absent);
  }

  /** Writes the `response` element of a resource with these dead properties. */
  describe(resource: Resource, dead: Properties | undefined, to: TextParts): void {
    const { entry, bucket, href } = resource;
    to.add("<D:response><D:href>");
    to.add(escapeXml(href ?? hrefOf(bucket, entry.path, entry.kind)));
    to.add("</D:href>");
    const own = dead === undefined ? [] : this.#deadNames(dead);
    const { found, missing } = this.#writeFound(resource, { all: dead, own }, to);
    const absent = this.#absentBeside(own);
    const isComplete = missing === "" && absent.length === 0;
    if (found === 0 && isComplete) to.add(propstatStart);
    if (found > 0 || isComplete) to.add(foundEnd);
    if (!isComplete) {
      to.add(propstatStart);
      to.add(missing);
      if (typeof absent === "string") to.add(absent);
      else to.addBytes(absent);
      to.add(notFoundEnd);
    }
    to.add("</D:response>\n");
  }

  /** Writes the properties that the resource has. Returns how many, and the elements of those that are computed and that it has not. */
  #writeFound(
    resource: Resource,
    dead: { readonly all: Properties | undefined; readonly own: readonly string[] },
    to: TextParts,
  ): { readonly found: number; readonly missing: string } {
    let found = 0;
    let missing = "";
    const begin = () => {
      if (found === 0) to.add(propstatStart);
      found += 1;
    };
    for (const live of this.#live) {
      if (live.property.overridable && dead.all !== undefined && Object.hasOwn(dead.all, live.name)) {
        begin();
        to.add(this.#elementOf(live.name, dead.all));
        continue;
      }
      const value = live.property.value(resource);
      if (value !== undefined) {
        begin();
        this.#writeLive(live, value, to);
      } else if (this.#named.has(live.name)) missing += live.empty;
    }
    for (const name of dead.own) {
      begin();
      to.add(this.#elementOf(name, dead.all ?? {}));
    }
    return { found, missing };
  }

  #writeLive({ start, end, empty }: LiveElement, value: string, to: TextParts): void {
    if (this.#query.kind === "names" || value === "") {
      to.add(empty);
      return;
    }
    to.add(start);
    to.add(value);
    to.add(end);
  }

  /** The dead properties of a resource that are requested. */
  #deadNames(dead: Properties): string[] {
    const isRequested = (name: string) => this.#query.kind !== "some" || this.#onlyDead.has(name);
    return Object.keys(dead).filter((name) => !liveProperties.has(name) && isRequested(name));
  }

  #elementOf(name: string, dead: Properties): string {
    return this.#query.kind === "names" ? element(name, "") : (dead[name] ?? "");
  }

  #absentBeside(own: readonly string[]): string | Uint8Array {
    if (!own.some((name) => this.#onlyDead.has(name))) return this.#absent;
    const present = new Set(own);
    return [...this.#onlyDead].flatMap(([name, text]) => (present.has(name) ? [] : [text])).join("");
  }
}

interface LiveElement {
  readonly name: string;
  readonly property: LiveProperty;
  readonly start: string;
  readonly end: string;
  readonly empty: string;
}

const liveElements: ReadonlyMap<string, LiveElement> = new Map(
  [...liveProperties].map(([name, property]) => [name, { name, property, ...tagsOf(name) }]),
);

const propstatStart = "<D:propstat><D:prop>";
const [foundEnd, notFoundEnd] = [propstatEnd(200), propstatEnd(404)];

function propstatEnd(status: number, more = ""): string {
  return `</D:prop><D:status>${statusLine(status)}</D:status>${more}</D:propstat>`;
}

/** propstat gives properties a status; `elements` is XML. */
export function propstat(elements: string, status: number, more = ""): string {
  return `${propstatStart}${elements}${propstatEnd(status, more)}`;
}

/** element returns a property's element; `content` is XML. */
export function element(full: string, content: string): string {
  const { start, end, empty } = tagsOf(full);
  return content === "" ? empty : start + content + end;
}

function tagsOf(full: string): { readonly start: string; readonly end: string; readonly empty: string } {
  const close = full.lastIndexOf("}");
  const [namespace, name] = [full.slice(1, close), full.slice(close + 1)];
  const { tag, declaration } =
    namespace === "DAV:" ? { tag: `D:${name}`, declaration: "" } : tagFor(namespace, name);
  return { start: `<${tag}${declaration}>`, end: `</${tag}>`, empty: `<${tag}${declaration}/>` };
}
