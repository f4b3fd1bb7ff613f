import { expect } from "bun:test";
import { eachStore } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { hrefsIn, webdavSite } from "../support/webdav.ts";

const sharedNode = sharedNodes();

const lockInfo =
  '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>';
const writes = (
  url: (path: string) => string,
): Array<[method: string, headers: Record<string, string>, body: string | undefined, done: number]> => [
  ["PUT", {}, "after", 204],
  [
    "PROPPATCH",
    {},
    '<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><a xmlns="x:">b</a></D:prop></D:set></D:propertyupdate>',
    207,
  ],
  ["LOCK", { timeout: "Second-1" }, lockInfo, 200],
  ["COPY", { destination: url("/copied") }, undefined, 201],
  ["MOVE", { destination: url("/moved") }, undefined, 201],
  ["DELETE", {}, undefined, 204],
];

eachStore("the conditions of HTTP hold for every verb that writes", async (store) => {
  await using node = await sharedNode(store);
  const { dav } = await webdavSite(node);
  const etag = async (path: string) => (await dav("HEAD", path)).headers.get("etag") ?? "";
  await dav("PUT", "/file", {}, "first");
  const old = await etag("/file");
  for (const [method, headers, body, done] of writes(hrefsIn(node))) {
    const path = `/${method}`;
    await dav("PUT", path, { "x-oc-mtime": "1700000000" }, "before");
    const tag = await etag(path);
    const refused: Array<Record<string, string>> = [
      { "if-match": old },
      { "if-match": `W/${tag}` },
      { "if-match": `"a", ${old}` },
      { "if-none-match": "*" },
      { "if-none-match": tag },
      { "if-none-match": `"a", W/${tag}` },
      { "if-unmodified-since": "Tue, 14 Nov 2023 22:13:19 GMT" },
    ];
    for (const conditions of refused) {
      const { status } = await dav(method, path, { ...headers, ...conditions }, body);
      expect({ method, conditions, status }).toEqual({ method, conditions, status: 412 });
    }
    expect(await (await dav("GET", path)).text()).toBe("before");
    const held = {
      "if-match": `"a", ${tag}`,
      "if-none-match": `"a", ${old}`,
      "if-unmodified-since": "Tue, 14 Nov 2023 22:13:20 GMT",
    };
    const { status } = await dav(method, path, { ...headers, ...held }, body);
    expect({ method, status }).toEqual({ method, status: done });
  }
});

eachStore("conditions on what is not there: only something that exists matches", async (store) => {
  await using node = await sharedNode(store);
  const { dav } = await webdavSite(node);
  for (const [method, body, done] of [
    ["MKCOL", undefined, 201],
    ["PUT", "x", 201],
    ["LOCK", lockInfo, 201],
  ] as const) {
    const path = `/${method}`;
    for (const match of ["*", '"a"']) {
      const { status } = await dav(method, path, { "if-match": match }, body);
      expect({ method, match, status }).toEqual({ method, match, status: 412 });
    }
    expect((await dav("GET", path)).status).toBe(404);
    const { status } = await dav(method, path, { "if-none-match": "*" }, body);
    expect({ method, status }).toEqual({ method, status: done });
  }
});

eachStore(
  "conditions come before the instructions of a PROPPATCH, even those that cannot be followed",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav } = await webdavSite(node);
    await dav("PUT", "/file", {}, "x");
    const body =
      '<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><D:getetag>"a"</D:getetag></D:prop></D:set></D:propertyupdate>';
    expect((await dav("PROPPATCH", "/file", { "if-match": '"nope"' }, body)).status).toBe(412);
    expect((await dav("PROPPATCH", "/file", { if: "(" }, body)).status).toBe(400);
  },
);
