import { etagOf, sha256 } from "../blob-stores.ts";
import { offsetType } from "../resumable.ts";
import { absent, now } from "./history.ts";
import { type Answer, davPath, outcomeOf, type Storm, timesOf } from "./storm.ts";
import { readStrict } from "./storm-files.ts";

/** A client gives an upload up after so long, and after so many reads it has seen enough of a file. */
const maxUploadMs = 30_000;
const readsAfterwards = 4;

let uploads = 0;

/**
 * Uploads a new file by resumable requests to any node, each again until the upload is finished; replaces it as soon as it is seen, and
 * looks whether it stays replaced: a request that was given up, or repeated, must not put the upload in place again.
 */
export async function uploadAndReplace(storm: Storm): Promise<void> {
  uploads += 1;
  const subject = `resumed-${uploads}`;
  const body = storm.newBody();
  const uploading = { isOver: false };
  const uploaded = upload(storm, subject, body).finally(() => {
    uploading.isOver = true;
  });
  await Promise.all([uploaded, replaceWhenSeen(storm, subject, { child: etagOf(sha256(body)), uploading })]);
  for (let reads = 0; reads < readsAfterwards && !storm.isOver; reads += 1) {
    await readStrict(storm, subject);
    await Bun.sleep(500 * storm.random());
  }
}

interface Awaited {
  readonly child: string;
  readonly uploading: { readonly isOver: boolean };
}

async function replaceWhenSeen(storm: Storm, subject: string, { child, uploading }: Awaited): Promise<void> {
  for (;;) {
    const isLast = uploading.isOver;
    if ((await readStrict(storm, subject)) === child) break;
    if (isLast || storm.isOver) return;
    await Bun.sleep(50 * storm.random());
  }
  const body = storm.newBody();
  const headers = { "if-match": child };
  const answer = await storm.send(storm.busyNode(), "PUT", davPath(subject), { headers, body });
  storm.wrote(answer, { subject, parent: child, child: etagOf(sha256(body)) });
}

async function upload(storm: Storm, subject: string, body: string): Promise<void> {
  const deadline = now() + maxUploadMs;
  const ask = async (method: string, path: string, more: Record<string, string> = {}, part?: string) => {
    const headers = { "tus-resumable": "1.0.0", ...more };
    const answer = await storm.send(storm.busyNode(), method, path, { headers, body: part });
    storm.record({ kind: "other", ...timesOf(answer) });
    // Throws for an answer that no fault excuses.
    outcomeOf(answer);
    return answer;
  };
  const begun = await ask("POST", `/node/static-upload/site/${subject}`, {
    "upload-length": `${body.length}`,
  });
  const address = begun.headers.get("location");
  if (begun.status !== 201 || address === null) return;
  /** The first request that may have put the file in place. */
  let placing: Answer | undefined;
  let isDone = false;
  while (!isDone && now() < deadline && !storm.isOver) {
    const asked = await ask("HEAD", address);
    const offset = Number(asked.headers.get("upload-offset"));
    if (asked.status === 404) break;
    if (asked.status !== 200) continue;
    isDone = offset === body.length;
    if (isDone) break;
    const end = storm.random() < 0.3 ? Math.ceil((offset + body.length) / 2) : body.length;
    const more = { "content-type": offsetType, "upload-offset": `${offset}` };
    const sent = await ask("PATCH", address, more, body.slice(offset, end));
    if (end === body.length && sent.status !== 409) placing ??= sent;
    isDone = sent.status === 204 && Number(sent.headers.get("upload-offset")) === body.length;
  }
  if (placing !== undefined)
    storm.record({
      kind: "write",
      subject,
      parent: absent,
      child: etagOf(sha256(body)),
      // When it took effect is known only if it is the one that was answered; a write that replaces it proves it as well.
      outcome: "maybe",
      ...timesOf(placing),
    });
}
