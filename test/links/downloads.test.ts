import { expect } from "bun:test";
import { join } from "node:path";
import { ManualClock } from "../support/manual-clock.ts";
import { eachDatabase, eachStore, tempFolder, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";
import { inSite, linkSite, type Made, notValid } from "./link-site.ts";

const sharedNode = sharedNodes();

eachStore("a link opens one file of a private bucket without a token, and nothing else", async (options) => {
  await using node = await sharedNode(options);
  const name = "år 2026/bericht #1?.txt";
  const { make, ask, answer, get } = await linkSite(node, { [name]: "secret", "other.txt": "other" });
  expect((await get("/other.txt")).status).toBe(401);
  const { address, expires, id } = await make(name);
  expect(address.replace(/^\/node\/link\/[\w-]{52}/, "")).toBe(
    `/${node.bucket}/%C3%A5r%202026/bericht%20%231%3F.txt`,
  );
  expect(id).toBeString();
  const days = (expires - Date.now()) / 86_400_000;
  expect(days).toBeGreaterThan(6.9);
  expect(days).toBeLessThanOrEqual(7);
  const response = await ask(address);
  expect([response.status, await response.text()]).toEqual([200, "secret"]);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "cache-control": "private, no-store",
    "referrer-policy": "no-referrer",
    "x-robots-tag": "noindex",
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff",
  });
  expect(response.headers.has("access-control-allow-origin")).toBe(false);
  const head = await ask(address, { method: "HEAD" });
  expect([head.status, head.headers.get("content-length")]).toEqual([200, "6"]);
  expect(await answer(address, { headers: { range: "bytes=2-3" } })).toEqual([206, "cr"]);
  const etag = response.headers.get("etag") ?? "";
  expect(await answer(address, { headers: { "if-none-match": etag } })).toEqual([304, ""]);
  for (const method of ["PUT", "DELETE", "PROPFIND", "POST"])
    expect([method, (await ask(address, { method })).status]).toEqual([method, 405]);
  const code = address.split("/")[3];
  for (const path of ["other.txt", "", "år%202026/", "%C3%A5r%202026"])
    expect([path, ...(await answer(`/node/link/${code}/${node.bucket}/${path}`))]).toEqual([
      path,
      404,
      notValid,
    ]);
});

eachStore(
  "a large file is sent whole or in part, also by a link that is counted or has a password",
  async (options) => {
    await using node = await sharedNode(options);
    const content = Buffer.alloc(3_000_000, "0123456789");
    const { make, ask } = await linkSite(node, { "large.bin": content });
    const plain = (await make("large.bin")).address;
    const stored = (await make("large.bin", { max_downloads: 2, password: "open" })).address;
    const whole = await ask(plain);
    expect([whole.status, content.equals(await whole.bytes())]).toEqual([200, true]);
    expect(whole.headers.get("content-disposition")).toBe("inline");
    const part = await ask(plain, { headers: { range: "bytes=2999995-" } });
    expect([part.status, await part.text()]).toEqual([206, "56789"]);
    const counted = await ask(stored, {
      headers: { authorization: `Basic ${btoa(":open")}`, range: "bytes=1-" },
    });
    expect([counted.status, (await counted.bytes()).length]).toEqual([206, content.length - 1]);
    expect(counted.headers.get("accept-ranges")).toBe("none");
    const saved = await ask(stored, { method: "POST", body: new URLSearchParams({ password: "open" }) });
    expect([saved.status, content.equals(await saved.bytes())]).toEqual([200, true]);
    expect(saved.headers.get("content-disposition")).toBe("attachment; filename*=UTF-8''large.bin");
    expect((await ask(stored)).status).toBe(410);
  },
);

eachStore("pages, pictures with scripts and XML of a link run in a sandbox", async (options) => {
  await using node = await sharedNode(options);
  const files = { "a.html": "<script>1</script>", "a.svg": "<svg/>", "a.xml": "<a/>", "a.png": "png" };
  const { make, ask } = await linkSite(node, files);
  for (const path of Object.keys(files)) {
    const response = await ask((await make(path)).address);
    await response.text();
    const policy = response.headers.get("content-security-policy");
    expect([path, policy]).toEqual([path, path === "a.png" ? null : "sandbox"]);
  }
  const worker = await ask((await make("a.png")).address, { headers: { "service-worker": "script" } });
  expect(worker.status).toBe(404);
});

eachDatabase("a link is made for a file that exists, by a token that may read it", async (database) => {
  await using node = await sharedNode({ database });
  await linkSite(node, { "folder/a.txt": "a" });
  const link = (token: string, path: string, more = {}) =>
    node.refused("static-bucket-file_link", { token, name: node.bucket, path, ...more });
  const reader = await node.newToken(inSite(node, "read"));
  const writer = await node.newToken(inSite(node, "write"));
  const failures = [
    await link(reader, "missing.txt"),
    await link(reader, "folder"),
    await link(reader, "../a.txt"),
    await link(reader, "folder/a.txt", { expires_in: 0 }),
    await link(reader, "folder/a.txt", { expires_in: 367 * 86_400 }),
    await link(reader, "folder/a.txt", { max_downloads: 0 }),
    await link(reader, "folder/a.txt", { password: "" }),
    await link(writer, "folder/a.txt"),
    await link(reader, "folder", { upload: true }),
    await link(writer, "folder/a.txt", { upload: true }),
  ];
  expect(failures.map(({ data }) => data.field ?? data.reason)).toEqual([
    "path",
    "path",
    "path",
    "expires_in",
    "expires_in",
    "max_downloads",
    "password",
    "missing_permission",
    "missing_permission",
    "path",
  ]);
});

eachDatabase("a link ends with its token, whichever way that ends, and at once", async (database) => {
  await using node = await sharedNode({ database });
  const { answer } = await linkSite(node, { "a.txt": "a" });
  const endings: Record<string, (target_token: string, token: string) => Promise<unknown>> = {
    deleted: (target_token, token) => node.call("token_delete", { token, target_token }),
    rolled: (target_token, token) => node.call("token_roll_token_secret", { token, target_token }),
    "another password": (target_token, token) =>
      node.call("token_change_password", { token, target_token, new_password: "second-word" }),
    "without the right": (target_token, token) =>
      node.call("token_edit", { token, target_token, limit: inSite(node, "write", "list") }),
    "of another bucket": (target_token, token) =>
      node.call("token_edit", {
        token,
        target_token,
        limit: [{ scopes: [{ static_bucket: "other" }], permissions: [{ static_bucket_file: "read" }] }],
      }),
  };
  for (const [ending, end] of Object.entries(endings)) {
    const username = node.own(ending.replaceAll(" ", "-"));
    const token = await node.newToken(inSite(node, "read"), { username, password: "first-word" });
    const signedIn = [token, `${username}|first-word`];
    const addresses = await Promise.all(
      signedIn.map(async (token) => {
        const made = await node.call("static-bucket-file_link", { token, name: node.bucket, path: "a.txt" });
        return (made as { address: string }).address;
      }),
    );
    for (const address of addresses) expect(await answer(address)).toEqual([200, "a"]);
    await end(username, node.superToken);
    for (const address of addresses)
      expect([ending, ...(await answer(address))]).toEqual([ending, 404, notValid]);
  }
});

test("a link does not outlive its token, and says so when it is made", async () => {
  const clock = new ManualClock();
  await using node = await testNode({ clock });
  const { ask } = await linkSite(node, { "a.txt": "a" });
  const timestamp_to = clock.now() + 3_600_000;
  const token = await node.newToken(inSite(node, "read"), { timestamp_to });
  const made = (await node.call("static-bucket-file_link", { token, name: "site", path: "a.txt" })) as Made;
  expect(made.expires).toBe(Math.floor(timestamp_to / 1000) * 1000);
  await clock.jump(made.expires - clock.now() - 1);
  expect((await ask(made.address)).status).toBe(200);
  await clock.advance(1);
  expect((await ask(made.address)).status).toBe(410);
});

eachDatabase(
  "a link ends at its time, with its bucket, and when all of the bucket are revoked",
  async (database) => {
    const clock = new ManualClock();
    await using node = await testNode({ database, clock });
    const { make, answer, ask, whyNot } = await linkSite(node, { "a.txt": "a" });
    const short = await make("a.txt", { expires_in: 3600 });
    await clock.jump(short.expires - clock.now() - 1);
    expect((await answer(short.address))[0]).toBe(200);
    await clock.advance(1);
    expect(await whyNot(short.address)).toEqual([410, "expired"]);
    const { address } = await make("a.txt");
    const token = node.superToken;
    await node.call("static-bucket_update", { token, name: "site", enable: false });
    expect(await answer(address)).toEqual([404, notValid]);
    await node.call("static-bucket_update", { token, name: "site", enable: true });
    expect(await answer(address)).toEqual([200, "a"]);
    const counted = await make("a.txt", { max_downloads: 3 });
    const reader = await node.newToken(inSite(node, "read", "write", "delete", "list"));
    const refusal = await node.refused("static-bucket_unlink", { token: reader, name: "site" });
    expect(refusal.data.reason).toBe("missing_permission");
    await node.call("static-bucket_unlink", { token, name: "site" });
    expect(await answer(address)).toEqual([404, notValid]);
    expect(await answer(counted.address)).toEqual([404, notValid]);
    expect(await node.call("static-bucket_links", { token, name: "site" })).toEqual([]);
    const later = await make("a.txt");
    expect(await answer(later.address)).toEqual([200, "a"]);
    await node.call("static-bucket_delete", { token, name: "site" });
    await node.call("static-bucket_create", { token, name: "site" });
    expect(await answer(later.address)).toEqual([404, notValid]);
    expect((await ask((await make("a.txt")).address)).status).toBe(200);
  },
);

test("two nodes that make the first links at the same time can open those of each other", async () => {
  const store = "objects over postgres";
  await using folder = await tempFolder();
  const top = `link_key_file = ${JSON.stringify(join(folder.path, "link-key"))}\n`;
  await using first = await testNode({ store, top });
  const { answer } = await linkSite(first, { "a.txt": "a" });
  const { databaseUrl, files, superToken: token } = first;
  await using second = await testNode({ store, databaseUrl, files, top });
  const nodes = [first, second, first, second];
  const made = await Promise.all(
    nodes.map((node) => node.call("static-bucket-file_link", { token, name: "site", path: "a.txt" })),
  );
  for (const { address } of made as Array<{ address: string }>) {
    expect(await answer(address)).toEqual([200, "a"]);
    const response = await fetch(second.url + address);
    expect([response.status, await response.text()]).toEqual([200, "a"]);
  }
});
