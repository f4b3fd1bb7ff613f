import { expect } from "bun:test";
import { readdirSync, symlinkSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { siteWith } from "../support/bucket.ts";
import { eachStore, tempFolder } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { storedFiles } from "../support/stored-site.ts";
import { test } from "../support/test.ts";

const sharedNode = sharedNodes();

eachStore("a file is uploaded, read, listed, moved and deleted", async (store) => {
  await using node = await sharedNode(store);
  const token = node.superToken;
  await siteWith(node, {});
  const upload = (path: string, content: object) =>
    node.call("static-bucket-file_upload", { token, name: node.bucket, path, ...content });
  expect(await upload("a/日本.txt", { body: "héllo" })).toEqual({ success: true });
  await upload("bytes.bin", { body: [0, 255, 7] });
  await upload("b64.bin", { base64: "AP8H" });
  await upload("empty", { body: "" });
  expect(await node.call("static-bucket-file_read", [token, node.bucket, "a/日本.txt"])).toBe(
    Buffer.from("héllo").toString("base64"),
  );
  expect(await node.call("static-bucket-file_read", [token, node.bucket, "bytes.bin"])).toBe("AP8H");
  const files = (await node.call("static-bucket-file_list", [token, node.bucket])) as Array<{
    path: string;
    size: number;
    mtime: number;
  }>;
  expect(files.map(({ path, size }) => [path, size])).toEqual([
    ["a/日本.txt", 6],
    ["b64.bin", 3],
    ["bytes.bin", 3],
    ["empty", 0],
  ]);
  for (const { mtime } of files) expect(Math.abs(Date.now() - mtime)).toBeLessThan(60_000);
  expect(
    await node.call("static-bucket-file_rename", [token, node.bucket, "a/日本.txt", "c/d/e.txt"]),
  ).toEqual({
    success: true,
  });
  expect(await node.call("static-bucket-file_rename", [token, node.bucket, "c/d/e.txt", "empty"])).toEqual({
    success: true,
  });
  expect(await node.call("static-bucket-file_read", [token, node.bucket, "empty"])).toBe(
    Buffer.from("héllo").toString("base64"),
  );
  expect(await node.refused("static-bucket-file_rename", [token, node.bucket, "nope", "x/y"])).toMatchObject({
    code: 105,
  });
  expect(await node.refused("static-bucket-file_rename", [token, node.bucket, "nope", "nope"])).toMatchObject(
    {
      code: 105,
    },
  );
  expect(await storedFiles(node).exists("x")).toBe(false);
  for (const _ of [1, 2])
    expect(await node.call("static-bucket-file_delete", [token, node.bucket, "empty"])).toEqual({
      success: true,
    });
  expect(await node.refused("static-bucket-file_read", [token, node.bucket, "empty"])).toMatchObject({
    code: 105,
  });
});

eachStore("what is no file content, no path and no place for a file is refused in words", async (store) => {
  await using node = await sharedNode(store);
  const token = node.superToken;
  await siteWith(node, { "folder/file": "x" });
  const upload = (path: string, content: object) =>
    node.refused("static-bucket-file_upload", { token, name: node.bucket, path, ...content });
  expect(await upload("a", { body: "x", base64: "eA==" })).toMatchObject({
    code: 108,
    data: { field: "body" },
  });
  expect(await upload("a", {})).toMatchObject({ code: 108 });
  expect(await upload("a", { base64: "not base64" })).toMatchObject({ code: 108, data: { field: "base64" } });
  expect(await upload("a", { body: [256] })).toMatchObject({ code: -32602, data: { field: "body" } });
  for (const path of [
    "",
    ".",
    "..",
    "../x",
    "a/../../x",
    "/etc/passwd",
    "a\\b",
    "C:x",
    "c:/x",
    "a\0b",
    "a//b",
    "a/./b",
    "a/",
  ]) {
    expect({ path, error: await upload(path, { body: "x" }) }).toMatchObject({
      path,
      error: { code: 108, data: { field: "path" } },
    });
  }
  expect(await upload("folder", { body: "x" })).toMatchObject({
    code: 108,
    data: { reason: "is_folder", path: "folder" },
  });
  expect(await upload("folder/file/deeper", { body: "x" })).toMatchObject({
    code: 108,
    data: { reason: "is_file" },
  });
  expect(await upload("x".repeat(300), { body: "x" })).toMatchObject({
    code: 108,
    data: { reason: "name_too_long" },
  });
  expect(
    await node.refused("static-bucket-file_upload", { token, name: "nope", path: "a", body: "x" }),
  ).toMatchObject({ code: 105 });
  expect(await storedFiles(node).names()).toEqual(["folder"]);
});

eachStore("each method asks for its own permission, in its own bucket", async (store) => {
  await using node = await sharedNode(store);
  await siteWith(node, { "a.txt": "a" });
  await node.call("static-bucket_create", [node.superToken, "other"]);
  const calls = {
    read: ["static-bucket-file_read", { name: node.bucket, path: "a.txt" }],
    list: ["static-bucket-file_list", { name: node.bucket }],
    write: ["static-bucket-file_upload", { name: node.bucket, path: "b.txt", body: "b" }],
    delete: ["static-bucket-file_delete", { name: node.bucket, path: "c.txt" }],
  } as const;
  for (const [action, [method, params]] of Object.entries(calls)) {
    const others = Object.keys(calls).filter((other) => other !== action);
    const without = await node.newToken([
      {
        scopes: [{ static_bucket: node.bucket }],
        permissions: others.map((other) => ({ static_bucket_file: other })),
      },
    ]);
    const elsewhere = await node.newToken([
      { scopes: [{ static_bucket: "other" }], permissions: [{ static_bucket_file: action }] },
    ]);
    const right = await node.newToken([
      { scopes: [{ static_bucket: "s*" }], permissions: [{ static_bucket_file: action }] },
    ]);
    for (const token of [without, elsewhere])
      expect(await node.refused(method, { token, ...params })).toMatchObject({ code: 102 });
    await node.call(method, { token: right, ...params });
  }
  const writer = await node.newToken([
    { scopes: ["global"], permissions: [{ static_bucket_file: "write" }] },
  ]);
  expect(
    await node.refused("static-bucket-file_rename", [writer, node.bucket, "a.txt", "z.txt"]),
  ).toMatchObject({
    code: 102,
    message: expect.stringContaining("StaticBucketFile::Delete"),
  });
});

test("links never lead out of a bucket, by any method, and are not listed", async () => {
  await using node = await sharedNode();
  await using outside = await tempFolder();
  const token = node.superToken;
  const { folder, get } = await siteWith(node, { "real/inside.txt": "inside" });
  await mkdir(join(outside.path, "deep"));
  await writeFile(join(outside.path, "secret.txt"), "secret");
  symlinkSync(join(outside.path, "secret.txt"), join(folder, "link.txt"));
  symlinkSync(outside.path, join(folder, "out"));
  symlinkSync("real", join(folder, "current"));
  for (const path of ["link.txt", "out/secret.txt"]) {
    expect(await node.refused("static-bucket-file_read", [token, node.bucket, path])).toMatchObject({
      code: 105,
    });
    expect((await get(`/${path}`)).status).toBe(404);
  }
  expect(await (await get("/current/inside.txt")).text()).toBe("inside");
  for (const path of ["out/new.txt", "out/deep/new.txt"]) {
    expect(
      await node.refused("static-bucket-file_upload", { token, name: node.bucket, path, body: "x" }),
    ).toMatchObject({ code: 105 });
  }
  expect(
    await node.refused("static-bucket-file_upload", {
      token,
      name: node.bucket,
      path: "link.txt",
      body: "x",
    }),
  ).toMatchObject({ code: 108 });
  await node.call("static-bucket-file_delete", [token, node.bucket, "out/secret.txt"]);
  expect(await readFile(join(outside.path, "secret.txt"), "utf8")).toBe("secret");
  expect(readdirSync(outside.path).sort()).toEqual(["deep", "secret.txt"]);
  const files = (await node.call("static-bucket-file_list", [token, node.bucket])) as Array<{ path: string }>;
  expect(files.map(({ path }) => path)).toEqual(["real/inside.txt"]);
});

test("special files are neither opened nor listed, and a FIFO holds up nobody", async () => {
  await using node = await sharedNode();
  const { folder, get } = await siteWith(node, { "a.txt": "a" });
  Bun.spawnSync(["mkfifo", join(folder, "pipe")]);
  expect((await get("/pipe")).status).toBe(404);
  expect(await node.refused("static-bucket-file_read", [node.superToken, node.bucket, "pipe"])).toMatchObject(
    {
      code: 105,
    },
  );
  const files = (await node.call("static-bucket-file_list", [node.superToken, node.bucket])) as Array<{
    path: string;
  }>;
  expect(files.map(({ path }) => path)).toEqual(["a.txt"]);
});

eachStore("a name is found in its other Unicode form, and stored as it was sent", async (store) => {
  await using node = await sharedNode(store);
  const token = node.superToken;
  await siteWith(node, {});
  const [nfc, nfd] = ["ü/é.txt".normalize("NFC"), "ü/é.txt".normalize("NFD")];
  await node.call("static-bucket-file_upload", { token, name: node.bucket, path: nfd, body: "x" });
  expect(await node.call("static-bucket-file_read", [token, node.bucket, nfc])).toBe("eA==");
  await node.call("static-bucket-file_upload", { token, name: node.bucket, path: nfc, body: "y" });
  const files = (await node.call("static-bucket-file_list", [token, node.bucket])) as Array<{ path: string }>;
  expect(files.map(({ path }) => path)).toEqual([nfd]);
});

eachStore(
  "names that the server keeps for itself are refused by RPC, HTTP and WebDAV alike",
  async (store) => {
    await using node = await sharedNode(store);
    const token = node.superToken;
    const { get } = await siteWith(node, { "a.txt": "a" });
    const base = `${node.url}/node/static-webdav/${node.bucket}`;
    const headers = { authorization: `Basic ${Buffer.from(token).toString("base64")}` };
    for (const path of [".~staged-x", "folder/.~staged-x/b"]) {
      const refusal = { code: 108, message: expect.stringContaining(".~staged-") };
      expect(
        await node.refused("static-bucket-file_upload", { token, name: node.bucket, path, body: "x" }),
      ).toMatchObject(refusal);
      expect(
        await node.refused("static-bucket-file_rename", [token, node.bucket, "a.txt", path]),
      ).toMatchObject(refusal);
      expect((await get(`/${path}`)).status).toBe(400);
      const put = await fetch(`${base}/${path}`, { method: "PUT", headers, body: "x" });
      const move = await fetch(`${base}/a.txt`, {
        method: "MOVE",
        headers: { ...headers, destination: `${base}/${path}` },
      });
      expect([put.status, move.status]).toEqual([400, 400]);
    }
    expect(await storedFiles(node).names()).toEqual(["a.txt"]);
  },
);
