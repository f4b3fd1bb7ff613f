import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { newHome, type Server } from "../support/process.ts";
import { distinctBytes } from "../support/resumable.ts";
import { clientWith, type S3Keys, s3Host, textsIn } from "../support/s3.ts";

const partBytes = 6 * 1024 * 1024;
const parts = [distinctBytes(partBytes, 1), distinctBytes(partBytes, 2), distinctBytes(1000, 3)];
const md5 = (bytes: Uint8Array) => createHash("md5").update(bytes).digest("hex");
const whole = Buffer.concat(parts);
const document = `<CompleteMultipartUpload>${parts.map((bytes, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${md5(bytes)}</ETag></Part>`).join("")}</CompleteMultipartUpload>`;

/** A server in a process that speaks S3, killed and started again on the same files. */
async function openKilled(store: "disk" | "objects") {
  const home = await newHome();
  if (store === "objects") {
    await mkdir(home.file("blobs"));
    await home.configure({ files: `url = "file://${home.file("blobs")}"\n` });
  }
  const env = { NODE_SERVER_S3_HOST: s3Host };
  let server: Server = await home.serve({ env });
  const token = server.superToken;
  await server.call("static-bucket_create", [token, "site"]);
  const keys = (await server.call("token_s3_credentials", { token })) as S3Keys;
  return {
    home,
    client: () => clientWith({ url: server.url }, keys),
    /** Kills the server after a time, and starts it again. */
    async kill(afterMs = 0) {
      await Bun.sleep(afterMs);
      server.signal("SIGKILL");
      await server.exited;
      server = await home.serve({ env });
    },
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}

function filesIn(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => `${parentPath}/${name}`);
}

for (const store of ["disk", "objects"] as const)
  test(`no kill during an upload in parts loses what was acknowledged (${store})`, async () => {
    await using site = await openKilled(store);
    const { client, kill } = site;
    const path = "/site/whole.bin";
    const begin = async () => {
      const answer = await client().s3({ method: "POST", path, query: { uploads: "" } });
      return textsIn(await answer.text(), "UploadId")[0] ?? "";
    };
    const send = (uploadId: string, at: number) =>
      client().s3({
        method: "PUT",
        path,
        query: { partNumber: String(at + 1), uploadId },
        body: parts[at] ?? "",
      });
    const complete = (uploadId: string) =>
      client().s3({ method: "POST", path, query: { uploadId }, body: document });
    const sendAll = async (uploadId: string) => {
      for (const at of parts.keys()) expect((await send(uploadId, at)).status).toBe(200);
    };
    const expectWhole = async () => expect(md5(await (await client().s3({ path })).bytes())).toBe(md5(whole));
    // While a part arrives: those before it are there.
    const first = await begin();
    expect((await send(first, 0)).status).toBe(200);
    const cutOff = send(first, 1).catch(() => undefined);
    await kill(10);
    await cutOff;
    const listed = await (await client().s3({ path, query: { uploadId: first } })).text();
    const known = textsIn(listed, "PartNumber");
    expect(known.slice(0, 1)).toEqual(["1"]);
    expect(textsIn(listed, "ETag").every((tag, at) => tag.includes(md5(parts[at] ?? whole)))).toBe(true);
    await sendAll(first);
    // While it is completed: it is there as a whole or not at all, and can be completed again.
    for (const afterMs of [0, 5, 15, 30, 60]) {
      const uploadId = afterMs === 0 ? first : await begin();
      if (afterMs > 0) await sendAll(uploadId);
      const completing = complete(uploadId).then(
        ({ status }) => status,
        () => undefined,
      );
      await kill(afterMs);
      const isKnown = (await completing) === 200;
      const read = await client().s3({ path });
      if (read.status === 200) expect(md5(await read.bytes())).toBe(md5(whole));
      else expect([afterMs, isKnown, read.status]).toEqual([afterMs, false, 404]);
      expect([afterMs, (await complete(uploadId)).status]).toEqual([afterMs, 200]);
      await expectWhole();
      expect((await client().s3({ method: "DELETE", path })).status).toBe(204);
    }
    // Behind the answer. What a kill left of an upload before ends with the time of that upload.
    const left = store === "disk" ? filesIn(site.home.file("static/~uploads")) : [];
    const last = await begin();
    await sendAll(last);
    expect((await complete(last)).status).toBe(200);
    await kill();
    await expectWhole();
    const answer = await complete(last);
    expect([answer.status, (await answer.text()).includes("-3")]).toEqual([200, true]);
    if (store === "disk")
      expect(left).toEqual(expect.arrayContaining(filesIn(site.home.file("static/~uploads"))));
  }, 120_000);
