import { expect, test } from "bun:test";
import { eachStore, type TestNode, testNode } from "../support/node.ts";
import { storedFiles, storedSite } from "../support/stored-site.ts";

const call = (node: TestNode, method: string, params: object) =>
  node.call(method, { token: node.superToken, ...params });

/** Reads a file until it is in memory: what was written a moment ago is not kept, and what is read once is not either. */
async function heat(dav: Awaited<ReturnType<typeof storedSite>>["dav"]): Promise<void> {
  await Bun.sleep(120);
  for (let n = 0; n < 3; n += 1) expect(await (await dav("GET", "/a.txt")).text()).toBe("text");
}

eachStore("headers of _headers come and go with the next GET of a file in memory", async (store) => {
  await using node = await testNode(store);
  const { dav, write, remove } = await storedSite(node, { "a.txt": "text" });
  const frame = async () => (await dav("GET", "/a.txt")).headers.get("x-frame-options");
  for (let round = 0; round < 3; round += 1) {
    await heat(dav);
    expect(await frame()).toBe(null);
    await write({ _headers: "/*\n  X-Frame-Options: DENY\n" });
    expect(await frame()).toBe("DENY");
    await heat(dav);
    expect(await frame()).toBe("DENY");
    await remove("_headers");
    expect(await frame()).toBe(null);
  }
});

eachStore("a file in memory is sent to nobody whose token was taken away or cut down", async (store) => {
  await using node = await testNode(store);
  const { dav, base } = await storedSite(node, { "a.txt": "text" });
  const files = ["read", "write", "list", "delete"].map((right) => ({ static_bucket_file: right }));
  const limits = (permissions: object[]) => [{ scopes: [{ static_bucket: "site" }], permissions }];
  const token = await node.newToken(limits(files));
  const [target_token = ""] = token.split(":");
  const authorization = `Basic ${Buffer.from(token).toString("base64")}`;
  const status = async () => (await fetch(`${base}/a.txt`, { headers: { authorization } })).status;
  await heat(dav);
  for (const _ of [1, 2, 3]) expect(await status()).toBe(200);
  await call(node, "token_edit", { target_token, limit: limits(files.slice(1)) });
  expect(await status()).toBe(403);
  await call(node, "token_edit", { target_token, limit: limits(files) });
  expect(await status()).toBe(200);
  await call(node, "token_delete", { target_token });
  expect(await status()).toBe(401);
});

// On SQLite and a disk, where WebDAV sends from memory.
test("a file in memory is not sent for a bucket that has another folder, or is disabled, or is another one", async () => {
  await using node = await testNode();
  const { dav } = await storedSite(node, { "a.txt": "text" });
  await storedFiles(node, "elsewhere").write({ "a.txt": "elsewhere" });
  const answer = async () => {
    const response = await dav("GET", "/a.txt");
    return response.status === 200 ? response.text() : response.status;
  };
  for (const [method, change, expected] of [
    ["update", { path: "elsewhere" }, "elsewhere"],
    ["update", { path: "site" }, "text"],
    ["update", { enable: false }, 404],
    ["update", { enable: true }, "text"],
    ["delete", {}, 404],
    ["create", { path: "elsewhere" }, "elsewhere"],
  ] as const) {
    if ((await answer()) === "text") await heat(dav);
    await call(node, `static-bucket_${method}`, { name: "site", ...change });
    expect([method, change, await answer()]).toEqual([method, change, expected]);
  }
});
