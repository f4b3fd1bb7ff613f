import { expect } from "bun:test";
import { Wire } from "../support/hostile.ts";
import { eachStore, type TestNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { storedFiles } from "../support/stored-site.ts";
import { test } from "../support/test.ts";
import { webdavSite } from "../support/webdav.ts";

const sharedNode = sharedNodes();

const agent = "WebDAVFS/3.0.0 (03008000) Darwin/23.4.0 (arm64)";
const statfs =
  '<?xml version="1.0" encoding="utf-8"?>\n<D:propfind xmlns:D="DAV:">\n<D:prop>\n<D:quota-available-bytes/>\n<D:quota-used-bytes/>\n<D:quota/>\n<D:quotaused/>\n</D:prop>\n</D:propfind>\n';
const stat =
  '<?xml version="1.0" encoding="utf-8"?>\n<D:propfind xmlns:D="DAV:">\n<D:prop>\n<D:getlastmodified/>\n<D:getcontentlength/>\n<D:creationdate/>\n<D:resourcetype/>\n</D:prop>\n</D:propfind>\n';
const lockinfo =
  '<?xml version="1.0" encoding="utf-8"?>\n<D:lockinfo xmlns:D="DAV:">\n<D:lockscope><D:exclusive/></D:lockscope>\n<D:locktype><D:write/></D:locktype>\n<D:owner>\n<D:href>http://www.apple.com/webdav_fs/</D:href>\n</D:owner>\n</D:lockinfo>\n';

async function finder(node: TestNode) {
  const site = await webdavSite(node);
  const { pathname } = new URL(site.base);
  const ask: typeof site.dav = (verb, path, headers = {}, body) =>
    site.dav(verb, path, { "user-agent": agent, "content-type": "text/xml", ...headers }, body);
  const status = async (...request: Parameters<typeof ask>) => (await ask(...request)).status;
  /** An upload in chunks, as bytes on the wire. Its answer's status. */
  const put = async (path: string, headers: readonly string[], chunks: readonly string[]) => {
    using wire = await Wire.open(node.url);
    const head = [
      `PUT ${pathname}${path} HTTP/1.1`,
      "Host: here",
      `User-Agent: ${agent}`,
      `Authorization: ${site.authorization}`,
    ];
    wire.write(`${[...head, "Transfer-Encoding: Chunked", ...headers].join("\r\n")}\r\n\r\n`);
    for (const chunk of [...chunks, ""])
      wire.write(`${Buffer.byteLength(chunk).toString(16)}\r\n${chunk}\r\n`);
    return Number((await wire.hears(/^HTTP\/1\.1 (\d+) /))[1]);
  };
  return { ...site, ask, status, put, stored: storedFiles(node) };
}

eachStore("Finder mounts a bucket, copies a file in with its resource fork, and ejects", async (store) => {
  await using node = await sharedNode(store);
  const { ask, status, put, stored } = await finder(node);
  expect((await ask("OPTIONS", "/")).headers.get("dav")?.split(", ")).toContain("2");
  expect(await status("PROPFIND", "/", { depth: "0" }, stat)).toBe(207);
  const quota = await (await ask("PROPFIND", "/", { depth: "0" }, statfs)).text();
  // macOS 15.4 stalls for 90 s on a volume that tells its quota.
  expect(quota).not.toContain("200 OK");
  expect(quota).toContain("404 Not Found");
  for (const name of [
    "._.",
    ".DS_Store",
    "._.DS_Store",
    ".hidden",
    ".metadata_never_index",
    ".Spotlight-V100",
    "._Billede%201.png",
  ])
    expect([name, await status("PROPFIND", `/${name}`, { depth: "0" }, stat)]).toEqual([name, 404]);
  expect(await status("PROPFIND", "/", { depth: "1" }, stat)).toBe(207);

  const content = "billede ".repeat(50_000);
  for (const [name, fork] of [
    ["/Billede%201.png", content],
    ["/._Billede%201.png", "\0\x05\x16\x07 AppleDouble"],
    ["/.DS_Store", "Bud1"],
  ] as const) {
    expect([name, await put(name, ["X-Expected-Entity-Length: 0"], [])]).toEqual([name, 201]);
    const locked = await ask("LOCK", name, { depth: "0", timeout: "Second-600" }, lockinfo);
    const token = locked.headers.get("lock-token") ?? "";
    expect([name, locked.status, (await locked.text()).includes("http://www.apple.com/webdav_fs/")]).toEqual([
      name,
      200,
      true,
    ]);
    const length = `X-Expected-Entity-Length: ${Buffer.byteLength(fork)}`;
    expect([name, await put(name, [length], [fork])]).toEqual([name, 423]);
    const third = Math.ceil(fork.length / 3);
    const chunks = [fork.slice(0, third), fork.slice(third, 2 * third), fork.slice(2 * third)].filter(
      (chunk) => chunk !== "",
    );
    expect([name, await put(name, [length, `If: (${token})`], chunks)]).toEqual([name, 204]);
    expect([name, await status("PROPFIND", name, { depth: "0" }, stat)]).toEqual([name, 207]);
    expect([name, await status("LOCK", name, { timeout: "Second-600", if: `(${token})` })]).toEqual([
      name,
      200,
    ]);
    expect([name, await status("UNLOCK", name, { "lock-token": token })]).toEqual([name, 204]);
    expect([name, (await stored.text(decodeURIComponent(name).slice(1))) === fork]).toEqual([name, true]);
  }
  const listing = await (await ask("PROPFIND", "/", { depth: "1" }, stat)).text();
  expect(listing).toContain(`<D:getcontentlength>${content.length}</D:getcontentlength>`);
  expect(listing.match(/<D:resourcetype/g)).toHaveLength(4);
  const back = await ask("GET", "/Billede%201.png", { range: "bytes=0-6" });
  expect([back.status, await back.text()]).toEqual([206, "billede"]);
  // Finder renames with its lock's token and the fork after the file.
  for (const prefix of ["", "._"]) {
    const destination = `${node.url}/node/static-webdav/${node.bucket}/${prefix}Ferie.png`;
    expect(await status("MOVE", `/${prefix}Billede%201.png`, { destination })).toBe(201);
  }
  expect(await stored.names()).toEqual([".DS_Store", "._Ferie.png", "Ferie.png"]);
  for (const name of ["._Ferie.png", "Ferie.png", ".DS_Store"])
    expect(await status("DELETE", `/${name}`)).toBe(204);
  expect([await stored.names(), stored.uploads()]).toEqual([[], []]);
});

eachStore(
  "Finder's lock on a name that is not there yet makes an empty file that nobody else can fill",
  async (store) => {
    await using node = await sharedNode(store);
    const { ask, status, put, dav, stored } = await finder(node);
    const locked = await ask("LOCK", "/new.txt", { depth: "0", timeout: "Second-600" }, lockinfo);
    const token = locked.headers.get("lock-token") ?? "";
    expect([locked.status, await stored.text("new.txt")]).toEqual([201, ""]);
    expect((await dav("PUT", "/new.txt", {}, "mine")).status).toBe(423);
    // A lock for writing keeps nobody from looking.
    expect([
      (await dav("GET", "/new.txt")).status,
      await status("PROPFIND", "/new.txt", { depth: "0" }, stat),
    ]).toEqual([200, 207]);
    expect(await put("/new.txt", ["X-Expected-Entity-Length: 5", `If: (${token})`], ["words"])).toBe(204);
    expect(await status("UNLOCK", "/new.txt", { "lock-token": token })).toBe(204);
    expect((await dav("PUT", "/new.txt", {}, "mine")).status).toBe(204);
    expect(await status("LOCK", "/none/new.txt", { depth: "0" }, lockinfo)).toBe(409);
    expect(await stored.names()).toEqual(["new.txt"]);
  },
);

eachStore(
  "an upload in chunks whose length is not the expected one is refused, and the old file stays",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav, put, stored } = await finder(node);
    await dav("PUT", "/old.txt", {}, "the old content");
    for (const path of ["/old.txt", "/new.txt"])
      for (const length of ["6", "4", "0", "-5", "five", "5.0", "99999999999999999999"])
        expect([
          path,
          length,
          await put(path, [`X-Expected-Entity-Length: ${length}`], ["wor", "ds"]),
        ]).toEqual([path, length, 400]);
    expect([await stored.names(), await stored.text("old.txt"), stored.uploads()]).toEqual([
      ["old.txt"],
      "the old content",
      [],
    ]);
    expect(await put("/old.txt", ["X-Expected-Entity-Length: 5"], ["wor", "ds"])).toBe(204);
    expect(await stored.text("old.txt")).toBe("words");
  },
);

test("the quota of a disk is kept from Finder alone: others who ask for it are told", async () => {
  await using node = await sharedNode();
  const { dav } = await finder(node);
  for (const [who, told] of [
    [agent, false],
    ["WebDAVLib/1.3", true],
    ["gvfs/1.54", true],
    ["davfs2/1.7.0 neon/0.33", true],
  ] as const) {
    const text = await (await dav("PROPFIND", "/", { depth: "0", "user-agent": who }, statfs)).text();
    expect([who, /<D:quota-available-bytes>\d+</.test(text)]).toEqual([who, told]);
    const all = await (await dav("PROPFIND", "/", { depth: "0", "user-agent": who })).text();
    expect([who, all.includes("quota")]).toEqual([who, false]);
  }
});
