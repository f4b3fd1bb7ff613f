import { expect } from "bun:test";
import { isElement, parseXml, printXml, textOf, type XmlElement } from "../../src/base/xml.ts";
import { openNode } from "../../src/node.ts";
import { eachStore, type TestNode, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { scaled, tier } from "../support/tier.ts";
import { hrefsIn, webdavSite } from "../support/webdav.ts";

const sharedNode = sharedNodes();

const fourPermissions = ({ bucket }: TestNode) => [
  {
    scopes: [{ static_bucket: bucket }],
    permissions: ["read", "write", "delete", "list"].map((action) => ({ static_bucket_file: action })),
  },
];

const lockInfo = (scope = "exclusive", owner = "") =>
  `<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:${scope}/></D:lockscope><D:locktype><D:write/></D:locktype>${owner}</D:lockinfo>`;

const propertyUpdate =
  '<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><a xmlns="x:">b</a></D:prop></D:set></D:propertyupdate>';

type Dav = Awaited<ReturnType<typeof webdavSite>>["dav"];

async function locked(dav: Dav, path: string, depth = "infinity", scope?: string): Promise<string> {
  const response = await dav("LOCK", path, { depth }, lockInfo(scope));
  expect([200, 201]).toContain(response.status);
  return /^<(.+)>$/.exec(response.headers.get("lock-token") ?? "")?.[1] ?? "";
}

function all(element: XmlElement, name: string): XmlElement[] {
  const own = element.namespace === "DAV:" && element.name === name ? [element] : [];
  return [...own, ...element.children.filter(isElement).flatMap((child) => all(child, name))];
}

/** The active locks that a resource, or everything below it, shows. */
async function activeLocks(dav: Dav, path: string, depth = "0"): Promise<XmlElement[]> {
  const answer = await dav("PROPFIND", path, { depth });
  return all(parseXml(await answer.bytes()), "activelock");
}

async function siteWithFiles(node: TestNode) {
  const site = await webdavSite(node, await node.newToken(fourPermissions(node)));
  for (const folder of ["/kept", "/kept/inner", "/free"]) await site.dav("MKCOL", folder);
  for (const path of ["/kept/file", "/kept/inner/file", "/free/file"])
    await site.dav("PUT", path, {}, "before");
  return site;
}

/** Every verb that writes to something under a deep lock on /kept: what it is sent to, and how it ends once it may. */
const writes = (
  url: (path: string) => string,
): Array<
  [method: string, path: string, headers: Record<string, string>, body: string | undefined, done: number]
> => [
  ["PUT", "/kept/file", {}, "after", 204],
  ["PUT", "/kept/new", {}, "after", 201],
  ["PROPPATCH", "/kept/file", {}, propertyUpdate, 207],
  ["PROPPATCH", "/kept/", {}, propertyUpdate, 207],
  ["MKCOL", "/kept/folder", {}, undefined, 201],
  ["COPY", "/free/file", { destination: url("/kept/copied") }, undefined, 201],
  ["COPY", "/free/file", { destination: url("/kept/inner/file") }, undefined, 204],
  ["MOVE", "/free/file", { destination: url("/kept/moved") }, undefined, 201],
  ["MOVE", "/kept/inner/file", { destination: url("/free/file") }, undefined, 201],
  ["DELETE", "/kept/inner", {}, undefined, 204],
  ["DELETE", "/kept/file", {}, undefined, 204],
];

eachStore(
  "what is locked is read by all and written by nobody but who shows the token in its own name",
  async (store) => {
    await using node = await sharedNode(store);
    const url = hrefsIn(node);
    const { dav } = await siteWithFiles(node);
    const stranger = `Basic ${Buffer.from(await node.newToken(fourPermissions(node))).toString("base64")}`;
    const token = await locked(dav, "/kept/");
    for (const method of ["GET", "HEAD", "PROPFIND"]) {
      const status = (await dav(method, "/kept/file", { authorization: stranger })).status;
      expect({ method, status }).toEqual({ method, status: method === "PROPFIND" ? 207 : 200 });
    }
    const shown = { if: `<${url("/kept/")}> (<${token}>)` };
    const unlocked = `<urn:uuid:${crypto.randomUUID()}>`;
    const refusals = [{}, { authorization: stranger, ...shown }, { if: `(Not ${unlocked})` }];
    for (const [method, path, headers, body] of writes(url)) {
      for (const more of refusals) {
        const response = await dav(method, path, { ...headers, ...more }, body);
        const said = all(parseXml(await response.bytes()), "lock-token-submitted");
        const roots = said.flatMap((condition) => all(condition, "href").map(textOf));
        expect({ method, path, more, status: response.status, roots }).toEqual({
          method,
          path,
          more,
          status: 423,
          roots: [url("/kept/")],
        });
      }
    }
    const left = await dav("PROPFIND", "/", { depth: "infinity" });
    const hrefs = all(parseXml(await left.bytes()), "response").flatMap((part) =>
      all(part, "href").slice(0, 1).map(textOf),
    );
    expect(hrefs.sort()).toEqual(
      ["/", "/free/", "/free/file", "/kept/", "/kept/file", "/kept/inner/", "/kept/inner/file"].map(url),
    );
    expect(await (await dav("GET", "/kept/file")).text()).toBe("before");
    for (const [method, path, headers, body, done] of writes(url)) {
      const { status } = await dav(method, path, { ...headers, ...shown }, body);
      expect({ method, path, status }).toEqual({ method, path, status: done });
    }
  },
);

eachStore("a folder locked alone keeps its names, while what is in its files stays free", async (store) => {
  await using node = await sharedNode(store);
  const url = hrefsIn(node);
  const { dav } = await siteWithFiles(node);
  const token = await locked(dav, "/kept/", "0");
  const stories: Array<[method: string, path: string, destination?: string]> = [
    ["PUT", "/kept/new"],
    ["MKCOL", "/kept/folder"],
    ["DELETE", "/kept/file"],
    ["DELETE", "/kept"],
    ["MOVE", "/kept/file", "/free/moved"],
    ["MOVE", "/free/file", "/kept/moved"],
    ["COPY", "/free/file", "/kept/copied"],
    ["MOVE", "/kept", "/elsewhere"],
  ];
  for (const [method, path, destination] of stories) {
    const headers: Record<string, string> =
      destination === undefined ? {} : { destination: url(destination) };
    const { status } = await dav(method, path, headers);
    expect({ method, path, destination, status }).toEqual({ method, path, destination, status: 423 });
  }
  expect((await dav("PUT", "/kept/file", {}, "free")).status).toBe(204);
  expect((await dav("PUT", "/kept/inner/new", {}, "free")).status).toBe(201);
  expect((await dav("COPY", "/free/file", { destination: url("/kept/file") })).status).toBe(204);
  expect((await dav("PROPPATCH", "/kept/file", {}, propertyUpdate)).status).toBe(207);
  const shown = { if: `<${url("/kept/")}> (<${token}>)` };
  expect((await dav("PUT", "/kept/new", shown, "x")).status).toBe(201);
  expect((await dav("DELETE", "/kept/new", shown)).status).toBe(204);
});

eachStore("a folder does not go while something deep in it is locked", async (store) => {
  await using node = await sharedNode(store);
  const url = hrefsIn(node);
  const { dav } = await siteWithFiles(node);
  const token = await locked(dav, "/kept/inner/file");
  const outcome = async (response: Response) => [
    response.status,
    ...all(parseXml(await response.bytes()), "response").map((part) => [
      ...all(part, "href").map(textOf),
      ...all(part, "status").map(textOf),
    ]),
  ];
  const said = [207, [url("/kept/inner/file"), "HTTP/1.1 423 Locked"]];
  expect(await outcome(await dav("DELETE", "/kept"))).toEqual(said);
  expect(await outcome(await dav("MOVE", "/kept", { destination: url("/elsewhere") }))).toEqual(said);
  expect(await (await dav("GET", "/kept/file")).text()).toBe("before");
  expect((await dav("COPY", "/free", { destination: url("/kept") })).status).toBe(423);
  expect(await (await dav("GET", "/kept/inner/file")).text()).toBe("before");
  expect((await dav("COPY", "/kept", { destination: url("/copied") })).status).toBe(201);
  expect(await activeLocks(dav, "/copied", "infinity")).toEqual([]);
  const shown = { if: `<${url("/kept/inner/file")}> (<${token}>)` };
  expect((await dav("DELETE", "/kept", shown)).status).toBe(204);
  expect((await dav("GET", "/kept/inner/file")).status).toBe(404);
});

eachStore("any one of several shared locks opens the door to its own holder", async (store) => {
  await using node = await sharedNode(store);
  const { dav } = await siteWithFiles(node);
  const other = `Basic ${Buffer.from(await node.newToken(fourPermissions(node))).toString("base64")}`;
  const mine = await locked(dav, "/kept/file", "0", "shared");
  const given = await dav("LOCK", "/kept/file", { authorization: other }, lockInfo("shared"));
  const theirs = /^<(.+)>$/.exec(given.headers.get("lock-token") ?? "")?.[1];
  const put = (authorization: string | undefined, token: string | undefined) =>
    dav(
      "PUT",
      "/kept/file",
      { ...(authorization && { authorization }), ...(token && { if: `(<${token}>)` }) },
      "x",
    );
  expect((await put(undefined, mine)).status).toBe(204);
  expect((await put(other, theirs)).status).toBe(204);
  expect((await put(undefined, theirs)).status).toBe(423);
  expect((await put(other, mine)).status).toBe(423);
  expect((await put(undefined, undefined)).status).toBe(423);
});

eachStore("a lock goes with its resource and is not found at its new place", async (store) => {
  await using node = await sharedNode(store);
  const url = hrefsIn(node);
  const { dav } = await siteWithFiles(node);
  const first = await locked(dav, "/kept/file", "0");
  expect((await dav("DELETE", "/kept/file", { if: `(<${first}>)` })).status).toBe(204);
  expect((await dav("PUT", "/kept/file", {}, "anew")).status).toBe(201);
  const second = await locked(dav, "/kept/file", "0");
  const moved = await dav("MOVE", "/kept/file", { if: `(<${second}>)`, destination: url("/free/moved") });
  expect(moved.status).toBe(201);
  expect((await dav("PUT", "/kept/file", {}, "anew")).status).toBe(201);
  expect((await dav("PUT", "/free/moved", {}, "open")).status).toBe(204);
  const [folder, inner] = [await locked(dav, "/kept/", "0"), await locked(dav, "/kept/inner/file", "0")];
  const tokens = { if: `<${url("/kept/")}> (<${folder}>) <${url("/kept/inner/file")}> (<${inner}>)` };
  expect((await dav("MOVE", "/kept", { ...tokens, destination: url("/there") })).status).toBe(201);
  expect(await activeLocks(dav, "/", "infinity")).toEqual([]);
  expect((await dav("DELETE", "/there")).status).toBe(204);
});

eachStore("what replaces a folder has none of the locks that were below it", async (store) => {
  await using node = await sharedNode(store);
  const url = hrefsIn(node);
  const { dav } = await siteWithFiles(node);
  for (const method of ["COPY", "MOVE"]) {
    await dav("MKCOL", "/free/inner");
    const token = await locked(dav, "/kept/inner/file", "0");
    const headers = { if: `<${url("/kept/inner/file")}> (<${token}>)`, destination: url("/kept") };
    expect((await dav(method, "/free", headers)).status).toBe(204);
    const { status } = await dav("PUT", "/kept/inner/file", {}, "new");
    expect({ method, status }).toEqual({ method, status: 201 });
  }
});

eachStore("a lock outlives the server that gave it", async (store) => {
  await using node = await testNode(store);
  const url = hrefsIn(node);
  const { dav, authorization } = await siteWithFiles(node);
  const token = await locked(dav, "/kept/");
  await node.node.close();
  const env = { RUST_LOG: "off" };
  const { configPath, folder: workingDirectory } = node;
  await using again = await openNode({ configPath, workingDirectory, env, show: () => {} });
  const put = (headers: Record<string, string>) =>
    fetch(`${again.url}${url("/kept/file")}`, {
      method: "PUT",
      headers: { authorization, ...headers },
      body: "x",
    });
  expect((await put({})).status).toBe(423);
  expect((await put({ if: `(<${token}>)` })).status).toBe(204);
});

eachStore("who holds a lock is told in its own words, with all there is to know of it", async (store) => {
  await using node = await sharedNode(store);
  const url = hrefsIn(node);
  const { dav } = await siteWithFiles(node);
  const words = `Jürgen &amp; &lt;co&gt; <o:mail xmlns:o="urn:o" kind="a&quot;b" xml:lang="de">x@y <b xmlns=""><![CDATA[<]]></b></o:mail> 🔒`;
  const owner = `<D:owner xmlns:D="DAV:">${words}</D:owner>`;
  const given = await dav("LOCK", "/kept/", { depth: "0" }, lockInfo("shared", owner));
  const sent = parseXml(Buffer.from(owner));
  for (const answer of [given, await dav("PROPFIND", "/kept/", { depth: "0" })]) {
    const body = parseXml(await answer.bytes());
    expect(all(body, "activelock")).toHaveLength(1);
    expect(all(body, "owner").map(printXml)).toEqual([printXml(sent)]);
    expect(all(body, "depth").map(textOf)).toEqual(["0"]);
    expect(all(body, "lockroot").map(textOf)).toEqual([url("/kept/")]);
    expect(all(all(body, "activelock")[0] ?? body, "shared")).toHaveLength(1);
    expect(`<${all(body, "locktoken").map(textOf)}>`).toBe(given.headers.get("lock-token") ?? "");
  }
  expect(await activeLocks(dav, "/kept/file")).toEqual([]);
});

eachStore(scaled("hundreds of locks in one bucket all count and all end"), async (store) => {
  await using node = await sharedNode(store);
  const { dav } = await siteWithFiles(node);
  const count = tier === "fast" ? 100 : 200;
  const many = async <T>(work: (n: number) => Promise<T>): Promise<T[]> => {
    const done: T[] = [];
    for (let n = 0; n < count; n += 20)
      done.push(...(await Promise.all(Array.from({ length: 20 }, (_, i) => work(n + i)))));
    return done;
  };
  const shared = await many(() => locked(dav, "/kept/file", "0", "shared"));
  const single = await many((n) => locked(dav, `/free/${n}`));
  expect(new Set([...shared, ...single]).size).toBe(2 * count);
  expect(await activeLocks(dav, "/kept/file")).toHaveLength(count);
  expect(await activeLocks(dav, "/", "infinity")).toHaveLength(2 * count);
  expect((await dav("DELETE", "/free")).status).toBe(207);
  const ends = await many(async (n) => [
    (await dav("UNLOCK", "/kept/file", { "lock-token": `<${shared[n]}>` })).status,
    (await dav("UNLOCK", `/free/${n}`, { "lock-token": `<${single[n]}>` })).status,
  ]);
  expect(new Set(ends.flat())).toEqual(new Set([204]));
  expect((await dav("DELETE", "/free")).status).toBe(204);
  expect((await dav("PUT", "/kept/file", {}, "x")).status).toBe(204);
});
