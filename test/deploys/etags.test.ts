import { expect } from "bun:test";
import { chmodSync, copyFileSync, renameSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deploySite } from "../support/deploys.ts";
import { eachStore, type TestNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";
import { basic } from "../webdav/auth-requests.ts";

const sharedNode = sharedNodes();

type Files = Readonly<Record<string, string>>;

/** The story's bucket, with deploys as the command makes them: files that were uploaded are announced again. */
async function site(node: TestNode) {
  const client = await deploySite(node);
  const ask = (path: string, headers: Record<string, string> = {}, method = "GET") =>
    fetch(`${node.url}/node/static/${node.bucket}/${path}`, {
      method,
      headers: { "accept-encoding": "identity", ...headers },
    });
  const tagOf = async (path: string, headers: Record<string, string> = {}) => {
    const { headers: answered } = await ask(path, headers);
    return answered.get("etag") ?? "";
  };
  return {
    ...client,
    ask,
    tagOf,
    statusFor: async (path: string, tag: string, headers: Record<string, string> = {}) =>
      (await ask(path, { ...headers, "if-none-match": tag })).status,
    diskPath: (path: string) => join(node.folder, "static", node.bucket, path),
    async deploy(files: Files) {
      const { deploy } = await client.prepare(files);
      expect(await client.add(deploy, files)).toEqual({ taken: Object.keys(files).length, missing: [] });
      await client.publish(deploy);
      return deploy;
    },
  };
}

const css = "p { color: red }\n".repeat(100);

eachStore("a file that a deploy or a rollback does not change keeps its entity tag", async (store) => {
  await using node = await sharedNode(store);
  const { deploy, rollback, tagOf, statusFor, ask } = await site(node);
  await deploy({ "index.html": "one", "photo.jpg": "light", "css/a.css": css });
  const zstd = { "accept-encoding": "zstd" };
  const first = { page: await tagOf("index.html"), photo: await tagOf("photo.jpg") };
  const style = { plain: await tagOf("css/a.css"), zstd: await tagOf("css/a.css", zstd) };
  expect(new Set([...Object.values(first), ...Object.values(style)]).size).toBe(4);
  const unchanged = async () => {
    expect(await statusFor("photo.jpg", first.photo)).toBe(304);
    expect(await statusFor("css/a.css", style.plain)).toBe(304);
    expect(await statusFor("css/a.css", style.zstd, zstd)).toBe(304);
    const range = await ask("photo.jpg", { range: "bytes=1-2", "if-range": first.photo });
    expect([range.status, await range.text()]).toEqual([206, "ig"]);
  };
  await unchanged();
  await deploy({ "index.html": "two", "photo.jpg": "light", "css/a.css": css, "copy.jpg": "light" });
  await unchanged();
  expect(await statusFor("index.html", first.page)).toBe(200);
  expect(await tagOf("copy.jpg")).toBe(first.photo);
  await rollback();
  await unchanged();
  expect(await statusFor("index.html", first.page)).toBe(304);
});

eachStore("WebDAV has the entity tag of a deployed file that plain HTTP has", async (store) => {
  await using node = await sharedNode(store);
  const { deploy, tagOf } = await site(node);
  await deploy({ "folder/a.txt": "text" });
  const tag = await tagOf("folder/a.txt");
  const dav = (method: string, headers: Record<string, string> = {}, body?: string) =>
    fetch(`${node.url}/node/static-webdav/${node.bucket}/folder/a.txt`, {
      method,
      headers: { authorization: basic(node.superToken), ...headers },
      ...(body === undefined ? {} : { body }),
    });
  expect(await (await dav("PROPFIND", { depth: "0" })).text()).toContain(tag.replaceAll('"', "&quot;"));
  expect((await dav("HEAD")).headers.get("etag")).toBe(tag);
  expect((await dav("PUT", { "if-match": '"other"' }, "more")).status).toBe(412);
  const put = await dav("PUT", { "if-match": tag }, "more");
  expect(put.status).toBe(204);
  expect(put.headers.get("etag")).not.toBe(tag);
  expect(await tagOf("folder/a.txt")).toBe(put.headers.get("etag") ?? "");
});

/** What another program does to a deployed file, of which size and time may stay the same. */
const changes: Readonly<Record<string, (path: string) => void>> = {
  "writes in place": (path) => writeFileSync(path, "LIGHT"),
  "writes in place and sets the time back": (path) => {
    const { atime, mtime } = statSync(path);
    writeFileSync(path, "LIGHT");
    utimesSync(path, atime, mtime);
  },
  "replaces it by a file of the same time": (path) => {
    const { atime, mtime } = statSync(path);
    writeFileSync(`${path}.new`, "LIGHT");
    utimesSync(`${path}.new`, atime, mtime);
    renameSync(`${path}.new`, path);
  },
};

for (const [what, change] of Object.entries(changes))
  test(`a deployed file gets another entity tag when another program ${what}`, async () => {
    await using node = await sharedNode();
    const { deploy, tagOf, ask, diskPath } = await site(node);
    await deploy({ "photo.jpg": "light" });
    const tag = await tagOf("photo.jpg");
    // Two changes within one tick of the file system's clock have the same time.
    await Bun.sleep(60);
    change(diskPath("photo.jpg"));
    for (let at = 0; at < 2; at += 1) {
      const answer = await ask("photo.jpg", { "if-none-match": tag, range: "bytes=0-1", "if-range": tag });
      expect([answer.status, await answer.text()]).toEqual([200, "LIGHT"]);
      expect(answer.headers.get("etag")).not.toBe(tag);
    }
    // The same content comes back with the next deploy, and its tag with it.
    await deploy({ "photo.jpg": "light" });
    expect(await tagOf("photo.jpg")).toBe(tag);
  });

test("a copy of a deployed file, and one whose owner or mode was changed, have tags of their own state", async () => {
  await using node = await sharedNode();
  const { deploy, tagOf, diskPath } = await site(node);
  await deploy({ "a.txt": "text", "b.txt": "more" });
  const [tag, other] = [await tagOf("a.txt"), await tagOf("b.txt")];
  await Bun.sleep(60);
  copyFileSync(diskPath("a.txt"), diskPath("copy.txt"));
  chmodSync(diskPath("b.txt"), 0o600);
  expect(await tagOf("copy.txt")).not.toBe(tag);
  expect(await tagOf("b.txt")).not.toBe(other);
  expect(await tagOf("a.txt")).toBe(tag);
});
