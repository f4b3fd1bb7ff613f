import { expect } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { eachStore, type TestNode, testNode } from "../support/node.ts";
import { digestOf, distinctBytes, offsetType, resumable } from "../support/resumable.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { storedSite } from "../support/stored-site.ts";

const sharedNode = sharedNodes();

/** The content of unfinished uploads: files that grow, or blobs that no file has. */
async function leftovers(node: TestNode): Promise<number> {
  if (node.store === "disk") {
    const folder = join(node.folder, "static/~uploads");
    if (!existsSync(folder)) return 0;
    return readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
      .length;
  }
  const blobs = readdirSync(join(node.folder, "blobs/blobs"), { recursive: true, withFileTypes: true });
  return blobs.filter((entry) => entry.isFile()).length;
}

eachStore(
  "a file that arrives in several requests is invisible until its last byte, and then is what PUT would have made of it",
  async (store) => {
    await using node = await testNode(store);
    const site = await storedSite(node);
    const { ask, begin, append, offsetOf, unfinished } = resumable(node.url, node.superToken);
    const bytes = distinctBytes(3_000_000);
    for (const [round, status] of [
      [1, "201"],
      [2, "204"],
    ] as const) {
      const begun = await begin("site/a%20b.bin", bytes.length, {
        "x-oc-mtime": "1700000000",
        "repr-digest": `${digestOf(bytes)};x=1`,
        "upload-metadata": "filename YS5iaW4=",
      });
      expect(begun.status).toBe(201);
      expect(begun.headers.get("tus-resumable")).toBe("1.0.0");
      const address = begun.headers.get("location") ?? "";
      expect(address).toMatch(/^\/node\/static-upload\/site\/a%20b\.bin\?upload=[A-Za-z0-9]{24}$/);
      const expires = Date.parse(begun.headers.get("upload-expires") ?? "");
      expect(Math.abs(expires - Date.now() - 24 * 3600_000)).toBeLessThan(600_000);
      const first = await append(address, 0, bytes.slice(0, 1_000_000));
      expect([first.status, first.headers.get("upload-offset"), first.headers.get("etag")]).toEqual([
        204,
        "1000000",
        null,
      ]);
      expect(await site.exists("a b.bin")).toBe(round === 2);
      expect(await unfinished("site/")).toMatchObject([
        { path: "a b.bin", length: 3_000_000, offset: 1_000_000, modified: 1_700_000_000_000, address },
      ]);
      const asked = await ask("HEAD", address);
      expect(asked.status).toBe(200);
      for (const [name, value] of [
        ["upload-offset", "1000000"],
        ["upload-length", "3000000"],
        ["upload-metadata", "filename YS5iaW4="],
        ["cache-control", "no-store"],
      ] as const)
        expect([name, asked.headers.get(name)]).toEqual([name, value]);
      const last = await append(address, 1_000_000, bytes.slice(1_000_000));
      expect([last.status, last.headers.get("upload-put-status")]).toEqual([204, status]);
      const got = await site.dav("GET", "/a%20b.bin");
      expect([got.headers.get("etag"), got.headers.get("last-modified")]).toEqual([
        last.headers.get("etag"),
        "Tue, 14 Nov 2023 22:13:20 GMT",
      ]);
      expect(Buffer.from(bytes).equals(await got.bytes())).toBe(true);
      // A client that lost the answer learns it all the same, by asking or by sending nothing.
      expect(await offsetOf(address)).toBe(3_000_000);
      const again = await append(address, 3_000_000, new Uint8Array());
      expect([again.status, again.headers.get("etag")]).toEqual([204, last.headers.get("etag")]);
      expect(await unfinished("site/")).toEqual([]);
    }
    expect(await leftovers(node)).toBe(node.store === "disk" ? 0 : 2);
    const audit = await node.call("audit_list", { token: node.superToken });
    expect(JSON.stringify(audit).match(/"file\.written"/g)?.length).toBe(2);
  },
);

eachStore(
  "an upload can begin with its first bytes, be empty, be named by its metadata, and be cancelled",
  async (store) => {
    await using node = await sharedNode(store);
    const site = await storedSite(node);
    const { ask, begin, append, offsetOf } = resumable(node.url, node.superToken);
    const bytes = distinctBytes(100_000);
    const post = (
      path: string,
      length: number,
      headers: Record<string, string>,
      body?: Uint8Array<ArrayBuffer>,
    ) => ask("POST", `/node/static-upload/${path}`, { "upload-length": String(length), ...headers }, body);
    const some = await post(
      `${node.bucket}/some.bin`,
      100_000,
      { "content-type": offsetType },
      bytes.slice(0, 60_000),
    );
    expect([some.status, some.headers.get("upload-offset")]).toEqual([201, "60000"]);
    const rest = await append(some.headers.get("location") ?? "", 60_000, bytes.slice(60_000));
    expect(rest.headers.get("upload-put-status")).toBe("201");
    const whole = await post(`${node.bucket}/whole.bin`, 100_000, { "content-type": offsetType }, bytes);
    expect([whole.status, whole.headers.get("upload-put-status")]).toEqual([201, "201"]);
    const named = await begin(`${node.bucket}/`, 0, {
      "upload-metadata": `filename ${btoa("named.txt")},x eQ==`,
    });
    expect([named.status, named.headers.get("upload-put-status")]).toEqual([201, "201"]);
    for (const path of ["some.bin", "whole.bin"])
      expect(Buffer.from(bytes).equals(await site.bytes(path))).toBe(true);
    expect((await site.bytes("named.txt")).length).toBe(0);
    const address = (await begin(`${node.bucket}/cancelled.bin`, 100_000)).headers.get("location") ?? "";
    await append(address, 0, bytes.slice(0, 50_000));
    const before = await leftovers(node);
    expect((await ask("DELETE", address)).status).toBe(204);
    expect(await leftovers(node)).toBe(before - 1);
    expect(await offsetOf(address)).toBe(404);
    expect((await append(address, 50_000, bytes.slice(50_000))).status).toBe(404);
    expect(await site.exists("cancelled.bin")).toBe(false);
    const options = await fetch(`${node.url}/node/static-upload/${node.bucket}/x`, { method: "OPTIONS" });
    expect([options.status, options.headers.get("tus-version")]).toEqual([204, "1.0.0"]);
  },
);

eachStore("what is wrong with a request is said, and changes nothing", async (store) => {
  await using node = await testNode({ ...store, top: "max_upload_size = 5000000\n" });
  await storedSite(node, { "folder/x.txt": "x", "file.txt": "old" });
  const { ask, begin, append, address: addressOf, offsetOf } = resumable(node.url, node.superToken);
  const bytes = distinctBytes(1000);
  const statusOf = async (answer: Promise<Response>) => {
    const { status, headers } = await answer;
    return [status, headers.get("x-error-reason")];
  };
  for (const length of ["-1", "1.5", "x", "1e3", "99999999999999999999", "9007199254740993"])
    expect([length, (await begin("site/a.bin", length)).status]).toEqual([length, 400]);
  expect(await statusOf(begin("site/a.bin", 5_000_001))).toEqual([413, null]);
  expect(await statusOf(begin("site/folder", 10))).toEqual([405, "is_folder"]);
  expect(await statusOf(begin("site/folder/", 10))).toEqual([400, null]);
  expect(await statusOf(begin("site/a.bin", 10, { "repr-digest": "md5=:AAAA:" }))).toEqual([400, null]);
  expect(await statusOf(begin("site/a.bin", 10, { "upload-defer-length": "1" }))).toEqual([400, null]);
  expect(await statusOf(begin("site/file.txt", 10, { "if-none-match": "*" }))).toEqual([412, null]);
  expect(await statusOf(begin("site/a.bin", 10, { "tus-resumable": "0.2.2" }))).toEqual([412, "tus_version"]);
  expect(await statusOf(begin("other/a.bin", 10))).toEqual([404, null]);
  expect(await statusOf(ask("PUT", "/node/static-upload/site/a.bin"))).toEqual([405, null]);
  const address = await addressOf("site/a.bin", 1000);
  expect(await statusOf(append(address, 5, bytes.slice(5)))).toEqual([409, "upload_offset"]);
  expect(await statusOf(append(address, "-1", bytes))).toEqual([400, null]);
  expect(await statusOf(append(address, "9007199254740992", bytes))).toEqual([400, null]);
  expect(await statusOf(append(address, 0, distinctBytes(1001)))).toEqual([400, "upload_length"]);
  expect(await statusOf(append(address, 0, bytes, { "content-type": "text/plain" }))).toEqual([415, null]);
  expect(await statusOf(append(address, 0, bytes, { "content-encoding": "gzip" }))).toEqual([415, null]);
  expect(await statusOf(ask("HEAD", "/node/static-upload/site/a.bin"))).toEqual([400, null]);
  expect(await offsetOf(address)).toBe(0);
  // More than was announced, in chunks: the file is not made, and the upload can still be finished.
  const tooMuch = new ReadableStream({
    async pull(controller) {
      controller.enqueue(distinctBytes(1500));
      await Bun.sleep(1);
      controller.close();
    },
  });
  expect(await statusOf(append(address, 0, tooMuch))).toEqual([400, "upload_length"]);
  expect(await offsetOf(address)).toBe(999);
  expect((await append(address, 999, bytes.slice(999))).headers.get("upload-put-status")).toBe("201");
});

eachStore("an upload makes the folders above its file when the file is put in place", async (store) => {
  await using node = await sharedNode(store);
  const site = await storedSite(node);
  const { address, append, begin } = resumable(node.url, node.superToken);
  const bytes = distinctBytes(1000);
  const at = await address(`${node.bucket}/new/folder/a.bin`, bytes.length);
  await append(at, 0, bytes.slice(0, 500));
  expect(await site.paths()).toEqual([]);
  const done = await append(at, 500, bytes.slice(500));
  expect(done.headers.get("upload-put-status")).toBe("201");
  expect(await site.paths()).toEqual(["new", "new/folder", "new/folder/a.bin"]);
  expect((await begin(`${node.bucket}/new/folder/a.bin/b.bin`, 10)).status).toBe(409);
  expect((await begin(`${node.bucket}/other/empty.bin`, 0)).headers.get("upload-put-status")).toBe("201");
});

eachStore("a token that may only write uploads files, and learns nothing of what is there", async (store) => {
  await using node = await sharedNode(store);
  const site = await storedSite(node, { "secret.txt": "old" });
  const limit = (...actions: string[]) => [
    {
      scopes: [{ static_bucket: node.bucket }],
      permissions: actions.map((static_bucket_file) => ({ static_bucket_file })),
    },
  ];
  const { ask, begin, append } = resumable(node.url, await node.newToken(limit("write")));
  const bytes = distinctBytes(1000);
  const begun = await begin(`${node.bucket}/in/box.bin`, 1000, { "if-none-match": "*" });
  expect((await append(begun.headers.get("location") ?? "", 0, bytes)).headers.get("upload-put-status")).toBe(
    "201",
  );
  expect(Buffer.from(bytes).equals(await site.bytes("in/box.bin"))).toBe(true);
  expect((await begin(`${node.bucket}/secret.txt`, 1, { "if-none-match": "*" })).status).toBe(412);
  const etag = (await site.dav("GET", "/secret.txt")).headers.get("etag") ?? "";
  for (const guess of [
    { "if-match": etag },
    { "if-none-match": etag },
    { "if-unmodified-since": new Date().toUTCString() },
    { if: `([${etag}])` },
  ])
    expect([guess, (await begin(`${node.bucket}/secret.txt`, 1, guess)).status]).toEqual([guess, 403]);
  for (const [method, address] of [
    ["PUT", `/node/static-webdav/${node.bucket}/new.txt`],
    ["PROPFIND", `/node/static-webdav/${node.bucket}/`],
    ["GET", `/node/static-webdav/${node.bucket}/secret.txt`],
  ] as const)
    expect([method, (await ask(method, address)).status]).toEqual([method, 403]);
  const others = resumable(node.url, await node.newToken(limit("read", "list", "delete")));
  expect((await others.begin(`${node.bucket}/x.bin`, 10)).status).toBe(403);
});
