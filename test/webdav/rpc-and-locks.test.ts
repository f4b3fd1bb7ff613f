import { expect } from "bun:test";
import { ManualClock } from "../support/manual-clock.ts";
import { eachStore, type TestNode, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { until } from "../support/until.ts";
import { webdavSite } from "../support/webdav.ts";

const sharedNode = sharedNodes();

const lockInfo = (scope = "exclusive") =>
  `<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:${scope}/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>`;

async function rpcSite(node: TestNode) {
  const { dav } = await webdavSite(node);
  const token = node.superToken;
  const call = (method: string, params: object) =>
    node.send(`static-bucket-file_${method}`, { token, name: node.bucket, ...params });
  const upload = (path: string, body = "by RPC") => call("upload", { path, body });
  for (const path of ["file", "free", "folder/member", "folder/inner/deep"]) await upload(path, "before");
  return {
    dav,
    upload,
    remove: (path: string) => call("delete", { path }),
    rename: (from: string, to: string) => call("rename", { from, to }),
    async lock(path: string, depth = "infinity", scope?: string): Promise<string> {
      const response = await dav("LOCK", path, { depth }, lockInfo(scope));
      expect([200, 201]).toContain(response.status);
      return response.headers.get("lock-token") ?? "";
    },
    unlock: (path: string, token: string) => dav("UNLOCK", path, { "lock-token": token }),
    /** Every file with its content. */
    async content(): Promise<Record<string, string>> {
      const files = (await node.call("static-bucket-file_list", [token, node.bucket])) as Array<{
        path: string;
      }>;
      const read = files.map(async ({ path }) => {
        const base64 = await node.call("static-bucket-file_read", [token, node.bucket, path]);
        return [path, Buffer.from(String(base64), "base64").toString()] as const;
      });
      return Object.fromEntries(await Promise.all(read));
    },
  };
}

/** What is refused because of a lock says which path is locked, and that it is. */
const refusedFor = (path: string) => ({
  error: {
    code: 999,
    data: { kind: "Other", reason: "locked", path, until: expect.any(Number) },
  },
});
const done = { result: { success: true } };

eachStore(
  "a locked file is neither uploaded, deleted nor renamed by RPC, not even by the operator",
  async (store) => {
    await using node = await sharedNode(store);
    const { lock, unlock, upload, remove, rename, content } = await rpcSite(node);
    const before = await content();
    for (const scope of ["exclusive", "shared"]) {
      const token = await lock("/file", "0", scope);
      expect(await upload("file")).toMatchObject(refusedFor("file"));
      expect(await remove("file")).toMatchObject(refusedFor("file"));
      expect(await rename("file", "moved")).toMatchObject(refusedFor("file"));
      expect(await rename("file", "a/new/place")).toMatchObject(refusedFor("file"));
      expect(await rename("free", "file")).toMatchObject(refusedFor("file"));
      expect(await content()).toEqual(before);
      expect((await unlock("/file", token)).status).toBe(204);
    }
    await lock("/file", "0");
    expect(await upload("free")).toMatchObject(done);
    expect(await upload("filed")).toMatchObject(done);
    expect(await rename("free", "folder/free")).toMatchObject(done);
    expect(await remove("folder/member")).toMatchObject(done);
    expect(Object.keys(await content())).toEqual(["file", "filed", "folder/free", "folder/inner/deep"]);
  },
);

eachStore("a locked folder keeps RPC from all that is in it", async (store) => {
  await using node = await sharedNode(store);
  const { lock, unlock, upload, remove, rename, content } = await rpcSite(node);
  const before = await content();
  const token = await lock("/folder/");
  for (const attempt of [
    () => upload("folder/member"),
    () => upload("folder/new"),
    () => upload("folder/new/er/file"),
    () => upload("folder/inner/deep"),
    () => remove("folder/inner/deep"),
    () => rename("folder/inner/deep", "out"),
    () => rename("free", "folder/in"),
    () => rename("free", "folder/new/in"),
    () => rename("folder/member", "folder/other"),
  ])
    expect(await attempt()).toMatchObject(refusedFor("folder"));
  expect(await content()).toEqual(before);
  await unlock("/folder/", token);
  expect(await upload("folder/new/er/file")).toMatchObject(done);
  expect(await rename("folder/inner/deep", "out")).toMatchObject(done);
});

eachStore("a folder locked alone keeps its names from RPC, and lets its files be written", async (store) => {
  await using node = await sharedNode(store);
  const { lock, upload, remove, rename, content } = await rpcSite(node);
  const before = await content();
  await lock("/folder/", "0");
  for (const attempt of [
    () => upload("folder/new"),
    () => remove("folder/member"),
    () => rename("folder/member", "out"),
    () => rename("free", "folder/in"),
  ])
    expect(await attempt()).toMatchObject(refusedFor("folder"));
  expect(await content()).toEqual(before);
  expect(await upload("folder/member")).toMatchObject(done);
  expect(await upload("folder/inner/new")).toMatchObject(done);
  expect(await rename("folder/inner/deep", "out")).toMatchObject(done);
  expect(await rename("free", "folder/member")).toMatchObject(done);
});

eachStore("no folder on the way is made by RPC in a folder whose names are locked", async (store) => {
  await using node = await sharedNode(store);
  const { dav, lock, upload, rename, content } = await rpcSite(node);
  const before = await content();
  await lock("/folder/", "0");
  const answers = [await upload("folder/made/new"), await rename("free", "folder/moved/new")];
  expect(await content()).toEqual(before);
  expect((await dav("GET", "/folder/made")).status).toBe(404);
  for (const answer of answers) expect(answer).toMatchObject(refusedFor("folder"));
});

eachStore("deleting what is not there succeeds, also in a locked folder", async (store) => {
  await using node = await sharedNode(store);
  const { lock, remove } = await rpcSite(node);
  await lock("/folder/");
  expect(await remove("folder/nothing")).toMatchObject(done);
});

eachStore(
  "a lock on the whole bucket stops every change by RPC, reads go on, and its end frees all",
  async (store) => {
    await using node = await sharedNode(store);
    const { lock, unlock, upload, remove, content } = await rpcSite(node);
    const before = await content();
    const token = await lock("/");
    const refusal = await upload("file");
    expect(refusal).toMatchObject({ error: { code: 999, message: expect.stringContaining("locked") } });
    expect(await remove("free")).toMatchObject({ error: { code: 999 } });
    expect(await content()).toEqual(before);
    await unlock("/", token);
    expect(await upload("file")).toMatchObject(done);
  },
);

eachStore("a lock that ended, or that went with its file, stops nobody by RPC", async (store) => {
  const clock = new ManualClock();
  await using node = await testNode({ ...store, clock });
  const { dav, lock, upload, remove } = await rpcSite(node);
  await dav("LOCK", "/free", { timeout: "Second-1" }, lockInfo());
  const token = await lock("/file");
  await dav("DELETE", "/file", { if: `(${token})` });
  expect(await upload("file")).toMatchObject(done);
  await clock.advance(1000);
  const isFree = async () => (await upload("free")).error === undefined;
  // Locks of objects over PostgreSQL end by its clock, which nobody turns.
  if (store.store === "objects over postgres") await until("the lock has ended", isFree, 20_000);
  else expect(await isFree()).toBe(true);
  expect(await remove("free")).toMatchObject(done);
});
