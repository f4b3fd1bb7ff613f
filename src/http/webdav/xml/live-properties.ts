import { httpDate, isoDate } from "../../../base/clock.ts";
import type { DiskUsage } from "../../../base/local-fs/stat.ts";
import { escapeXml } from "../../../base/xml.ts";
import type { LockIndex } from "../../../buckets/metadata/locks.ts";
import { splitPath, treeRoot } from "../../../buckets/path.ts";
import type { FileEntry } from "../../../buckets/ports.ts";
import { mediaTypeOf } from "../../content/media-type.ts";
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
export interface LiveProperty {
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
