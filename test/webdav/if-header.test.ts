import { expect } from "bun:test";
import fc from "fast-check";
import type { ConditionList } from "../../src/buckets/write-conditions.ts";
import { HttpError } from "../../src/http/request/http-error.ts";
import { parseIf } from "../../src/http/webdav/dav-request.ts";
import { eachStore, type TestNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";
import { hrefsIn, webdavSite } from "../support/webdav.ts";

const sharedNode = sharedNodes();

const lockInfo =
  '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>';
const never = `urn:uuid:${crypto.randomUUID()}`;

async function siteWithLock(node: TestNode) {
  const site = await webdavSite(node);
  const lock = async (path: string, headers: Record<string, string> = {}) =>
    /<(.+)>/.exec((await site.dav("LOCK", path, headers, lockInfo)).headers.get("lock-token") ?? "")?.[1] ??
    "";
  const etag = async (path: string) => (await site.dav("HEAD", path)).headers.get("etag") ?? "";
  return { ...site, lock, etag };
}

eachStore("a request is done when one list of its If header holds, and not otherwise", async (store) => {
  await using node = await sharedNode(store);
  const url = hrefsIn(node);
  const { dav, base, lock, etag } = await siteWithLock(node);
  await dav("MKCOL", "/f");
  for (const path of ["/file", "/other", "/f/member"]) await dav("PUT", path, {}, "x");
  const [token, deep] = [await lock("/file"), await lock("/f/", { depth: "infinity" })];
  const other = await etag("/other");
  const stories: Array<[path: string, header: string, status: number]> = [
    ["/file", `(<${token}>)`, 207],
    ["/file", `( <${token}> )`, 207],
    ["/file", `(<${never}>) (<${token}>)`, 207],
    ["/file", `(<${never}>)(<${token}>)`, 207],
    ["/file", `(<${token}> Not <${never}>)`, 207],
    ["/file", `(<${token}> not <DAV:no-lock>)`, 207],
    ["/file", `(<${token}> NOT<DAV:no-lock>)`, 207],
    ["/file", `(Not <DAV:no-lock>) (<${token}>)`, 207],
    ["/file", `(<${never}>) (Not <DAV:no-lock> <${token}>)`, 207],
    ["/file", `<${url("/file")}> (<${token}>)`, 207],
    ["/file", `<${base}/file> (<${token}>)`, 207],
    ["/file", `<https://proxy.example:8443${url("/file")}> (<${token}>)`, 207],
    ["/file", `<${url("/%66ile")}> (<${token}>)`, 207],
    ["/file", `<${url("/other")}> (<${never}>) <${url("/file")}> (<${token}>)`, 207],
    ["/file", `<${url("/other")}> (<${never}>) ([${other}]) <${url("/file")}> (<${token}>)`, 207],
    ["/file", `(<${token}> <DAV:no-lock>)`, 412],
    ["/file", `(<${token}>) `, 207],
    ["/file", `(<DAV:no-lock>)`, 412],
    ["/file", `(<${never}>)`, 412],
    ["/file", `(Not <${token}>)`, 412],
    ["/file", `(<${token}> <${never}>)`, 412],
    ["/file", `(<${token}> ["nope"])`, 412],
    ["/file", `<${url("/other")}> (<${token}>)`, 412],
    ["/file", `<${url("/nowhere")}> (<${token}>)`, 412],
    ["/file", `<${url("/file")}> (<${never}>) <${url("/other")}> (["nope"])`, 412],
    ["/file", `</node/static-webdav/another/file> (<${token}>)`, 412],
    ["/file", `<http://elsewhere/file> (<${token}>)`, 412],
    ["/file", `</node/static-webdav/another/file> (Not <${never}>)`, 423],
    ["/file", `(Not <${never}>)`, 423],
    ["/file", `<${url("/other")}> ([${other}])`, 423],
    ["/f/member", `(<${deep}>)`, 207],
    ["/f/member", `<${url("/f/")}> (<${deep}>)`, 207],
    ["/f/member", `<${url("/f")}> (<${deep}>)`, 207],
    ["/f/member", `(<${token}>)`, 412],
    ["/other", `([${other}])`, 207],
    ["/other", `(Not ["nope"] [${other}])`, 207],
    ["/other", `([W/${other}])`, 412],
    ["/other", `(Not [${other}])`, 412],
    ["/other", `(Not <DAV:no-lock>)`, 207],
    ["/other", `<${url("/f/")}> (Not ["x"])`, 207],
    ["/other", `<${url("/nowhere")}> (Not ["x"])`, 207],
  ];
  const body =
    '<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><a xmlns="x:">b</a></D:prop></D:set></D:propertyupdate>';
  for (const [path, header, status] of stories) {
    const response = await dav("PROPPATCH", path, { if: header }, body);
    expect({ path, header, status: response.status }).toEqual({ path, header, status });
  }
});

eachStore(
  "the lock of a bucket's own folder is found by an If header that names it, and on the folder itself",
  async (store) => {
    await using node = await sharedNode(store);
    const url = hrefsIn(node);
    const { dav, lock } = await siteWithLock(node);
    const token = await lock("/", { depth: "infinity" });
    const status = async (method: string, path: string, header: string) =>
      (await dav(method, path, { if: header, depth: "0" }, method === "PUT" ? "x" : undefined)).status;
    expect(await status("PUT", "/file", `<${url("/")}> (<${token}>)`)).toBe(201);
    expect(await status("PUT", "/file", `<${url("/")}> (<${never}>)`)).toBe(412);
    expect(await status("PROPFIND", "/", `(<${token}>)`)).toBe(207);
    expect(await status("DELETE", "/file", `(<${token}>)`)).toBe(204);
  },
);

eachStore("a lock token in a request that reads does not forbid it, an entity tag does", async (store) => {
  await using node = await sharedNode(store);
  const { dav, lock, etag } = await siteWithLock(node);
  await dav("PUT", "/file", {}, "x");
  const [token, tag] = [await lock("/file"), await etag("/file")];
  const status = async (method: string, path: string, header: string) =>
    (await dav(method, path, { if: header, depth: "0" })).status;
  for (const [method, right] of [
    ["GET", 200],
    ["HEAD", 200],
    ["PROPFIND", 207],
    ["OPTIONS", 200],
  ] as const) {
    // A client looks at the folder with the token of a file in it.
    if (method === "PROPFIND") expect(await status(method, "/", `(<${token}>)`)).toBe(right);
    expect(await status(method, "/file", `(<${never}>)`)).toBe(right);
    if (method === "OPTIONS") continue;
    expect(await status(method, "/file", `(<${never}> [${tag}])`)).toBe(412);
    expect(await status(method, "/file", `(["other"])`)).toBe(412);
    expect(await status(method, "/file", `([${tag}])`)).toBe(right);
  }
});

eachStore("an If header that cannot be read is refused, and the request with it", async (store) => {
  await using node = await sharedNode(store);
  const url = hrefsIn(node);
  const { dav } = await siteWithLock(node);
  await dav("PUT", "/file", {}, "before");
  const unreadable = [
    ...["x", "(", ")", "()", "( )", "<>", `<${never}>`, `<${never}`, `(<${never}>`, `<${never}>)`],
    ...[`((<${never}>))`, `(<${never}>) <${url("/file")}> (<${never}>)`, `(Not)`, `(Not Not <${never}>)`],
    ...[`<${url("/file")}>`, `<${url("/file")}> <${url("/other")}> (<${never}>)`, `(<${never}>) x`],
    ...[
      '("etag")',
      '(["etag")',
      "([)",
      `(<${never}>, <${never}>)`,
      `(<${never}>), (<${never}>)`,
      "(Maybe <a:b>)",
    ],
    ...["*", "urn:x", '"etag"', `(<${never}>)]`, "<a:b> ()", `<${url("/%zz")}> (<${never}>)`],
  ];
  for (const header of unreadable) {
    for (const [method, more] of [
      ["PUT", {}],
      ["DELETE", {}],
      ["MOVE", { destination: url("/moved") }],
    ] as const) {
      const response = await dav(
        method,
        "/file",
        { if: header, ...more },
        method === "PUT" ? "after" : undefined,
      );
      expect({ header, method, status: response.status }).toEqual({ header, method, status: 400 });
    }
  }
  expect(await (await dav("GET", "/file")).text()).toBe("before");
});

const inside = (end: string) =>
  fc
    .string({
      unit: fc.constantFrom(..."abcXYZ019:/-._~%?=&,; ()[]<>\"'".replace(end, "")),
      minLength: 1,
      maxLength: 12,
    })
    .map((text) => text.trim())
    .filter((text) => text !== "");
const space = fc.constantFrom("", " ", "  ", "\t");
const condition = fc.record({
  negated: fc.boolean(),
  state: fc.oneof(
    fc.record({ token: inside(">") }),
    inside('"').map((opaque) => ({ etag: `"${opaque.replaceAll("]", "")}"` })),
  ),
});
const conditions = fc.array(condition, { minLength: 1, maxLength: 4 });
const untagged = fc.array(fc.record({ resource: fc.constant(undefined), conditions }), {
  minLength: 1,
  maxLength: 4,
});
const tagged = fc
  .array(fc.record({ resource: inside(">"), lists: fc.array(conditions, { minLength: 1, maxLength: 3 }) }), {
    minLength: 1,
    maxLength: 3,
  })
  .map((groups) =>
    groups.flatMap(({ resource, lists }) =>
      lists.map((conditions, at) => ({ resource, conditions, first: at === 0 })),
    ),
  );

function print(lists: ReadonlyArray<ConditionList<string> & { first?: boolean }>, gap: () => string): string {
  return lists
    .map(({ resource, conditions, first }) => {
      const tag = resource !== undefined && first === true ? `<${resource}>${gap()}` : "";
      const inner = conditions.map(({ negated, state }) => {
        const text = "token" in state ? `<${state.token}>` : `[${state.etag}]`;
        return `${negated ? `Not${gap()}` : ""}${text}${gap()}`;
      });
      return `${gap()}${tag}(${gap()}${inner.join("")})${gap()}`;
    })
    .join("");
}

test("every header of the grammar is read as what was meant, with spaces or without", () => {
  fc.assert(
    fc.property(fc.oneof(untagged, tagged), fc.infiniteStream(space), (lists, gaps) => {
      const header = print(lists, () => gaps.next().value ?? "");
      expect(parseIf(header)).toEqual(lists.map(({ resource, conditions }) => ({ resource, conditions })));
    }),
    { numRuns: 1000 },
  );
  expect(parseIf(null)).toBeUndefined();
});

test("an entity tag may hold a bracket", () => {
  expect(parseIf('(["a]b"])')).toEqual([
    { resource: undefined, conditions: [{ negated: false, state: { etag: '"a]b"' } }] },
  ]);
});

test("garbage is refused with 400 or read as conditions, and never breaks anything", () => {
  const pieces = fc.constantFrom(
    "(",
    ")",
    "<",
    ">",
    "[",
    "]",
    "Not",
    " ",
    '"',
    "a:b",
    "W/",
    ",",
    "\t",
    "é",
    "(<a:b>)",
  );
  const garbage = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(pieces, { maxLength: 15 }).map((list) => list.join("")),
  );
  fc.assert(
    fc.property(garbage, (header) => {
      try {
        expect(parseIf(header)?.every(({ conditions }) => conditions.length > 0)).toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(HttpError);
        expect((error as HttpError).status).toBe(400);
      }
    }),
    { numRuns: 3000 },
  );
});

test("a header as long as a server takes is read in no time worth a word", () => {
  for (const piece of ["(<a:b>)", "(", "<a:b> (<c:d>)", "(Not <a:b>) ", " ", '(<a:b> ["x"] ']) {
    const start = performance.now();
    try {
      parseIf(piece.repeat(20_000));
    } catch (error) {
      expect(error).toBeInstanceOf(HttpError);
    }
    expect(performance.now() - start).toBeLessThan(3000);
  }
});
