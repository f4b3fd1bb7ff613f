import { describe, expect, spyOn } from "bun:test";
import type { PinnedReader } from "../../src/buckets/ports.ts";
import { PinnedDiskReader } from "../../src/buckets/trees/disk/read.ts";
import { EntryReader } from "../../src/buckets/trees/rows/entry-reader.ts";
import { deploySite } from "../support/deploys.ts";
import { eachStore, testNode } from "../support/node.ts";

/** Fewer cannot lie between rules and file. */
const minReads = 1;
const maxReads = 60;

/** Both versions answer all of these with 200: by a file in the one, by a rule in the other. */
const paths = ["/", "/only", "/app/route"];
const filesOf = (version: string) => ({
  "index.html": `version=${version}`,
  _headers: `/*\n  X-Version: ${version}\n`,
  _redirects: `/app/* /index.html 200\n${version === "a" ? "" : "/only /index.html 200\n"}`,
  ...(version === "a" ? { only: "version=a" } : {}),
});

describe("an answer", () => {
  eachStore("has rules and file of one tree, whenever the other one is published", async (store) => {
    await using node = await testNode({ ...store, top: "static_cache_bytes = 0" });
    const site = await deploySite(node);
    const a = await site.deploy(filesOf("a"));
    const b = await site.deploy(filesOf("b"));
    for (const door of ["static", "static-webdav"])
      for (const path of door === "static" ? paths : ["/index.html"]) {
        let reads = 0;
        for (let at = 1; at <= maxReads; at += 1) {
          await site.rollback(at % 2 === 0 ? a : b);
          using switched = switchAfter(at, () => site.rollback(at % 2 === 0 ? b : a));
          const authorization = `Basic ${Buffer.from(node.superToken).toString("base64")}`;
          const response = await fetch(`${node.url}/node/${door}/site${path}`, {
            headers: { authorization },
          });
          const seen = `${response.status} version=${response.headers.get("x-version")}`;
          expect(`${path} ${at}: ${seen}`).toBe(`${path} ${at}: 200 ${await response.text()}`);
          if (!switched.isDone) break;
          reads = at;
        }
        expect(reads).toBeGreaterThanOrEqual(minReads);
        expect(reads).toBeLessThan(maxReads);
      }
  });
});

/** Publishes right after the store was read for an answer for the `at`th time from now on. */
function switchAfter(at: number, publish: () => Promise<unknown>) {
  let reads = 0;
  const state = { isDone: false, [Symbol.dispose]: () => spies.map((spy) => spy.mockRestore()) };
  const counted = <A extends unknown[], R>(original: (...args: A) => Promise<R>) =>
    async function (this: PinnedReader, ...args: A): Promise<R> {
      const found = await original.apply(this, args);
      // Other readers are those of the publication itself.
      if (this.tree !== undefined) reads += 1;
      if (reads === at && !state.isDone) {
        state.isDone = true;
        await publish();
      }
      return found;
    };
  const { find, open, openOrFind } = PinnedDiskReader.prototype;
  const { find: findRows } = EntryReader.prototype;
  const spies = [
    spyOn(PinnedDiskReader.prototype, "find").mockImplementation(counted(find)),
    spyOn(PinnedDiskReader.prototype, "open").mockImplementation(counted(open)),
    spyOn(PinnedDiskReader.prototype, "openOrFind").mockImplementation(counted(openOrFind)),
    spyOn(EntryReader.prototype, "find").mockImplementation(counted(findRows)),
  ];
  return state;
}
