import { isElement, type XmlElement } from "../../../base/xml.ts";
import { LockIndex } from "../../../buckets/locks.ts";
import type { TreeEntry } from "../../../buckets/tree.ts";
import { checkIf } from "../conditions.ts";
import { type Depth, depthOf, type Visit } from "../dav-request.ts";
import { Refused } from "../http-error.ts";
import { liveProperties, lockDiscovery, quotaNames } from "../xml/live-properties.ts";
import { streamedMultistatus } from "../xml/multistatus.ts";
import { namesIn, PropertyAnswer, type Question } from "../xml/property-response.ts";
import { fullName, isDav, readXml } from "../xml/request-xml.ts";

/** Depth infinity is answered whole up to so many resources; beyond, the client has to ask folder by folder. */
const mostAtInfinity = 20_000;
const resourcesAtOnce = 128;
/** All names in one PROPFIND together: each is repeated for every resource, with its namespace. Clients ask for 3 KB at the most. */
const maxNamesBytes = 64 * 1024;
/** An answer is sent in pieces of about this size, so that a slow reader makes the server hold one of them. */
const pieceBytes = 64 * 1024;
/** Work on an answer before other requests get the event loop, which a client that reads fast would keep for the whole answer. */
const maxWorkMs = 5;

export async function propfind(visit: Visit): Promise<Response> {
  const depth = depthOf(visit, [0, 1, "infinity"], "infinity");
  const question = parseQuestion(await readXml(visit.request));
  refuseLongNames(question);
  await checkIf(visit);
  const entry = await visit.files.tree.find(visit.path);
  if (entry === undefined) throw new Refused(404, "there is no such file or folder");
  const batches = depth === "infinity" ? await everything(visit, entry) : family(visit, entry, depth === 1);
  return streamedMultistatus(answers(visit, question, entry, depth, batches));
}

function parseQuestion(root: XmlElement | undefined): Question {
  if (root === undefined) return { kind: "all", include: [] };
  if (!isDav(root, "propfind")) throw new Refused(400, "the body is no propfind");
  const children = root.children.filter(isElement);
  const child = (name: string) => children.find((element) => isDav(element, name));
  const [prop, all, names, include] = [child("prop"), child("allprop"), child("propname"), child("include")];
  if ([prop, all, names].filter((element) => element !== undefined).length !== 1)
    throw new Refused(400, "a propfind asks for one of prop, allprop and propname");
  if (names !== undefined) return { kind: "names" };
  if (prop !== undefined) return { kind: "some", names: propertyNames(prop) };
  return { kind: "all", include: include === undefined ? [] : propertyNames(include) };
}

function refuseLongNames(question: Question): void {
  const bytes = namesIn(question).reduce((sum, name) => sum + Buffer.byteLength(name), 0);
  if (bytes > maxNamesBytes)
    throw new Refused(
      413,
      `the names of all properties with their namespaces may have ${maxNamesBytes} bytes`,
    );
}

function propertyNames(element: XmlElement): string[] {
  return [...new Set(element.children.filter(isElement).map(fullName))];
}

/** The resource itself and, if asked for, what it holds. */
async function* family({ files }: Visit, entry: TreeEntry, members: boolean): AsyncGenerator<TreeEntry[]> {
  yield [entry];
  if (members && entry.kind === "folder") yield* files.tree.entries(entry.path);
}

/** All at once, because too many are refused and not cut short: half a listing looks like deleted files. */
async function everything({ files }: Visit, entry: TreeEntry): Promise<AsyncGenerator<TreeEntry[]>> {
  const found = [entry];
  if (entry.kind === "folder") {
    for await (const below of files.tree.walk(entry.path)) {
      found.push(below);
      if (found.length > mostAtInfinity)
        throw new Refused(
          403,
          "there is too much below this folder for one answer",
          "<D:propfind-finite-depth/>",
        );
    }
  }
  return (async function* () {
    for (let at = 0; at < found.length; at += resourcesAtOnce) yield found.slice(at, at + resourcesAtOnce);
  })();
}

async function* answers(
  visit: Visit,
  question: Question,
  top: TreeEntry,
  depth: Depth,
  batches: AsyncGenerator<TreeEntry[]>,
): AsyncGenerator<string | Uint8Array> {
  const { files, bucket, request, turns } = visit;
  const asks = (name: string) =>
    question.kind === "some"
      ? question.names.includes(name)
      : question.kind === "all" && (question.include.includes(name) || !liveProperties.get(name)?.hidden);
  const locks = new LockIndex(asks(lockDiscovery) ? await files.locks.around(top.path, depth !== 0) : []);
  // macOS stalls for a minute and a half on the quota of a volume.
  const isFinder = /^WebDAVFS\//.test(request.headers.get("user-agent") ?? "");
  const room = quotaNames.some(asks) && !isFinder ? await files.tree.room() : undefined;
  const bare =
    (question.kind === "some" && question.names.every(isClosed)) ||
    (depth !== 0 && (await files.properties.isEmpty()));
  const answer = new PropertyAnswer(question);
  let startedAt = performance.now();
  for await (const entries of batches) {
    const dead = bare ? undefined : await files.properties.ofSome(entries.map(({ path }) => path));
    let piece = "";
    for (const entry of entries) {
      const subject = { entry, bucket: bucket.name, locks, room };
      for (const part of answer.describe(subject, dead?.get(entry.path) ?? {})) {
        if (typeof part === "string") piece += part;
        else {
          yield piece;
          yield part;
          piece = "";
        }
      }
      if (performance.now() - startedAt > maxWorkMs) {
        await turns.pause(request);
        startedAt = performance.now();
      }
      if (piece.length < pieceBytes) continue;
      yield piece;
      piece = "";
    }
    if (piece !== "") yield piece;
  }
}

/** Live, and not to be overruled by a client's own. */
function isClosed(name: string): boolean {
  const live = liveProperties.get(name);
  return live !== undefined && !live.open;
}
