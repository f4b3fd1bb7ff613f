import { expect, test } from "bun:test";
import { ContentBudget } from "../../src/base/memory-budget.ts";
import { siteWith } from "../support/bucket.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { eachStore, testNode } from "../support/node.ts";

const mebibyte = 1024 * 1024;

test("content in memory is counted for a window of time, and small content never", async () => {
  const clock = new ManualClock();
  const budget = new ContentBudget(30_000, clock);
  const taken = Array.from({ length: 40 }, () => budget.tryReserve(2 * mebibyte));
  // 16 fit at once.
  expect(taken.map((isTaken, at) => isTaken === at < 16)).toEqual(Array(40).fill(true));
  budget.add(32 * mebibyte);
  expect([budget.isSpent, budget.tryReserve(2 * mebibyte), budget.tryReserve(64 * 1024)]).toEqual([
    true,
    false,
    true,
  ]);
  await clock.advance(30_000);
  expect([budget.isSpent, budget.tryReserve(2 * mebibyte)]).toEqual([true, false]);
  await clock.advance(2000);
  expect([budget.isSpent, budget.tryReserve(2 * mebibyte)]).toEqual([false, true]);
});

eachStore(
  "more large files at once than may be read into memory are all sent whole, and parts of them",
  async (store) => {
    await using node = await testNode({ ...store, top: "sync_uploads = false\n" });
    const names = Array.from({ length: 40 }, (_, at) => `${at}.bin`);
    const contentOf = (name: string) => `${name} `.padEnd(mebibyte * 1.5, name);
    const { get } = await siteWith(node, Object.fromEntries(names.map((name) => [name, contentOf(name)])));
    for (const round of [1, 2]) {
      const answers = await Promise.all(names.map((name) => get(`/${name}`)));
      for (const [at, answer] of answers.entries()) {
        const content = contentOf(names[at] ?? "");
        expect([round, at, answer.status, answer.headers.get("content-length")]).toEqual([
          round,
          at,
          200,
          String(content.length),
        ]);
        expect((await answer.text()) === content).toBe(true);
      }
    }
    const parts = await Promise.all(names.map((name) => get(`/${name}`, { range: "bytes=0-5" })));
    for (const [at, part] of parts.entries())
      expect([part.status, await part.text()]).toEqual([206, contentOf(names[at] ?? "").slice(0, 6)]);
  },
);

eachStore(
  "a bucket's own 404 page is sent whole, small or large, whatever a request wants of it",
  async (store) => {
    await using node = await testNode(store);
    const { get, stored } = await siteWith(node, { "index.html": "home" });
    for (const bytes of [1000, mebibyte]) {
      const page = "<p>".padEnd(bytes, "x");
      await stored.write({ "404.html": page });
      const head = await get("/nope", {}, "HEAD");
      expect([head.status, head.headers.get("content-length")]).toEqual([404, String(bytes)]);
      for (const headers of [{}, { range: "bytes=0-5" }, { "if-none-match": "*" }]) {
        const missing = await get("/nope", headers);
        const { "content-type": type, "content-length": length } = Object.fromEntries(missing.headers);
        expect([missing.status, type, length]).toEqual([404, "text/html; charset=utf-8", String(bytes)]);
        expect((await missing.text()) === page).toBe(true);
      }
    }
  },
);
