import { expect } from "bun:test";
import { createHmac, hkdfSync } from "node:crypto";
import { copyFile, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { NodeServerClient } from "../../src/client/index.ts";
import { formatCode, headOf, type LinkFields } from "../../src/links/link-code.ts";
import { macOf } from "../../src/links/links.ts";
import { openNode } from "../../src/node.ts";
import { deployClient } from "../support/deploys.ts";
import { eachDatabase, type TestNode, tempFolder, testNode } from "../support/node.ts";
import { test } from "../support/test.ts";
import { linkSite, type Made, notValid } from "./link-site.ts";

/** What the database says that links depend on, as a SELECT shows it and a backup has it. */
async function inDatabase(node: TestNode) {
  const select = async (sql: string) => {
    const { data } = (await node.call("node-server_exec_sql", [node.superToken, sql])) as {
      data: Record<string, unknown>[];
    };
    return data[0] ?? {};
  };
  const { value } = await select("SELECT value FROM kv WHERE namespace = 'links' AND key = 'secret'");
  const { secret } = (typeof value === "string" ? JSON.parse(value) : value) as { secret: string };
  const token = await select("SELECT token_hash, password_hash FROM token WHERE id = 1");
  const { id } = await select("SELECT id FROM static_file WHERE name = 'site'");
  return {
    secret,
    token: {
      secretHash: String(token.token_hash),
      passwordHash: token.password_hash === null ? null : String(token.password_hash),
    },
    bucket: { id: Number(id), name: "site" },
  };
}

function download(expires: number): LinkFields {
  return { kind: "download", tokenId: 1, expires, id: undefined };
}

const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;
const addressOf = (code: string) => `/node/link/${code}/site/a.txt`;

eachDatabase("nobody can make a link from all that the database and a backup contain", async (database) => {
  await using node = await testNode({ database });
  const { make, answer } = await linkSite(node, { "a.txt": "private" });
  expect(await answer((await make("a.txt")).address)).toEqual([200, "private"]);
  const { secret, token, bucket } = await inDatabase(node);
  const salt = JSON.stringify([token.secretHash, token.passwordHash]);
  const fields = download(inAnHour());
  for (const info of ["node-server links 1", "node-server links 2"])
    for (const part of [Buffer.alloc(0), Buffer.alloc(32)]) {
      const from = Buffer.concat([Buffer.from(secret, "base64"), part]);
      const mac = createHmac("sha256", Buffer.from(hkdfSync("sha256", from, salt, info, 32)))
        .update(headOf(fields))
        .update(JSON.stringify([bucket.id, bucket.name, 0, "a.txt"]))
        .digest();
      expect(await answer(addressOf(formatCode(fields, mac)))).toEqual([404, notValid]);
    }
});

test("a link with an end beyond 366 days opens nothing, whoever has signed it", async () => {
  await using node = await testNode();
  const { make, answer } = await linkSite(node, { "a.txt": "private" });
  await make("a.txt");
  const key = Buffer.from(await readFile(join(node.folder, "config.link-key"), "utf8"), "base64");
  const known = await inDatabase(node);
  const signed = (expires: number) => {
    const fields = download(expires);
    return addressOf(formatCode(fields, macOf({ ...known, key, fields, generation: 0, path: "a.txt" })));
  };
  expect(await answer(signed(inAnHour()))).toEqual([200, "private"]);
  for (const expires of [inAnHour() + 366 * 86_400, 0xffff_ffff])
    expect(await answer(signed(expires))).toEqual([404, notValid]);
});

test("the link key is for its owner alone, and without it a server makes another one and no link is left", async () => {
  await using node = await testNode();
  const path = join(node.folder, "config.link-key");
  if (process.platform !== "win32") expect((await stat(path)).mode & 0o777).toBe(0o600);
  const { make } = await linkSite(node, { "a.txt": "a" });
  const { address } = await make("a.txt");
  await make("a.txt", { max_downloads: 1 });
  await node.node.close();
  const options = { configPath: node.configPath, workingDirectory: node.folder, env: { RUST_LOG: "off" } };
  const status = async (url: string, at: string) => (await fetch(url + at)).status;
  {
    await using again = await openNode({ ...options, show: () => {} });
    expect(await status(again.url, address)).toBe(200);
  }
  await rm(path);
  await using bare = await openNode({ ...options, show: () => {} });
  expect(await status(bare.url, address)).toBe(404);
  const client = new NodeServerClient(bare.url, { token: node.superToken });
  const link = await client.call("static-bucket-file_link", { name: "site", path: "a.txt" });
  expect(await status(bare.url, link.address)).toBe(200);
  const listed = await client.call("static-bucket_links", { name: "site" });
  expect(listed.map(({ id }) => id)).toEqual([link.id ?? ""]);
});

test("a server that can store no link key runs without links, and says why", async () => {
  await using node = await testNode({ top: 'link_key_file = "absent/link-key"\n' });
  const { refused } = await linkSite(node, { "a.txt": "a" });
  expect((await refused("a.txt", {})).data).toMatchObject({ reason: "no_link_key" });
});

test("nodes with different link keys make no links that fail on the others", async () => {
  const store = "objects over postgres";
  await using first = await testNode({ store });
  const { databaseUrl, files, superToken } = first;
  const { make } = await linkSite(first, { "a.txt": "a" });
  const { address } = await make("a.txt");
  const link = { token: superToken, name: "site", path: "a.txt" };
  const status = async (node: TestNode, path: string) => (await fetch(node.url + path)).status;
  {
    await using stranger = await testNode({ store, databaseUrl, files });
    expect(await status(stranger, address)).toBe(404);
    const refused = await stranger.refused("static-bucket-file_link", link);
    expect(refused.data).toMatchObject({ reason: "other_link_key" });
    expect(await status(first, (await make("a.txt")).address)).toBe(200);
  }
  await using folder = await tempFolder();
  const shared = join(folder.path, "link-key");
  await copyFile(join(first.folder, "config.link-key"), shared);
  const top = `link_key_file = ${JSON.stringify(shared)}\n`;
  await using second = await testNode({ store, databaseUrl, files, top });
  expect(await status(second, address)).toBe(200);
  const there = (await second.call("static-bucket-file_link", link)) as Made;
  expect(await status(first, there.address)).toBe(200);
});

eachDatabase(
  "a new secret ends all links and previews at once, and the Super Token alone makes it",
  async (database) => {
    await using node = await testNode({ database });
    const { make, ask } = await linkSite(node, { "a.txt": "a" });
    const deploys = deployClient(node);
    const { deploy } = await deploys.prepare({ "index.html": "prepared" });
    const all = [
      (await make("a.txt")).address,
      (await make("a.txt", { max_downloads: 9 })).address,
      (await deploys.preview(deploy)).address,
    ];
    const statuses = () => Promise.all(all.map(async (address) => (await ask(address)).status));
    expect(await statuses()).toEqual([200, 200, 200]);
    const weak = await node.newToken([{ scopes: ["global"], permissions: [{ static_bucket: "write" }] }]);
    expect((await node.refused("node-server_roll_link_secret", { token: weak })).code).toBe(102);
    expect(await statuses()).toEqual([200, 200, 200]);
    await node.call("node-server_roll_link_secret", { token: node.superToken });
    expect(await statuses()).toEqual([404, 404, 404]);
    expect(await node.call("static-bucket_links", [node.superToken, "site"])).toEqual([]);
    expect((await ask((await make("a.txt")).address)).status).toBe(200);
  },
);
