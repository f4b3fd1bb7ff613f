import {
  type Bucket,
  type BucketFiles,
  type BucketSite,
  type BucketUsage,
  ClientError,
  type NodeServerClient,
} from "../../../client/index.ts";
import { type Session, serverUrl } from "../../session/session.ts";
import { t } from "../../text/text.ts";
import { type Entry, entriesFrom } from "./files/model.ts";

/** A bucket whose files are shown. */
export interface OpenBucket {
  readonly name: string;
  /** Record; undefined when the token may not read it. */
  readonly bucket: Bucket | undefined;
  /** Where the site is and who reads it; undefined when the token has no right in this bucket. */
  readonly site: BucketSite | undefined;
  readonly access: BucketAccess;
}

interface Content {
  readonly blob: Blob;
  /** ETag for a conditional write; undefined when writes are not possible. */
  readonly etag: string | undefined;
}

/** Access of a token to the files of a bucket: list, read and change. */
interface BucketAccess {
  list(folder: string, signal: AbortSignal): Promise<Entry[]>;
  read(path: string, signal?: AbortSignal): Promise<Content>;
  /** Reads at most the first `maxBytes` of a file. */
  readStart(path: string, maxBytes: number, signal: AbortSignal): Promise<Content>;
  /** Client for changes; undefined when the bucket is read-only for this token. */
  readonly files: BucketFiles | undefined;
  /** Sentence that says why nothing can be changed, or an empty text. */
  readonly why: string;
  readonly mayList: boolean;
  readonly mayRead: boolean;
  /** Who can read the files over plain HTTP: anybody, tokens and signed links, or nobody; undefined when the token may not know. */
  readonly readers: Readers | undefined;
}

type Readers = "anybody" | "tokens" | "nobody";

function readersOf({ enable, public: isPublic }: BucketSite): Readers {
  if (!enable) return "nobody";
  return isPublic ? "anybody" : "tokens";
}

/**
 * Whether an address of the bucket's files is of use to others: that of a private bucket is only at a host name of its own, where
 * browsers can sign in.
 */
export function mayCopyUrl({ site, access }: OpenBucket): boolean {
  return access.readers === "tokens"
    ? site !== undefined && site.hosts.length > 0
    : access.readers !== "nobody";
}

/** Uses WebDAV when the token has all permissions for it, otherwise RPC calls, which only list and read. */
export async function openAccess(
  { client, rights }: Session,
  name: string,
  site: BucketSite | undefined,
): Promise<BucketAccess> {
  const files = client.bucket(name);
  const readers = site && readersOf(site);
  const readOnly = (why: string) =>
    overRpc(client, name, {
      files: undefined,
      why,
      mayList: rights.may("static-bucket-file_list", name),
      mayRead: rights.may("static-bucket-file_read", name),
      readers,
    });
  if (site?.enable === false) return readOnly(t.buckets.switchedOff);
  if (!rights.overWebdav(name)) return readOnly(t.buckets.needsAllFour);
  return overWebdav(files, readers);
}

/** siteOf returns what a record says about the site. */
export function siteOf({ enable, public: isPublic, is_http_root, hosts = [] }: Bucket): BucketSite {
  return { enable, public: isPublic !== false, is_http_root, hosts };
}

function overWebdav(files: BucketFiles, readers: Readers | undefined): BucketAccess {
  return {
    files,
    why: "",
    mayList: true,
    mayRead: true,
    readers,
    async list(folder, signal) {
      const entries = await files.list(folder, { signal });
      return entries.map(({ name, folder, size, modified }) => ({
        name,
        folder,
        size,
        changed: modified.getTime(),
      }));
    },
    async read(path, signal) {
      const response = await files.open(path, { signal });
      const blob = await response.blob();
      return { blob, etag: etagOf(response) };
    },
    async readStart(path, maxBytes, signal) {
      const response = await files.open(path, { signal });
      return { blob: await startOf(response, maxBytes), etag: etagOf(response) };
    },
  };
}

function overRpc(
  client: NodeServerClient,
  name: string,
  facts: Omit<BucketAccess, "list" | "read" | "readStart">,
): BucketAccess {
  return {
    ...facts,
    async list(folder, signal) {
      const path = folder === "" ? null : folder;
      return entriesFrom(await client.call("static-bucket-file_list", { name, path }, { signal }), folder);
    },
    async read(path, signal) {
      const base64 = await client.call("static-bucket-file_read", { name, path }, { signal });
      const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      return { blob: new Blob([bytes]), etag: undefined };
    },
    async readStart(path, maxBytes, signal) {
      // The call above answers with the whole file, and only with one that is small enough.
      const link = { name, path, expires_in: startSeconds, listed: false };
      const { address } = await client.call("static-bucket-file_link", link, { signal });
      const headers = { range: `bytes=0-${maxBytes - 1}` };
      const response = await fetch(serverUrl + address, { headers, credentials: "omit", signal });
      if (!response.ok) throw new Error(t.files.notRead(response.status));
      return { blob: await startOf(response, maxBytes), etag: undefined };
    },
  };
}

/** How long the link is valid by which the start of a file is read. */
const startSeconds = 60;

function etagOf({ headers }: Response): string | undefined {
  return headers.get("etag") ?? undefined;
}

/** Reads the first bytes of a body, and ends the transfer of the others. */
async function startOf({ body }: Response, maxBytes: number): Promise<Blob> {
  const reader = body?.getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let left = maxBytes;
  while (reader !== undefined && left > 0) {
    const { done, value } = await reader.read();
    if (done) break;
    const part = value.subarray(0, left);
    parts.push(part);
    left -= part.length;
  }
  await reader?.cancel();
  return new Blob(parts);
}

/** A bucket in the list. */
export interface BucketRecord {
  readonly name: string;
  /** Null: the bucket does not exist. Undefined: this token may not read the record. */
  readonly bucket: Bucket | null | undefined;
  /** As of `OpenBucket`; null: the bucket does not exist. */
  readonly site: BucketSite | null | undefined;
  /** Null: not counted yet. Undefined: this token may not list its files, or there is no bucket. */
  readonly usage: BucketUsage | null | undefined;
}

/** Calls per batch. The server accepts up to 1,000. */
const batchSize = 500;

/** All buckets for the Super Token, which alone can list them; for other tokens, those that their limits name. */
export async function loadBuckets({ client, rights }: Session, signal: AbortSignal): Promise<BucketRecord[]> {
  const names = rights.may("static-bucket_list")
    ? await client.call("static-bucket_list", {}, { signal })
    : rights.namedBuckets;
  const [readable, others] = [true, false].map((isReadable) =>
    names.filter((name) => rights.may("static-bucket_read", name) === isReadable),
  ) as [string[], string[]];
  const records = await inBatches(readable, (names) =>
    client.batch(
      names.map((name) => ["static-bucket_read", { name }] as const),
      { signal },
    ),
  );
  const shown = others.filter((name) => rights.may("static-bucket_site", name));
  const sites = await inBatches(shown, (names) =>
    client.batch(
      names.map((name) => ["static-bucket_site", { name }] as const),
      { signal },
    ),
  );
  for (const [name, record] of records) sites.set(name, record && siteOf(record));
  const present = names.filter((name) => sites.get(name) !== null);
  const usage = await loadUsage({ client, rights }, present, signal);
  return names.map((name) => {
    const site = sites.get(name);
    return { name, site, bucket: site === null ? null : records.get(name), usage: usage.get(name) };
  });
}

/** Asks about each of these buckets. */
async function inBatches<T extends object | null>(
  names: readonly string[],
  ask: (names: readonly string[]) => Promise<readonly (T | ClientError)[]>,
): Promise<Map<string, T>> {
  const known = new Map<string, T>();
  for (let at = 0; at < names.length; at += batchSize) {
    const part = names.slice(at, at + batchSize);
    for (const [index, answer] of (await ask(part)).entries()) {
      if (answer instanceof ClientError) throw answer;
      known.set(part[index] ?? "", answer);
    }
  }
  return known;
}

/** Counts of the buckets whose files the token may list. One that cannot be counted is left out: the rest of its row is of use. */
async function loadUsage(
  { client, rights }: Pick<Session, "client" | "rights">,
  names: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, BucketUsage | null>> {
  const listed = names.filter((name) => rights.may("static-bucket_usage", name));
  const usage = new Map<string, BucketUsage | null>();
  for (let at = 0; at < listed.length; at += batchSize) {
    const part = listed.slice(at, at + batchSize);
    const answers = await client.batch(
      part.map((name) => ["static-bucket_usage", { name }] as const),
      { signal },
    );
    for (const [index, answer] of answers.entries())
      if (!(answer instanceof ClientError)) usage.set(part[index] ?? "", answer);
  }
  return usage;
}
