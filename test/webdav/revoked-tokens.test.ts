import { expect, spyOn } from "bun:test";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { PathMutex } from "../../src/base/path-mutex.ts";
import { Wire } from "../support/hostile.ts";
import { eachDatabase, type TestNode, testNode } from "../support/node.ts";
import { until } from "../support/process.ts";
import { endlessCopy, openSite, staged } from "../support/webdav-disk.ts";
import { lockInfo } from "../support/webdav-locks.ts";

const permissions = ["read", "write", "delete", "list"].map((action) => ({ static_bucket_file: action }));
const limits = [{ scopes: [{ static_bucket: "site" }], permissions }];
/** Of an upload that is long enough to be staged while it is sent. */
const half = "half of it".repeat(5000);
const basic = (token: string) => `Basic ${Buffer.from(token).toString("base64")}`;

/** What ends a token, or its right to the bucket. */
const ends: Readonly<Record<string, (node: TestNode, key: string) => Promise<unknown>>> = {
  deleted: (node, key) => node.call("token_delete", { token: node.superToken, target_token: key }),
  "left without rights": (node, key) =>
    node.call("token_edit", { token: node.superToken, target_token: key, limit: [] }),
  "given another secret": (node, key) =>
    node.call("token_roll_token_secret", { token: node.superToken, target_token: key }),
};

for (const [what, end] of Object.entries(ends))
  eachDatabase(`an upload whose token is ${what} while it is sent is not stored`, async (database) => {
    await using node = await testNode({ database });
    const { at, text } = await openSite(node, { "old.txt": "old" });
    for (const path of ["old.txt", "new.txt"]) {
      const token = await node.newToken(limits);
      using wire = await Wire.open(node.url);
      wire.write(
        `PUT /node/static-webdav/site/${path} HTTP/1.1\r\nHost: here\r\nAuthorization: ${basic(token)}\r\nContent-Length: ${2 * half.length}\r\n\r\n${half}`,
      );
      await until("the upload has begun", () => staged(node).length === 1);
      await end(node, token.split(":")[0] ?? "");
      wire.write(half);
      await wire.hears(/^HTTP\/1\.1 401 [\s\S]*nothing was changed/);
      await until("nothing of it stays", () => staged(node).length === 0);
    }
    expect([text("old.txt"), existsSync(at("new.txt"))]).toEqual(["old", false]);
  });

/** Changes below `from`, each with its body, that wait while `from` is copied. */
const waiting: ReadonlyArray<readonly [method: string, path: string, body?: string]> = [
  ["PUT", "/from/put.txt", "new"],
  ["DELETE", "/from/a.txt"],
  ["MKCOL", "/from/made"],
  ["MOVE", "/from/b.txt"],
  ["COPY", "/from/c.txt"],
  ["LOCK", "/from/d.txt", lockInfo],
  [
    "PROPPATCH",
    "/from/e.txt",
    '<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><x xmlns="q:">1</x></D:prop></D:set></D:propertyupdate>',
  ],
];

eachDatabase("no change that waits for its turn is made once its token is deleted", async (database) => {
  await using node = await testNode({ database, top: "sync_uploads = false\n" });
  const names = ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt"];
  const site = await openSite(node, Object.fromEntries(names.map((name) => [`from/${name}`, name])));
  const { at, base, contents, dav } = site;
  const before = contents();
  const token = await node.newToken(limits);
  const asIt = { authorization: basic(token) };
  let answers: Array<Promise<Response>> = [];
  {
    using _copying = await endlessCopy(node, site);
    const turns = spyOn(PathMutex.prototype, "run");
    answers = waiting.map(([method, path, body]) =>
      dav(method, path, { ...asIt, destination: `${base}/${method}` }, body),
    );
    await until("every request waits for its turn", () => turns.mock.calls.length === answers.length);
    turns.mockRestore();
    await ends.deleted?.(node, token.split(":")[0] ?? "");
  }
  for (const [index, answer] of (await Promise.all(answers)).entries())
    expect([waiting[index]?.[0], answer.status, await answer.text()]).toEqual([
      waiting[index]?.[0],
      401,
      "401 the token was deleted or changed meanwhile; nothing was changed.\n",
    ]);
  await rm(at("from/huge.bin"));
  expect(contents()).toEqual(before);
  const known = await (await dav("PROPFIND", "/from/", { depth: "1" })).text();
  expect([known.includes("activelock"), known.includes('"q:"')]).toEqual([false, false]);
});

eachDatabase("the locks of a token end with it", async (database) => {
  await using node = await testNode({ database });
  const { base, dav } = await openSite(node, { "a.txt": "a", "folder/b.txt": "b" });
  const token = await node.newToken(limits);
  const asIt = (method: string, path: string, body?: string) =>
    fetch(base + path, { method, headers: { authorization: basic(token) }, ...(body ? { body } : {}) });
  for (const path of ["/a.txt", "/folder/"]) expect((await asIt("LOCK", path, lockInfo)).status).toBe(200);
  expect((await dav("PUT", "/a.txt", {}, "new")).status).toBe(423);
  expect((await dav("LOCK", "/a.txt", {}, lockInfo)).status).toBe(423);
  const upload = { token: node.superToken, name: "site", path: "folder/b.txt", body: "new" };
  expect((await node.refused("static-bucket-file_upload", upload)).code).toBe(999);
  await node.call("token_delete", { token: node.superToken, target_token: token.split(":")[0] });
  const listing = await (await dav("PROPFIND", "/a.txt", { depth: "0" })).text();
  expect([listing.includes("lockdiscovery"), listing.includes("activelock")]).toEqual([true, false]);
  expect((await dav("PUT", "/a.txt", {}, "new")).status).toBe(204);
  expect(await node.call("static-bucket-file_upload", upload)).toEqual({ success: true });
  const taken = await dav("LOCK", "/", { depth: "infinity" }, lockInfo);
  expect(taken.status).toBe(200);
  // A lock of a token that exists holds as ever.
  expect((await node.refused("static-bucket-file_upload", upload)).code).toBe(999);
});
