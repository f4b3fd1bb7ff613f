import { isElement, type XmlElement } from "../../base/xml.ts";
import { escapeXml, tagFor } from "../../base/xml-text.ts";
import { LockIndex } from "../../buckets/locks.ts";
import type { Properties } from "../../buckets/properties.ts";
import type { TreeEntry } from "../../buckets/tree.ts";
import { hrefOf } from "./address.ts";
import { fullName, isDav, readXml } from "./body.ts";
import { liveProperties, lockDiscovery, quotaNames, type Subject } from "./live-properties.ts";
import { statusLine, streamedMultistatus } from "./multistatus.ts";
import { Refused } from "./refused.ts";
import { type Depth, depthOf, type Visit } from "./visit.ts";
import { checkIf } from "./warrant.ts";

/** What a PROPFIND wants to know. */
type Question =
  | { readonly kind: "names" }
  | { readonly kind: "all"; readonly include: readonly string[] }
  | { readonly kind: "some"; readonly names: readonly string[] };

/** Depth infinity is answered whole up to so many resources; beyond, the client has to ask folder by folder. */
const mostAtInfinity = 20_000;
const resourcesAtOnce = 128;
/** All names in one PROPFIND together: each is repeated for every resource, with its namespace. Clients ask for 3 KB at the most. */
const maxNamesBytes = 64 * 1024;
/** An answer is sent in pieces of about this size, so that a slow reader makes the server hold one of them. */
const pieceBytes = 64 * 1024;

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
  if (prop !== undefined) return { kind: "some", names: namesIn(prop) };
  return { kind: "all", include: include === undefined ? [] : namesIn(include) };
}

function refuseLongNames(question: Question): void {
  const names = question.kind === "some" ? question.names : question.kind === "all" ? question.include : [];
  const bytes = names.reduce((sum, name) => sum + Buffer.byteLength(name), 0);
  if (bytes > maxNamesBytes)
    throw new Refused(
      413,
      `the names of all properties with their namespaces may have ${maxNamesBytes} bytes`,
    );
}

function namesIn(element: XmlElement): string[] {
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
): AsyncGenerator<string> {
  const { files, bucket, request } = visit;
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
  for await (const entries of batches) {
    const dead = bare ? undefined : await files.properties.ofSome(entries.map(({ path }) => path));
    let piece = "";
    for (const entry of entries) {
      piece += describe({ entry, bucket: bucket.name, locks, room }, question, dead?.get(entry.path) ?? {});
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

function describe(subject: Subject, question: Question, dead: Properties): string {
  const { entry, bucket } = subject;
  const href = escapeXml(hrefOf(bucket, entry.path, entry.kind === "folder"));
  const found: string[] = [];
  const missing: string[] = [];
  for (const name of namesFor(question, dead)) {
    const own = Object.hasOwn(dead, name) && !isClosed(name) ? dead[name] : undefined;
    const value = own === undefined ? liveProperties.get(name)?.value(subject) : undefined;
    if (question.kind === "names") {
      if (own !== undefined || value !== undefined) found.push(element(name, ""));
    } else if (own !== undefined) found.push(own);
    else if (value !== undefined) found.push(element(name, value));
    else if (question.kind === "some" || question.include.includes(name)) missing.push(element(name, ""));
  }
  const good = found.length > 0 || missing.length === 0 ? propstat(found, 200) : "";
  const bad = missing.length > 0 ? propstat(missing, 404) : "";
  return `<D:response><D:href>${href}</D:href>${good}${bad}</D:response>\n`;
}

function namesFor(question: Question, dead: Properties): Iterable<string> {
  if (question.kind === "some") return question.names;
  const shown = [...liveProperties].flatMap(([name, { hidden }]) => (hidden ? [] : [name]));
  const include = question.kind === "all" ? question.include : [];
  return new Set([...shown, ...Object.keys(dead), ...include]);
}

export function propstat(elements: readonly string[], status: number, more = ""): string {
  return `<D:propstat><D:prop>${elements.join("")}</D:prop><D:status>${statusLine(status)}</D:status>${more}</D:propstat>`;
}

/** A property's element around its inside, which is XML already. */
export function element(full: string, inside: string): string {
  const end = full.lastIndexOf("}");
  const [namespace, name] = [full.slice(1, end), full.slice(end + 1)];
  const { tag, declaration } =
    namespace === "DAV:" ? { tag: `D:${name}`, declaration: "" } : tagFor(namespace, name);
  return inside === "" ? `<${tag}${declaration}/>` : `<${tag}${declaration}>${inside}</${tag}>`;
}
