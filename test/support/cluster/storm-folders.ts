import { hrefsOf } from "../webdav.ts";
import { absent } from "./history.ts";
import { davPath, type Storm, timesOf } from "./storm.ts";

/** A folder that is moved all the time, always to a name that it never had. */
const place = "moved";
const filesInside = 3;
const subject = "the moved folder";

export async function makeFolder(storm: Storm): Promise<void> {
  const node = storm.cluster.node(0);
  await storm.send(node, "MKCOL", davPath(place));
  // Complete before it appears at its place.
  await storm.send(node, "MKCOL", davPath("making"));
  for (let at = 0; at < filesInside; at += 1)
    await storm.send(node, "PUT", davPath(`making/${at}`), { body: `${at}` });
  await move(storm, { from: "making", to: `${place}/first`, parent: absent, child: "first" });
}

let moves = 0;

/** Several do this at once: one of them wins. */
export async function moveFolder(storm: Storm): Promise<void> {
  const parent = await findFolder(storm);
  if (parent === undefined) return;
  moves += 1;
  const child = `${moves}`;
  await move(storm, { from: `${place}/${parent}`, to: `${place}/${child}`, parent, child });
}

async function move(
  storm: Storm,
  { from, to, parent, child }: { from: string; to: string; parent: string; child: string },
): Promise<void> {
  const headers = { destination: davPath(to), overwrite: "F" };
  const answer = await storm.send(storm.busyNode(), "MOVE", davPath(from), { headers });
  storm.wrote(answer, { subject, parent, child });
}

/** Looks where the folder is, in one request. Returns its name. */
export async function findFolder(storm: Storm, node = storm.busyNode()): Promise<string | undefined> {
  const headers = { depth: "infinity" };
  const answer = await storm.send(node, "PROPFIND", davPath(`${place}/`), { headers });
  const isKnown = answer.status === 207;
  const names = hrefsOf(Buffer.from(answer.bytes).toString()).map(
    (href) => /\/moved\/(.+)$/.exec(href ?? "")?.[1] ?? "",
  );
  const places = [...new Set(names.map((name) => name.split("/")[0] ?? "").filter(Boolean))];
  const inside = names.filter((name) => /\/\d+$/.test(name)).length;
  const isWhole = places.length === 1 && inside === filesInside;
  const isBroken = isKnown ? !isWhole : answer.status !== undefined && answer.status !== 503;
  storm.record({
    kind: "read",
    subject,
    isStrict: true,
    saw: isKnown && isWhole ? places[0] : undefined,
    ...timesOf(answer),
    ...(isBroken && { broken: `${answer.status}: seen at places [${places}] with ${inside} files` }),
  });
  return isWhole ? places[0] : undefined;
}
