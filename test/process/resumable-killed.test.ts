import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { createReadStream, readdirSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { NodeServerClient } from "../../src/client/index.ts";
import { newHome, type Server } from "../support/process.ts";
import { randomFrom } from "../support/random.ts";
import { distinctBytes, resumable, sha256Of } from "../support/resumable.ts";

const size = 64 * 1024 * 1024;

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
}

for (const store of ["disk", "objects"] as const)
  test(`an upload of 64 MiB outlives kills of the server, whose offset is true (${store})`, async () => {
    const random = randomFrom(`resumable uploads, ${store}`);
    await using home = await newHome();
    if (store === "objects") {
      await mkdir(home.file("blobs"));
      await home.configure({ files: `url = "file://${home.file("blobs")}"\n` });
    }
    const bytes = distinctBytes(size, 3);
    const content = new Blob([bytes]);
    const modified = new Date(1_700_000_000_000);
    let server: Server = await home.serve();
    const token = server.superToken;
    await server.call("static-bucket_create", [token, "site"]);
    let offset = 0;
    for (let kill = 0; kill < 3; kill += 1) {
      const target = offset + random() * 18 * 1024 * 1024;
      const bucket = new NodeServerClient(server.url, { token }).bucket("site");
      const onProgress = (sent: number) => {
        if (sent > target) server.signal("SIGKILL");
      };
      const failed = await bucket
        .upload("large.bin", content, { modified, onProgress, resume: true, retry: false })
        .catch((error: unknown) => error);
      expect(failed).toBeInstanceOf(Error);
      await server.exited;
      server = await home.serve();
      const { unfinished, offsetOf } = resumable(server.url, token);
      const [upload] = await unfinished("site/");
      const told = await offsetOf(String(upload?.address));
      expect(told).toBeGreaterThanOrEqual(offset);
      expect(told).toBeLessThan(size);
      offset = told;
    }
    const bucket = new NodeServerClient(server.url, { token }).bucket("site");
    await bucket.upload("large.bin", content, { modified, resume: true });
    const got = await bucket.open("large.bin");
    expect(sha256Of(await got.bytes())).toBe(sha256Of(bytes));
    if (store === "disk") {
      expect(await hashOf(home.file("static/site/large.bin"))).toBe(sha256Of(bytes));
      const left = readdirSync(home.file("static/~uploads"), { recursive: true, withFileTypes: true });
      expect(left.filter((entry) => entry.isFile())).toEqual([]);
    }
  });
