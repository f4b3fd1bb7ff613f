import { expect } from "bun:test";
import { eachWaitingStore, heldChanges } from "../support/held-changes.ts";
import { Wire } from "../support/hostile.ts";
import { eachStore, type TestNode, testNode } from "../support/node.ts";
import { storedSite } from "../support/stored-site.ts";
import { until } from "../support/until.ts";
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
  eachStore(`an upload whose token is ${what} while it is sent is not stored`, async (store) => {
    await using node = await testNode(store);
    const { exists, text, uploads } = await storedSite(node, { "old.txt": "old" });
    for (const path of ["old.txt", "new.txt"]) {
      const token = await node.newToken(limits);
      using wire = await Wire.open(node.url);
      wire.write(
        `PUT /node/static-webdav/site/${path} HTTP/1.1\r\nHost: here\r\nAuthorization: ${basic(token)}\r\nContent-Length: ${2 * half.length}\r\n\r\n${half}`,
      );
      await until("the upload has begun", () => uploads().length === 1);
      await end(node, token.split(":")[0] ?? "");
      wire.write(half);
      await wire.hears(/^HTTP\/1\.1 401 [\s\S]*nothing was changed/);
      await until("nothing of it stays", () => uploads().length === 0);
    }
    expect([await text("old.txt"), await exists("new.txt")]).toEqual(["old", false]);
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

eachWaitingStore("no change that waits for its turn is made once its token is deleted", async (store) => {
  await using node = await testNode({ ...store, top: "sync_uploads = false\n" });
  const names = ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt"];
  const site = await storedSite(node, Object.fromEntries(names.map((name) => [`from/${name}`, name])));
  const { base, contents, dav } = site;
  const before = await contents();
  const token = await node.newToken(limits);
  const asIt = { authorization: basic(token) };
  const answers = await heldChanges(node, site, {
    send: () =>
      waiting.map(([method, path, body]) =>
        dav(method, path, { ...asIt, destination: `${base}/${method}` }, body),
      ),
    meanwhile: async () => ends.deleted?.(node, token.split(":")[0] ?? ""),
  });
  for (const [index, answer] of answers.entries())
    expect([waiting[index]?.[0], answer.status, await answer.text()]).toEqual([
      waiting[index]?.[0],
      401,
      "401 the token was deleted or changed meanwhile; nothing was changed.\n",
    ]);
  expect(await contents()).toEqual(before);
  const known = await (await dav("PROPFIND", "/from/", { depth: "1" })).text();
  expect([known.includes("activelock"), known.includes('"q:"')]).toEqual([false, false]);
});

eachStore("the locks of a token end with it", async (store) => {
  await using node = await testNode(store);
  const { base, dav } = await storedSite(node, { "a.txt": "a", "folder/b.txt": "b" });
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
