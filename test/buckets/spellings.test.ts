import { expect } from "bun:test";
import type { Server } from "bun";
import { z } from "zod";
import { anyToken } from "../../src/auth/need.ts";
import { systemClock } from "../../src/base/clock.ts";
import { ContentBudget } from "../../src/base/memory-budget.ts";
import { loadConsole } from "../../src/bundle.ts";
import { Console } from "../../src/http/console/console.ts";
import { Compression } from "../../src/http/content/compression.ts";
import type { PipelineDeps } from "../../src/http/pipeline.ts";
import { ClientAddresses } from "../../src/http/request/client-address.ts";
import { serveRoot, serveStatic } from "../../src/http/static/bucket-routes.ts";
import { MemoryCache } from "../../src/http/static/memory-cache.ts";
import { LogHub } from "../../src/log/hub.ts";
import { method } from "../../src/methods/declare.ts";
import type { Services } from "../../src/services.ts";
import { siteWith } from "../support/bucket.ts";
import { eachStore, type StoreOptions, testNode } from "../support/node.ts";
import { until } from "../support/until.ts";

/** Counts what is compressed and kept. */
class CountingCache extends MemoryCache {
  kept = 0;
  readonly keys = new Set<string>();

  override add(...given: Parameters<MemoryCache["add"]>): boolean {
    const isAdded = super.add(...given);
    if (isAdded) this.kept++;
    if (isAdded) this.keys.add(given[0].key);
    return isAdded;
  }
}

/** The routes of buckets over a real server's services, with a memory of their own that can be looked into. */
async function openRoutes(store: StoreOptions, files: Record<string, string>) {
  let services: Services | undefined;
  const lend = method({
    effect: "reads",
    doc: "Lends the services.",
    need: anyToken,
    params: {},
    result: z.boolean(),
    example: { params: { token: "<SUPER_TOKEN>" }, result: true },
    run: (given) => {
      services = given;
      return true;
    },
  });
  const node = await testNode({ ...store, methods: { test_lend: lend } });
  await siteWith(node, files);
  await node.call("static-bucket_update", { token: node.superToken, name: "site", is_http_root: true });
  await node.call("test_lend", { token: node.superToken });
  if (services === undefined) throw new Error("the services were not lent");
  const lent = services;
  const cache = new CountingCache({ maxBytes: () => 64 * 1024 * 1024, records: () => lent.buckets.records });
  const contentBudget = new ContentBudget(30_000, systemClock);
  const options = {
    acquire: () => ({ services: lent, release() {} }),
    addresses: new ClientAddresses(),
    static: { cache, compression: new Compression(contentBudget), contentBudget },
    console: new Console({
      isOn: () => false,
      load: loadConsole,
      log: new LogHub().logger("server"),
      clock: systemClock,
    }),
  } as unknown as PipelineDeps;
  const server = { requestIP: () => ({ address: "127.0.0.1" }) } as unknown as Server<unknown>;
  const get = async (path: string) => {
    const request = new Request(`${node.url}${path}`, { headers: { "accept-encoding": "br" } });
    const serve = path.startsWith("/node/static/") ? serveStatic : serveRoot;
    const response = await serve({ request, path, server }, options);
    const body = await response.bytes();
    return { status: response.status, etag: response.headers.get("etag"), bytes: body.length };
  };
  /** Asks for files until they are old enough to be kept, so many in all. */
  const heat = (paths: readonly string[], addresses: number) =>
    until(`${addresses} files are kept`, async () => {
      for (const path of paths) await get(path);
      return cache.keys.size === addresses;
    });
  /** On PostgreSQL, versions are known for a second at a time: what is in memory may be read, and kept, again. */
  const additions = () => (store.store === "objects over postgres" ? [...cache.keys] : cache.kept);
  return { get, heat, additions, [Symbol.asyncDispose]: () => node[Symbol.asyncDispose]() };
}

/** `count` different spellings of a path of ASCII letters, each with other letters encoded. */
function spellings(path: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) =>
    [...path]
      .map((letter, bit) =>
        letter !== "/" && ((at + 1) >> bit) & 1 ? `%${letter.charCodeAt(0).toString(16)}` : letter,
      )
      .join(""),
  );
}

eachStore("sixty spellings of one file are compressed and kept once", async (store) => {
  const text = "const answer = 42;\n".repeat(100_000);
  await using routes = await openRoutes(store, { "abcdef.js": text });
  for (const [at, base] of ["/node/static/site/", "/"].entries()) {
    await routes.heat([`${base}abcdef.js`], at + 1);
    const once = routes.additions();
    const plain = await routes.get(`${base}abcdef.js`);
    for (const path of spellings("abcdef", 60))
      expect({ path, ...(await routes.get(`${base}${path}.js`)) }).toEqual({ path, ...plain });
    expect(routes.additions()).toEqual(once);
  }
});

eachStore(
  "a name in the other Unicode form is answered from the memory of the stored file",
  async (store) => {
    const name = "éàüöñç.js";
    await using routes = await openRoutes(store, { [name]: "const answer = 42;\n".repeat(1000) });
    await routes.heat([`/${encodeURIComponent(name)}`], 1);
    const once = routes.additions();
    for (let at = 0; at < name.length - 3; at++) {
      const mixed = name.slice(0, at).normalize("NFC") + name.slice(at).normalize("NFD");
      expect({ at, ...(await routes.get(`/${encodeURIComponent(mixed)}`)) }).toMatchObject({
        at,
        status: 200,
      });
    }
    expect(routes.additions()).toEqual(once);
  },
);

eachStore(
  "an encoded path reaches the same file as before, and never the memory of another",
  async (store) => {
    await using routes = await openRoutes(store, {
      "a%62.js": "percent ".repeat(100),
      "ab.js": "plain ".repeat(200),
      "node/static/site/ab.js": "deep ".repeat(300),
      "a/b.js": "folder ".repeat(400),
    });
    const own = ["/ab.js", "/a%2562.js", "/n%6fde/static/site/ab.js", "/a/b.js"];
    const routed = ["/node/static/site/ab.js", "/node/static/site/a%2562.js"];
    const others: Array<[path: string, status: number]> = [
      ["/a%62.js", 200],
      ["/a%252562.js", 404],
      ["/a%2fb.js", 400],
      ["/node/static/s%69te/ab.js", 404],
      ["/a%b.js", 400],
      ["/a%00b.js", 400],
    ];
    const paths = [...own, ...routed, ...others.map(([path]) => path)];
    const answers = async () =>
      Promise.all(paths.map(async (path) => ({ path, ...(await routes.get(path)) })));
    const cold = await answers();
    expect(cold.map(({ path, status }) => [path, status])).toEqual([
      ...[...own, ...routed].map((path): [string, number] => [path, 200]),
      ...others,
    ]);
    expect(new Set(cold.slice(0, own.length).map(({ etag }) => etag)).size).toBe(own.length);
    await routes.heat([...own, ...routed], own.length + routed.length);
    expect(await answers()).toEqual(cold);
  },
);
