import { expect, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { matcher } from "../../src/buckets/search.ts";
import { siteWith } from "../support/bucket.ts";
import { eachStore, type TestNode, testNode } from "../support/node.ts";

interface Answer {
  readonly entries: ReadonlyArray<{ path: string; kind: string; size: number; mtime: number }>;
  readonly more: boolean;
  readonly complete: boolean;
  readonly searched: number;
}

function searchIn(node: TestNode) {
  return (query: string, more: Record<string, unknown> = {}) =>
    node.call("static-bucket-file_search", {
      token: node.superToken,
      name: "site",
      query,
      ...more,
    }) as Promise<Answer>;
}

eachStore("files and folders of a whole bucket are found by words of their paths", async (options) => {
  await using node = await testNode(options);
  await siteWith(node, {
    "docs/Guide to Berlin/map.PDF": "12345",
    "docs/guide/index.html": "x",
    "re\u0301sume\u0301.txt": "decomposed",
    "photos/berlin.jpg": "y",
    "other.txt": "z",
  });
  const search = searchIn(node);
  const paths = async (query: string, more?: Record<string, unknown>) =>
    (await search(query, more)).entries.map(({ path }) => path).sort();
  const berlin = ["docs/Guide to Berlin", "docs/Guide to Berlin/map.PDF", "photos/berlin.jpg"];
  expect(await paths("BERLIN")).toEqual(berlin);
  expect(await paths("pdf berlin guide")).toEqual(["docs/Guide to Berlin/map.PDF"]);
  expect((await paths("R\u00c9SUM\u00c9")).map((path) => path.normalize("NFC"))).toEqual([
    "r\u00e9sum\u00e9.txt",
  ]);
  expect(await paths("*.txt oth?r*")).toEqual(["other.txt"]);
  expect(await paths("docs/*/i*.html")).toEqual(["docs/guide/index.html"]);
  // The folder that is searched is no part of what is looked at.
  expect(await paths("docs", { path: "docs/" })).toEqual([]);
  expect(await paths("index", { path: "docs" })).toEqual(["docs/guide/index.html"]);
  const { entries, ...rest } = await search("map");
  expect(entries).toEqual([
    { path: "docs/Guide to Berlin/map.PDF", kind: "file", size: 5, mtime: expect.any(Number) as number },
  ]);
  expect(rest).toEqual({ more: false, complete: true, searched: 9 });
  const pages = [await search("berlin", { limit: 2 }), await search("berlin", { limit: 2, offset: 2 })];
  expect(pages.map(({ more }) => more)).toEqual([true, false]);
  expect(pages.flatMap((page) => page.entries.map(({ path }) => path)).sort()).toEqual(berlin);
  const refused = async (query: string, more: Record<string, unknown> = {}) => {
    const params = { token: node.superToken, name: "site", query, ...more };
    const { data } = await node.refused("static-bucket-file_search", params);
    return [data.kind, data.field ?? data.path ?? data.reason];
  };
  expect(await refused("  ")).toEqual(["InvalidInput", "query"]);
  expect(await refused("x", { path: "nowhere" })).toEqual(["NotFound", "nowhere"]);
  expect(await refused("x", { path: "other.txt" })).toEqual(["InvalidInput", "other.txt"]);
  expect(await refused("x", { path: "../.." })).toEqual(["InvalidInput", "path"]);
  const reader = await node.newToken([
    { scopes: [{ static_bucket: "site" }], permissions: [{ static_bucket_file: "read" }] },
  ]);
  expect(await refused("x", { token: reader })).toEqual(["PermissionDenied", "missing_permission"]);
});

test("a search that nobody waits for ends, and leaves its place to the next", async () => {
  await using node = await testNode();
  await siteWith(node, {});
  const folder = join(node.folder, "static/site");
  for (let at = 0; at < 20; at += 1) {
    await mkdir(join(folder, `d${at}`), { recursive: true });
    await Promise.all(
      Array.from({ length: 100 }, (_, file) => writeFile(join(folder, `d${at}/f${file}`), "")),
    );
  }
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "static-bucket-file_search",
    params: { token: node.superToken, name: "site", query: "nothing" },
  });
  // Many more than run at once.
  const left = Array.from({ length: 40 }, async () => {
    const leaving = new AbortController();
    const asked = fetch(`${node.url}/jsonrpc`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      signal: leaving.signal,
    }).then(
      (response) => response.text(),
      () => "left",
    );
    await Bun.sleep(5);
    leaving.abort();
    return asked;
  });
  await Promise.all(left);
  expect(await searchIn(node)("f99")).toMatchObject({ complete: true, more: false, searched: 2020 });
});

test("no pattern takes long", () => {
  const path = `${"a/".repeat(1000)}${"a".repeat(2000)}`;
  expect(matcher("*a*a*a*a*a*a*a*a*a*a*a*b")(path)).toBe(false);
  expect(matcher(`${"*a".repeat(90)}*/b`)(path)).toBe(false);
  expect(matcher("**?*")("x")).toBe(true);
  expect(matcher("?")("")).toBe(false);
});
