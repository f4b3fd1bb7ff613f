import { expect } from "bun:test";
import type { Socket } from "node:net";
import { join } from "node:path";
import { NodeServerClient } from "../../src/client/index.ts";
import type { ConnectionFilter } from "../support/connection-filter.ts";
import { eachStore } from "../support/node.ts";
import { seededRandom } from "../support/random.ts";
import { openRelay } from "../support/relay.ts";
import { distinctBytes, resumable, sha256Of } from "../support/resumable.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { storedSite } from "../support/stored-site.ts";

const sharedNode = sharedNodes();

const size = 20_000_003;

eachStore(
  "the client goes on with a large file over connections that break at random moments",
  async (store) => {
    await using node = await sharedNode(store);
    const site = await storedSite(node);
    const { random } = seededRandom("broken uploads", "UPLOAD_SEED");
    let cuts = 0;
    // Each connection breaks after some bytes of requests, the first ones in any case.
    const filter = (_: Socket): ConnectionFilter => {
      let left = cuts < 6 ? 1000 + random() * 6_000_000 : Number.POSITIVE_INFINITY;
      return {
        pass(of, bytes) {
          if (of === "answer") return bytes;
          left -= bytes.length;
          if (left >= 0) return bytes;
          cuts += 1;
          return undefined;
        },
      };
    };
    await using relay = await openRelay(Number(new URL(node.url).port), { filter });
    const client = new NodeServerClient(relay.url, { token: node.superToken });
    const bytes = distinctBytes(size, 7);
    const seen: number[] = [];
    const { etag } = await client.bucket(node.bucket).upload("large.bin", new Blob([bytes]), {
      onProgress: (sent, total) => {
        expect(total).toBe(size);
        seen.push(sent);
      },
      modified: new Date(1_700_000_000_000),
      sha256: sha256Of(bytes),
      onlyNew: true,
    });
    expect(cuts).toBeGreaterThan(0);
    expect(sha256Of(await site.bytes("large.bin"))).toBe(sha256Of(bytes));
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(seen.at(-1)).toBe(size);
    expect((await site.dav("HEAD", "/large.bin")).headers.get("etag")).toBe(etag ?? "none");
    expect(await resumable(node.url, node.superToken).unfinished(`${node.bucket}/`)).toEqual([]);
  },
);

eachStore(
  "an upload that was given up is found again by its path, size, time and hash, or by what the caller has kept",
  async (store) => {
    await using node = await sharedNode(store);
    const site = await storedSite(node);
    const bytes = distinctBytes(size, 9);
    const disk = join(node.folder, "large.bin");
    await Bun.write(disk, bytes);
    const files = new NodeServerClient(node.url, { token: node.superToken }).bucket(node.bucket);
    const { unfinished } = resumable(node.url, node.superToken);
    const modified = new Date(1_700_000_000_000);
    let kept = "";
    /** Gives an upload up once the server has the first part of it. */
    const giveUp = async () => {
      const stop = new AbortController();
      const onProgress = (sent: number) => {
        if (sent > 17_000_000) stop.abort(new Error("enough"));
      };
      const onResumable = (resume: string) => {
        kept = resume;
      };
      const options = { modified, onProgress, onResumable, signal: stop.signal };
      expect(await files.upload("large.bin", Bun.file(disk), options).catch(String)).toBe("Error: enough");
    };
    for (const resume of [true, "kept"] as const) {
      await giveUp();
      expect(await unfinished(`${node.bucket}/large.bin`)).toMatchObject([{ address: kept, length: size }]);
      const steps: number[] = [];
      await files.upload("large.bin", Bun.file(disk), {
        modified,
        resume: resume === true ? true : kept,
        onProgress: (sent) => steps.push(sent),
      });
      expect(steps[0]).toBeGreaterThanOrEqual(16 * 1024 * 1024);
      expect(sha256Of(await site.bytes("large.bin"))).toBe(sha256Of(bytes));
    }
    // Another time is another file.
    await giveUp();
    const steps: number[] = [];
    await files.upload("large.bin", Bun.file(disk), {
      modified: new Date(1_700_000_001_000),
      resume: true,
      onProgress: (sent) => steps.push(sent),
    });
    expect(steps[0]).toBeLessThan(16 * 1024 * 1024);
  },
);

eachStore("a large file of any name is uploaded, and found again by it", async (store) => {
  await using node = await sharedNode(store);
  const site = await storedSite(node);
  const bytes = distinctBytes(size, 13);
  const files = new NodeServerClient(node.url, { token: node.superToken }).bucket(node.bucket);
  const path = "a@b/100% (1) + c&d, e;f=g 'h' !~*$:.bin";
  const stop = new AbortController();
  const onProgress = (sent: number) => {
    if (sent > 17_000_000) stop.abort(new Error("enough"));
  };
  const options = { makeFolders: true, onProgress, signal: stop.signal };
  expect(await files.upload(path, new Blob([bytes]), options).catch(String)).toBe("Error: enough");
  const resumed: number[] = [];
  await files.upload(path, new Blob([bytes]), { resume: true, onResumed: (sent) => resumed.push(sent) });
  expect(resumed).toEqual([16 * 1024 * 1024]);
  expect(sha256Of(await site.bytes(path))).toBe(sha256Of(bytes));
});
