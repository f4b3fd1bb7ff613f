import { expect } from "bun:test";
import { truncateSync } from "node:fs";
import { Wire } from "../support/hostile.ts";
import { storesFor, type TestNode, testNode, titleOn } from "../support/node.ts";
import { story } from "../support/process.ts";
import { storedSite } from "../support/stored-site.ts";
import { until } from "../support/until.ts";

/** Bun drops an idle connection after 30 s, by its own time. */
const idleMs = 60_000;

async function begin(node: TestNode, authorization: string, length: number): Promise<Wire> {
  const wire = await Wire.open(node.url);
  wire.write(
    `PUT /node/static-webdav/site/slow.bin HTTP/1.1\r\nHost: here\r\nAuthorization: ${authorization}\r\nContent-Length: ${length}\r\n\r\n`,
  );
  return wire;
}

for (const store of storesFor("slow uploads")) {
  const on = (title: string) => titleOn(title, store);

  story(
    on("an upload of a kilobyte a second is taken whole, however long it lasts"),
    async () => {
      await using node = await testNode(store);
      const { authorization, text } = await storedSite(node);
      using wire = await begin(node, authorization, 41_000);
      const start = performance.now();
      for (let second = 1; second <= 41; second += 1) {
        wire.write("x".repeat(1000));
        if (second < 41) await Bun.sleep(Math.max(0, start + second * 1000 - performance.now()));
        expect([second, wire.closed]).toEqual([second, false]);
      }
      await wire.hears(/^HTTP\/1\.1 201 /);
      expect(await text("slow.bin")).toBe("x".repeat(41_000));
    },
    idleMs,
  );

  story(
    on("an upload that stalls is dropped, and nothing of it stays"),
    async () => {
      await using node = await testNode(store);
      const { authorization, exists, uploads } = await storedSite(node);
      using wire = await begin(node, authorization, 100_000);
      wire.write("half of it");
      await until("the upload has begun", () => uploads().length === 1);
      await until("the connection is dropped", () => wire.closed, 50_000);
      await until("nothing of it stays", () => uploads().length === 0);
      expect([wire.heard, await exists("slow.bin")]).toEqual(["", false]);
    },
    idleMs,
  );

  story(
    on("a file that another program cuts short while it is sent is never taken for whole"),
    async () => {
      await using node = await testNode({ ...store, top: "sync_uploads = false\n" });
      const { write, contentFile, dav } = await storedSite(node);
      await write({ "large.bin": new Uint8Array(50_000_000) });
      const file = await contentFile("large.bin");
      using wire = await Wire.open(node.url);
      wire.write("GET /node/static/site/large.bin HTTP/1.1\r\nHost: here\r\n\r\n");
      await wire.hears(/content-length: 50000000/i);
      wire.stopReading();
      truncateSync(file, 20_000_000);
      wire.readAgain();
      // Bun waits for the rest until the connection counts as idle; it has no way to close one earlier.
      await until("the connection is closed", () => wire.closed, 50_000);
      expect(wire.heard.length).toBeLessThan(50_000_000);
      // Only a disk knows that from looking at the name.
      if (store.store === "disk")
        expect((await dav("HEAD", "/large.bin")).headers.get("content-length")).toBe("20000000");
    },
    idleMs,
  );
}

story(
  "a stranger's upload is dropped in the same time, however steadily it comes",
  async () => {
    await using node = await testNode();
    await storedSite(node);
    using wire = await begin(node, "Basic bm9ib2R5OndvcmRz", 1_000_000);
    await until("it is answered or dropped", () => wire.closed || wire.heard !== "");
    const sending = setInterval(() => wire.write("x"), 500);
    try {
      await until("the connection is dropped", () => wire.closed, 50_000);
    } finally {
      clearInterval(sending);
    }
    expect(wire.heard).toMatch(/^(?:HTTP\/1\.1 401 [\s\S]*)?$/);
  },
  idleMs,
);
