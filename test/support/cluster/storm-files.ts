import { faultKinds } from "../../../src/base/fault.ts";
import { etagOf, sha256 } from "../blob-stores.ts";
import { hrefsOf } from "../webdav.ts";
import { type ClusterNode, superToken } from "./cluster.ts";
import { absent } from "./history.ts";
import { type Answer, davPath, plainPath, type Storm, stateOf, timesOf } from "./storm.ts";

/** Files that are replaced all the time, by many. */
export const hotFiles = ["hot/0", "hot/1", "hot/2"];
/** Files that are created and removed all the time. */
export const passingFiles = ["passing/0", "passing/1"];

export async function makeFiles(storm: Storm): Promise<void> {
  for (const folder of ["hot", "passing"]) await storm.send(storm.cluster.node(0), "MKCOL", davPath(folder));
  for (const file of hotFiles) await create(storm, storm.cluster.node(0), file);
}

async function create(storm: Storm, node: ClusterNode, file: string): Promise<void> {
  const body = storm.newBody();
  const answer = await storm.send(node, "PUT", davPath(file), { headers: { "if-none-match": "*" }, body });
  storm.wrote(answer, { subject: file, parent: absent, child: etagOf(sha256(body)) });
}

/** Replaces a file that nobody else has replaced meanwhile, and looks at it through another node. */
export async function replace(storm: Storm): Promise<void> {
  const file = storm.any(hotFiles);
  const parent = storm.random() < 0.5 ? storm.known.get(file) : await readStrict(storm, file);
  if (parent === undefined || parent === absent) return;
  const body = storm.newBody();
  const headers = { "if-match": parent };
  const answer = await storm.send(storm.busyNode(), "PUT", davPath(file), { headers, body });
  storm.wrote(answer, { subject: file, parent, child: etagOf(sha256(body)) });
  await Promise.all([readStrict(storm, file), readStrict(storm, file)]);
}

export async function createOrRemove(storm: Storm): Promise<void> {
  const file = storm.any(passingFiles);
  const parent = await readStrict(storm, file);
  if (parent === undefined) return;
  if (parent === absent) return create(storm, storm.busyNode(), file);
  const answer = await storm.send(storm.busyNode(), "DELETE", davPath(file), {
    headers: { "if-match": parent },
  });
  storm.wrote(answer, { subject: file, parent, child: absent });
}

const noCache = { "cache-control": "no-cache" };

/** The entity tags in an answer to PROPFIND, by the path of the file. */
function etagsOf({ bytes }: Answer): Map<string, string> {
  const responses = Buffer.from(bytes).toString().split("<D:response>").slice(1);
  return new Map(
    responses.map((response) => [
      hrefsOf(response)[0] ?? "",
      (/<D:getetag>([^<]*)<\/D:getetag>/.exec(response)?.[1] ?? "").replaceAll("&quot;", '"'),
    ]),
  );
}

/** Every way to read a file that must show what was answered before. */
const strictReads: ReadonlyArray<(storm: Storm, node: ClusterNode, file: string) => Promise<Answer>> = [
  (storm, node, file) => storm.send(node, "GET", plainPath(file), { headers: noCache, token: null }),
  (storm, node, file) => storm.send(node, "HEAD", plainPath(file), { headers: noCache, token: null }),
  (storm, node, file) => storm.send(node, "GET", davPath(file)),
  (storm, node, file) => storm.send(node, "HEAD", davPath(file)),
  async (storm, node, file) => {
    const answer = await storm.send(node, "PROPFIND", davPath(file), { headers: { depth: "0" } });
    const headers = new Headers({ etag: etagsOf(answer).get(davPath(file)) ?? "" });
    return answer.status === 207 ? { ...answer, status: 304, headers } : answer;
  },
  async (storm, node, file) => {
    const answer = await storm.call(node, "static-bucket-file_read", {
      token: superToken,
      name: "site",
      path: file,
    });
    const { result, error } = answer.reply;
    const isMissing = error?.code === faultKinds.NotFound.code;
    const failed = isMissing ? 404 : error?.data?.reason === "unavailable" ? 503 : answer.status;
    if (typeof result !== "string") return { ...answer, status: failed === 200 ? 500 : failed };
    const bytes = Buffer.from(result, "base64");
    return { ...answer, bytes, headers: new Headers({ etag: etagOf(sha256(bytes)) }) };
  },
];

/** Reads a file from any node that may be asked. Returns its state; undefined if there was no answer to rely on. */
export async function readStrict(
  storm: Storm,
  file: string,
  node = storm.busyNode(),
): Promise<string | undefined> {
  const answer = await storm.any(strictReads)(storm, node, file);
  return recordRead(storm, file, answer, true);
}

/** Lists the folder of the files that are replaced all the time. */
export async function listHotFiles(storm: Storm): Promise<void> {
  const headers = { depth: "1" };
  const answer = await storm.send(storm.busyNode(), "PROPFIND", davPath("hot/"), { headers });
  const listing = crypto.randomUUID();
  const etags = etagsOf(answer);
  for (const file of hotFiles) {
    const etag = etags.get(davPath(file));
    const { saw, broken } = answer.status === 207 ? { saw: etag ?? absent } : stateOf(answer);
    storm.record({
      kind: "read",
      subject: file,
      isStrict: true,
      saw,
      listing,
      ...timesOf(answer),
      ...(broken !== undefined && { broken }),
    });
  }
}

export async function readHotFile(storm: Storm): Promise<void> {
  await readStrict(storm, storm.any([...hotFiles, ...hotFiles, ...passingFiles]));
}

/** A plain request, as browsers send it. */
export async function readLeased(storm: Storm): Promise<void> {
  const file = storm.any([...hotFiles, ...hotFiles, ...passingFiles]);
  const node = storm.random() < 0.5 ? storm.cluster.node(storm.quietNode) : storm.anyNode();
  const method = storm.any(["GET", "GET", "HEAD"]);
  const known = storm.known.get(file);
  const headers = known?.startsWith('"') && storm.random() < 0.3 ? { "if-none-match": known } : {};
  const answer = await storm.send(node, method, plainPath(file), { headers, token: null });
  recordRead(storm, file, answer, false);
}

function recordRead(storm: Storm, file: string, answer: Answer, isStrict: boolean): string | undefined {
  const { saw, broken } = stateOf(answer);
  storm.record({
    kind: "read",
    subject: file,
    isStrict,
    saw,
    ...timesOf(answer),
    ...(broken !== undefined && { broken }),
  });
  if (isStrict && saw !== undefined) storm.known.set(file, saw);
  return saw;
}
