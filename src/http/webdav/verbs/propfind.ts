import { isElement, type XmlElement } from "../../../base/xml.ts";
import { LockIndex } from "../../../buckets/metadata/locks.ts";
import type { FileEntry } from "../../../buckets/ports.ts";
import { walk } from "../../../buckets/tree-ops.ts";
import { HttpError } from "../../request/http-error.ts";
import { assertIf, type DavRequest, type Depth, depthOf } from "../dav-request.ts";
import {
  liveProperties,
  lockDiscovery,
  namesIn,
  type PropertyQuery,
  PropertyWriter,
  quotaNames,
} from "../xml/live-properties.ts";
import { multistatus, TextParts } from "../xml/multistatus.ts";
import { fullName, isDav, readXml } from "../xml/request-xml.ts";

/** Resources in an answer with Depth infinity; for more, the client has to ask folder by folder. */
const maxInfiniteResources = 20_000;
const batchSize = 128;
/** All names in one PROPFIND together: each is repeated for every resource, with its namespace. Real clients send up to 3 KB. */
const maxNamesBytes = 64 * 1024;
/** A response is sent in pieces of about this size, so that a slow client makes the server hold one of them. */
const pieceBytes = 64 * 1024;
/** Time of work before other requests get the event loop. A client that reads fast would else keep it for the whole response. */
const maxWorkMs = 0.5;

/** What a PROPFIND without a body asks for, as many clients do. */
const allProperties: PropertyQuery = { kind: "all", include: [] };
const allWriter = new PropertyWriter(allProperties);

export async function propfind(dav: DavRequest): Promise<Response> {
  const depth = depthOf(dav, [0, 1, "infinity"], "infinity");
  const query = await readQuery(dav.request);
  await assertIf(dav);
  const entry = await dav.files.reader.find(dav.path);
  if (entry === undefined) throw new HttpError(404, "there is no such file or folder");
  const batches = depth === "infinity" ? await wholeTree(dav, entry) : withMembers(dav, entry, depth);
  return multistatus(dav.request, responses(dav, query, { top: entry, depth, batches }));
}

/** readQuery reads which properties the body of a PROPFIND asks for. */
export async function readQuery(request: Request): Promise<PropertyQuery> {
  const query = parseQuery(await readXml(request));
  refuseLongNames(query);
  return query;
}

function parseQuery(root: XmlElement | undefined): PropertyQuery {
  if (root === undefined) return allProperties;
  if (!isDav(root, "propfind")) throw new HttpError(400, "the body is not a propfind element");
  const children = root.children.filter(isElement);
  const child = (name: string) => children.find((element) => isDav(element, name));
  const [prop, all, names, include] = [child("prop"), child("allprop"), child("propname"), child("include")];
  if ([prop, all, names].filter((element) => element !== undefined).length !== 1)
    throw new HttpError(400, "a propfind must contain one of prop, allprop and propname");
  if (names !== undefined) return { kind: "names" };
  if (prop !== undefined) return { kind: "some", names: propertyNames(prop) };
  return { kind: "all", include: include === undefined ? [] : propertyNames(include) };
}

function refuseLongNames(query: PropertyQuery): void {
  const bytes = namesIn(query).reduce((sum, name) => sum + Buffer.byteLength(name), 0);
  if (bytes > maxNamesBytes)
    throw new HttpError(
      413,
      `the names of all properties with their namespaces exceed ${maxNamesBytes} bytes`,
    );
}

function propertyNames(element: XmlElement): string[] {
  return [...new Set(element.children.filter(isElement).map(fullName))];
}

/** The resource itself and, with Depth 1, the members of a folder. */
async function* withMembers(
  { files }: DavRequest,
  entry: FileEntry,
  depth: 0 | 1,
): AsyncGenerator<FileEntry[]> {
  yield [entry];
  if (depth === 1 && entry.kind === "folder") yield* files.reader.entries(entry.path);
}

/**
 * The whole tree, found before anything is sent: a listing that is too long is refused, because half of it would look like
 * deleted files.
 */
async function wholeTree({ files }: DavRequest, entry: FileEntry): Promise<AsyncGenerator<FileEntry[]>> {
  const found = [entry];
  if (entry.kind === "folder") {
    for await (const below of walk(files.reader, entry.path)) {
      found.push(below);
      if (found.length > maxInfiniteResources)
        throw new HttpError(
          403,
          `this folder contains more than ${maxInfiniteResources} files and folders; use Depth: 1`,
          { condition: "<D:propfind-finite-depth/>" },
        );
    }
  }
  return (async function* () {
    for (let at = 0; at < found.length; at += batchSize) yield found.slice(at, at + batchSize);
  })();
}

interface Listing {
  readonly top: FileEntry;
  readonly depth: Depth;
  readonly batches: AsyncGenerator<FileEntry[]>;
}

async function* responses(
  dav: DavRequest,
  query: PropertyQuery,
  { top, depth, batches }: Listing,
): AsyncGenerator<string | Uint8Array> {
  const { files, bucket, request, received } = dav;
  const { turns } = received.deps;
  const requests = (name: string) =>
    query.kind === "some"
      ? query.names.includes(name)
      : query.kind === "all" && (query.include.includes(name) || !liveProperties.get(name)?.hidden);
  const locks = new LockIndex(
    requests(lockDiscovery) ? await files.metadata.locks.around(top.path, { descendants: depth !== 0 }) : [],
    files.metadata.locks.now(),
  );
  // macOS stalls for a minute and a half on the quota of a volume.
  const isFinder = /^WebDAVFS\//.test(request.headers.get("user-agent") ?? "");
  const diskUsage = quotaNames.some(requests) && !isFinder ? await files.reader.diskUsage() : undefined;
  const hasNoDead =
    (query.kind === "some" && query.names.every(isAlwaysLive)) ||
    (depth !== 0 && (await files.metadata.properties.isEmpty()));
  const writer = query === allProperties ? allWriter : new PropertyWriter(query);
  const text = new TextParts();
  let startedAt = performance.now();
  for await (const entries of batches) {
    const parts = hasNoDead
      ? [{ count: entries.length, found: undefined }]
      : files.metadata.properties.inParts(entries.map(({ path }) => path));
    let described = 0;
    for await (const { count, found } of parts) {
      for (const entry of entries.slice(described, described + count)) {
        writer.describe({ entry, bucket: bucket.name, locks, diskUsage }, found?.get(entry.path), text);
        if (performance.now() - startedAt > maxWorkMs) {
          await turns.pause(request);
          startedAt = performance.now();
        }
        if (text.length >= pieceBytes) yield* text.take();
      }
      described += count;
    }
    yield* text.take();
  }
}

/** Whether a property is live and cannot be replaced by a dead one. */
function isAlwaysLive(name: string): boolean {
  const live = liveProperties.get(name);
  return live !== undefined && !live.overridable;
}
