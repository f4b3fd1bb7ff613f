import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { Gate, gatedProgram } from "../support/gate.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { eachDatabase, newDatabase, testNode } from "../support/node.ts";
import { hello, newHome, type Server } from "../support/process.ts";
import { distinctBytes } from "../support/resumable.ts";
import { clientWith, type S3Keys, s3Host, textsIn } from "../support/s3.ts";
import type { SqlResult } from "../support/sql.ts";
import { Sweep } from "../support/sweep.ts";
import { within } from "../support/until.ts";

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
  if (!existsSync(folder)) return [];
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

const manyStartsMs = 180_000;
const small = ["part one, ", "part two"];
const ended = `<CompleteMultipartUpload>${small.map((text, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${md5(Buffer.from(text))}</ETag></Part>`).join("")}</CompleteMultipartUpload>`;

for (const store of ["disk", "objects"] as const)
  eachDatabase(
    `an upload in parts that is killed before any of its calls keeps what was acknowledged, and leaves nothing after a day (${store})`,
    async (kind) => {
      const binary = await gatedProgram();
      await using home = await newHome();
      await mkdir(home.file("blobs"));
      const files = store === "disk" ? "" : `url = "file://${home.file("blobs")}"\n`;
      const keys = { static_path: home.file("static"), server_uuid: crypto.randomUUID() };
      const lines = Object.entries(keys).map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`);
      const top = `${lines.join("")}keep_removed_days = 0\n`;
      const database = await newDatabase(kind, home.path);
      await using _ = { [Symbol.asyncDispose]: () => database.drop() };
      await home.configure({ top, files }, database.url);
      const gate = await Gate.open(home.path);
      const env = { ...gate.env, NODE_SERVER_S3_HOST: s3Host };
      let server = await home.serve({ binary, env });
      const token = server.superToken;
      await server.call("static-bucket_create", [token, "site"]);
      const credentials = (await server.call("token_s3_credentials", { token })) as S3Keys;
      const path = "/site/whole";
      const s3 = (request: Partial<Parameters<ReturnType<typeof clientWith>["s3"]>[0]>) =>
        clientWith({ url: server.url }, credentials).s3({ path, ...request });
      const begin = async () => {
        const answer = await s3({ method: "POST", query: { uploads: "" } });
        return textsIn(await answer.text(), "UploadId")[0] ?? "";
      };
      const send = async (uploadId: string, at: number) =>
        (await s3({ method: "PUT", query: { partNumber: String(at + 1), uploadId }, body: small[at] ?? "" }))
          .status;
      const end = async (uploadId: string) =>
        (await s3({ method: "POST", query: { uploadId }, body: ended })).status;
      const cutOff = () => undefined;
      const struck: string[] = [];
      for (;;) {
        const uploadId = await begin();
        expect(await send(uploadId, 0)).toBe(200);
        gate.close(struck.length + 1, ["mkdir"]);
        const sent = await send(uploadId, 1).catch(cutOff);
        const completed = sent === 200 ? await end(uploadId).catch(cutOff) : undefined;
        const isAlive = completed === 200 && (await server.call("node-server_hello").catch(cutOff)) === hello;
        if (!isAlive) {
          await within("the server is killed", server.exited);
          struck.push(gate.open().at(-1) ?? "");
          server = await home.serve({ binary, env });
        } else gate.open();
        const at = isAlive ? "the end" : `call ${struck.length}, ${struck.at(-1)}`;
        const read = await s3({});
        const found = [read.status, read.status === 200 ? await read.text() : ""];
        expect([at, found]).toEqual([
          at,
          completed === 200 || found[0] === 200 ? [200, small.join("")] : [404, ""],
        ]);
        if (found[0] === 404) {
          const listed = textsIn(await (await s3({ query: { uploadId } })).text(), "PartNumber");
          expect([at, listed.slice(0, sent === 200 ? 2 : 1)]).toEqual([
            at,
            sent === 200 ? ["1", "2"] : ["1"],
          ]);
          expect([at, await send(uploadId, 1)]).toEqual([at, 200]);
        }
        expect([at, await end(uploadId)]).toEqual([at, 200]);
        expect([at, await (await s3({})).text()]).toEqual([at, small.join("")]);
        // What was acknowledged since is not lost by an answer that is asked for again.
        expect((await s3({ method: "PUT", body: "newer" })).status).toBe(200);
        expect([at, await end(uploadId), await (await s3({})).text()]).toEqual([at, 200, "newer"]);
        expect((await s3({ method: "DELETE" })).status).toBe(204);
        // An upload that nobody ends.
        expect(await send(await begin(), 0)).toBe(200);
        if (isAlive) break;
      }
      console.log(`an upload in parts, ${store}, ${kind}: killed before ${struck.join(", ")}`);
      expect(struck).toEqual(expect.arrayContaining(store === "disk" ? ["rename", "COMMIT"] : ["COMMIT"]));
      await server.stop();
      // A day later, by the clock of the database and by that of the server.
      await database.run(
        kind === "sqlite"
          ? "UPDATE kv SET value = json_set(value, '$.expires', 1) WHERE namespace LIKE 'static-files/uploads/%'"
          : `UPDATE kv SET value = value || '{"expires": 1}'::jsonb WHERE namespace LIKE 'static-files/uploads/%'`,
      );
      const clock = new ManualClock();
      await using node = await testNode({ databaseUrl: database.url, top, files, clock });
      const left = () => ["~uploads", "~staging"].flatMap((name) => filesIn(home.file(`static/${name}`)));
      if (store === "disk") await clock.until("nothing is left", 1000, () => left().length === 0);
      else {
        const sql = "SELECT key FROM kv WHERE namespace LIKE 'static-files/upload%'";
        const known = async () =>
          ((await node.call("node-server_exec_sql", { token, sql })) as SqlResult).data;
        await clock.until("no upload is known", 1000, async () => (await known()).length === 0);
        await new Sweep(database.url, home.file("blobs"), 0).end();
        expect(filesIn(home.file("blobs/blobs"))).toEqual([]);
      }
    },
    manyStartsMs,
  );
