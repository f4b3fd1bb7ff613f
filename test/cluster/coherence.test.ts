import { expect, test } from "bun:test";
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { testCluster } from "../support/cluster.ts";
import type { TestNode } from "../support/node.ts";
import { roundsOf } from "../support/random.ts";
import { until } from "../support/until.ts";

const get = async ({ url }: TestNode, path: string, headers: Record<string, string> = {}) => {
  const response = await fetch(`${url}/node/static/${path}`, { headers });
  return response.status === 200 ? await response.text() : response.status;
};

/** Reads a file twice by plain HTTP, so that the node answers from memory. */
async function warm(node: TestNode, path: string): Promise<void> {
  await get(node, path);
  await get(node, path);
}

async function withSite() {
  const cluster = await testCluster({});
  const [one, two] = cluster.nodes;
  const token = cluster.superToken;
  await one.call("static-bucket_create", { token, name: "site" });
  const upload = (node: TestNode, body: string) =>
    node.call("static-bucket-file_upload", { token, name: "site", path: "a.txt", body });
  return { ...cluster, one, two, token, upload };
}

test("WebDAV, RPC and requests for the present state see a change of another node at once, plain HTTP within a second", async () => {
  await using site = await withSite();
  const { one, two, token, upload } = site;
  const strict = [
    { "cache-control": "no-cache" },
    { pragma: "no-cache" },
    { "cache-control": "max-age=0" },
    { "cache-control": "private, No-Cache" },
  ];
  const authorization = `Basic ${Buffer.from(token).toString("base64")}`;
  const dav = async ({ url }: TestNode) =>
    (await fetch(`${url}/node/static-webdav/site/a.txt`, { headers: { authorization } })).text();
  const rpc = async (node: TestNode) =>
    atob(String(await node.call("static-bucket-file_read", { token, name: "site", path: "a.txt" })));
  for (let round = 0; round < roundsOf(12); round += 1) {
    const [writer, reader] = round % 2 === 0 ? [one, two] : [two, one];
    const text = `text ${round}`;
    await warm(reader, "site/a.txt");
    await upload(writer, text);
    const committedAt = performance.now();
    const answers = await Promise.all([
      ...strict.map((headers) => get(reader, "site/a.txt", headers)),
      dav(reader),
      rpc(reader),
    ]);
    expect([...new Set(answers)]).toEqual([text]);
    let [isOld, sentAt] = [true, committedAt];
    while (isOld) {
      sentAt = performance.now();
      isOld = (await get(reader, "site/a.txt")) !== text;
      // An answer to what was sent later than the lease must be new.
      if (isOld) expect(sentAt - committedAt).toBeLessThan(1000);
    }
  }
});

test("plain HTTP alone learns from the poll what another node changed: files, and the record of the bucket", async () => {
  await using site = await withSite();
  const { one, two, token, upload } = site;
  await upload(one, "first");
  await warm(two, "site/a.txt");
  await upload(one, "second");
  await until("the new text is served", async () => (await get(two, "site/a.txt")) === "second");
  await one.call("static-bucket_update", { token, name: "site", enable: false });
  await until("the bucket is not served", async () => (await get(two, "site/a.txt")) === 404);
  await one.call("static-bucket_update", { token, name: "site", enable: true });
  await until("the bucket is served again", async () => (await get(two, "site/a.txt")) === "second");
});

test("a record that another node changed is in force at once for WebDAV, RPC and requests for the present state", async () => {
  await using site = await withSite();
  const { one, two, token, upload } = site;
  const authorization = `Basic ${Buffer.from(token).toString("base64")}`;
  await upload(one, "text");
  for (let round = 0; round < roundsOf(6); round += 1) {
    const enable = round % 2 === 1;
    await warm(two, "site/a.txt");
    await one.call("static-bucket_update", { token, name: "site", enable });
    const [record, dav, strict] = await Promise.all([
      two.call("static-bucket_read", { token, name: "site" }),
      fetch(`${two.url}/node/static-webdav/site/a.txt`, { headers: { authorization } }),
      get(two, "site/a.txt", { "cache-control": "no-cache" }),
    ]);
    expect(record).toMatchObject({ enable });
    expect([dav.status, strict]).toEqual(enable ? [200, "text"] : [404, 404]);
  }
});

test("a request for the present state is answered from memory while nothing changed", async () => {
  await using site = await withSite();
  const { one, upload } = site;
  await upload(one, "text");
  await warm(one, "site/a.txt");
  const [url = ""] = one.files.match(/file:[^"]+/) ?? [];
  await rm(fileURLToPath(url), { recursive: true });
  const headers = { "cache-control": "no-cache" };
  expect(await Promise.all(Array.from({ length: 20 }, () => get(one, "site/a.txt", headers)))).toEqual(
    Array.from({ length: 20 }, () => "text"),
  );
});
