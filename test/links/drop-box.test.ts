import { expect } from "bun:test";
import { eachDatabase, eachStore, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";
import { inSite, linkSite, type Made } from "./link-site.ts";

const sharedNode = sharedNodes();

eachStore("a drop box takes new files into one folder, replaces none and shows none", async (options) => {
  await using node = await sharedNode(options);
  const { make, ask, put, stored } = await linkSite(node, { "in/old.txt": "old", "index.html": "page" });
  const { address } = await make("in", { upload: true });
  expect(address.replace(/^\/node\/link\/[\w-]{52}/, "")).toBe(`/${node.bucket}/in/`);
  const page = await ask(address);
  const html = await page.text();
  expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  expect(page.headers.get("content-security-policy")).toMatch(
    /^default-src 'none'; style-src 'nonce-(\S+)'; img-src data:; script-src 'nonce-\1'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
  );
  expect(html).not.toContain("old.txt");
  expect((await ask(address, { method: "HEAD" })).status).toBe(200);
  expect(await put(address, "new%20one.txt", "new")).toBe(201);
  expect(await put(address, "old.txt", "replaced")).toBe(409);
  expect(await put(address, "empty", "")).toBe(201);
  expect(await put(address, "large.bin", "x".repeat(100_000))).toBe(201);
  const chunks = new ReadableStream({
    start(controller) {
      controller.enqueue(Buffer.from("in "));
      controller.enqueue(Buffer.from("parts"));
      controller.close();
    },
  });
  expect(await put(address, "chunked.txt", chunks)).toBe(201);
  for (const name of ["", "a/b.txt", "..%2Fx", "%2e%2e/x", "x/", "a%5Cb", ".~staged-x"])
    expect([name, (await put(address, name, "x")) === 201]).toEqual([name, false]);
  for (const method of ["DELETE", "MKCOL", "POST", "MOVE"])
    expect((await ask(address, { method })).status).toBe(405);
  expect(await put(address, "part.txt", "x", { "content-range": "bytes 0-0/2" })).toBe(400);
  expect(await stored.contents("in")).toEqual({
    "old.txt": "old",
    "new one.txt": "new",
    empty: "",
    "large.bin": "x".repeat(100_000),
    "chunked.txt": "in parts",
  });
  expect(stored.uploads()).toEqual([]);
});

eachStore("a drop box makes its folder, and cannot change how the bucket is served", async (options) => {
  await using node = await sharedNode(options);
  const { make, put, stored } = await linkSite(node, { "index.html": "page", "data.tar": "tar" });
  const deep = await make("new/folder", { upload: true });
  expect(await put(deep.address, "_redirects", "/* /x 200")).toBe(201);
  const top = await make("", { upload: true });
  expect(top.address).toEndWith(`/${node.bucket}/`);
  for (const name of ["_redirects", "_headers", "_HEADERS"])
    expect([name, await put(top.address, name, "x")]).toEqual([name, 403]);
  // They would be sent in place of the file beside them, also of one that comes later.
  for (const name of ["index.html.br", "later.html.gz", "later.HTML.GZ", "later.css.zst", "data.tar.gz"])
    expect([name, await put(top.address, name, "x")]).toEqual([name, 403]);
  for (const name of ["photo.jpg.gz", "data.tgz", "noending.gz", ".gz"])
    expect([name, await put(top.address, name, "x")]).toEqual([name, 201]);
  expect(await stored.paths()).toEqual([
    ".gz",
    "data.tar",
    "data.tgz",
    "index.html",
    "new",
    "new/folder",
    "new/folder/_redirects",
    "noending.gz",
    "photo.jpg.gz",
  ]);
});

eachStore("of two uploads of one name one is stored, and only stored files are counted", async (options) => {
  await using node = await sharedNode(options);
  const { make, put, stored } = await linkSite(node, { "in/old.txt": "old", "in/folder/x.txt": "x" });
  const { address } = await make("in", { upload: true, max_downloads: 3 });
  const race = await Promise.all(["first", "second"].map((body) => put(address, "same.txt", body)));
  expect(race.sort()).toEqual([201, 409]);
  for (const taken of ["old.txt", "folder"]) expect(await put(address, taken, "no")).toBe(409);
  const many = await Promise.all(Array.from({ length: 8 }, (_, at) => put(address, `n${at}.txt`, "n")));
  expect(many.filter((status) => status === 201)).toHaveLength(2);
  expect(many.filter((status) => status === 410)).toHaveLength(6);
  expect(await stored.names("in")).toHaveLength(5);
  const listed = await node.call("static-bucket_links", [node.superToken, node.bucket]);
  expect(listed).toMatchObject([{ kind: "upload", downloads: 3, max_downloads: 3 }]);
});

eachDatabase("an upload that is under way ends with its link, its token or its bucket", async (database) => {
  await using node = await testNode({ database });
  const { stored, ask } = await linkSite(node, {});
  const token = node.superToken;
  const endings: Record<string, (owner: string) => Promise<unknown>> = {
    token: (owner) => node.call("token_delete", { token, target_token: owner.split(":")[0] }),
    revoked: () => node.call("static-bucket_unlink", { token, name: "site" }),
    bucket: () => node.call("static-bucket_update", { token, name: "site", enable: false }),
  };
  for (const [ending, end] of Object.entries(endings)) {
    const owner = await node.newToken(inSite(node, "write"));
    const link = { token: owner, name: "site", path: "in", upload: true };
    const { address } = (await node.call("static-bucket-file_link", link)) as Made;
    const half = Promise.withResolvers<void>();
    const body = new ReadableStream({
      async start(controller) {
        controller.enqueue(Buffer.alloc(64 * 1024, "a"));
        await half.promise;
        controller.enqueue(Buffer.from("b"));
        controller.close();
      },
    });
    const uploading = ask(`${address}${ending}.txt`, { method: "PUT", body });
    while (stored.uploads().length === 0) await Bun.sleep(10);
    await end(owner);
    half.resolve();
    const response = await uploading;
    expect([ending, response.status, response.headers.get("x-error-reason")]).toEqual([ending, 410, "ended"]);
  }
  expect(await stored.paths()).toEqual([]);
  expect(stored.uploads()).toEqual([]);
});

test("a drop box respects the limit of uploads, locks and files that became folders", async () => {
  await using node = await testNode({ top: "max_upload_size = 1000\n" });
  const { make, put, ask } = await linkSite(node, { "in/old.txt": "old" });
  const { address } = await make("in", { upload: true });
  expect(await put(address, "a.txt", "x".repeat(1001))).toBe(413);
  expect(await put(address, "a.txt", "x".repeat(1000))).toBe(201);
  const lock = await fetch(`${node.url}/node/static-webdav/site/in/`, {
    method: "LOCK",
    headers: { authorization: `Basic ${btoa(node.superToken)}`, "content-type": "application/xml" },
    body: '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>',
  });
  expect(lock.status).toBe(200);
  await lock.text();
  const locked = await ask(`${address}b.txt`, { method: "PUT", body: "b" });
  expect([locked.status, await locked.text()]).toEqual([
    423,
    "423 Locked: someone is working on this folder; try again later.\n",
  ]);
});
