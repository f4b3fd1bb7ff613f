import { describe, expect, test } from "bun:test";
import { Fault } from "../../src/base/fault.ts";
import type { S3BlobsOptions } from "../../src/blobs/s3.ts";
import { toS3Options } from "../../src/blobs/s3-requests.ts";
import { chunks, listed, never, s3Blobs, textOf } from "../support/blob-stores.ts";
import { hasSeaweed, readerKeys, seaweed } from "../support/seaweed.ts";
import { randomBytes } from "../support/tools.ts";

const mib = 1024 * 1024;

async function* pieces(content: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += mib) yield content.subarray(at, at + mib);
}

/** Why a store with these options is refused at the start. */
async function problem(options: Partial<S3BlobsOptions>): Promise<string> {
  try {
    await (await s3Blobs(options)).check(never);
    return "none";
  } catch (error) {
    if (error instanceof Fault) return error.detail;
    throw error;
  }
}

describe.skipIf(!hasSeaweed)("blobs in S3", () => {
  test("a check says what is wrong, and what to do", async () => {
    const { endpoint } = (await seaweed()).location;
    expect(await problem({})).toBe("none");
    expect(await problem({ prefix: "" })).toBe("none");
    const keys =
      "the object store refused access_key_id and secret_access_key; correct them below [files], or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY if they come from there";
    expect(await problem({ secretAccessKey: "wrong" })).toBe(
      `the bucket test at ${endpoint} cannot be used: ${keys}`,
    );
    expect(await problem({ accessKeyId: "unknown" })).toContain(keys);
    expect(await problem({ bucket: "missing" })).toBe(
      `the bucket missing at ${endpoint} cannot be used: the bucket of [files] url does not exist in the object store; create it or correct the url`,
    );
    expect(await problem(readerKeys)).toContain("the object store does not allow s3:PutObject");
    expect(await problem({ endpoint: "http://127.0.0.1:9" })).toContain("the object store cannot be reached");
    using website = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("<html>") });
    expect(await problem({ endpoint: website.url.origin })).toContain("not that of an S3 store");
  });

  test("a blob tells people who look into the store which file it is", async () => {
    const { location } = await seaweed();
    const store = await s3Blobs({ prefix: "named" });
    const path = `site/späte "Grüße" (1)\r\n.html`;
    for (const content of [Buffer.from("short"), randomBytes(6 * mib)]) {
      const { key } = await store.put(pieces(content), { path }, never);
      const { headers } = await fetch(`s3://named/${key}`, { method: "HEAD", s3: toS3Options(location) });
      const written = /^attachment; filename\*=UTF-8''([\w%.~-]+)$/.exec(
        headers.get("content-disposition") ?? "",
      );
      expect(decodeURIComponent(written?.[1] ?? "")).toBe(path);
      await store.delete([key]);
    }
    const { key } = await store.put(Buffer.from("x"), { path: `${"folder €/".repeat(500)}end` }, never);
    expect(await textOf(store, key)).toBe("x");
  });

  test("the bucket may be a part of the host name", async () => {
    const { port } = await seaweed();
    const prefix = crypto.randomUUID();
    const store = await s3Blobs({ prefix, endpoint: `http://localhost:${port}`, pathStyle: false });
    await store.check(never);
    const { key } = await store.put(Buffer.from("text"), { path: "site/a" }, never);
    expect(await textOf(store, key)).toBe("text");
    expect(await listed(await s3Blobs({ prefix }))).toEqual([key]);
  });

  test("a manifest is an object beside the blobs", async () => {
    const { location } = await seaweed();
    const prefix = crypto.randomUUID();
    const store = await s3Blobs({ prefix });
    for (const text of ["first, longer", "second"])
      await store.putManifest("site.jsonl", chunks(text), never);
    const manifest = await fetch(`s3://${prefix}/manifests/site.jsonl`, { s3: toS3Options(location) });
    expect(await manifest.text()).toBe("second");
  });

  test("more blobs than one answer of the store holds are all listed", async () => {
    const store = await s3Blobs();
    const keys: string[] = [];
    for (let at = 0; at < 11; at += 1)
      await Promise.all(
        Array.from({ length: 100 }, async () =>
          keys.push((await store.put(Buffer.from("x"), { path: "site/x" }, never)).key),
        ),
      );
    expect(await listed(store)).toEqual(keys.sort());
  });

  test("a source that pauses longer than the store may take is not cut off", async () => {
    const store = await s3Blobs({ requestTimeoutMs: 2000 });
    const content = randomBytes(7 * mib);
    async function* slow() {
      for await (const piece of pieces(content)) {
        yield piece;
        if (piece.byteOffset === 2 * mib || piece.byteOffset === 6 * mib) await Bun.sleep(2500);
      }
    }
    expect((await store.put(slow(), { path: "site/slow" }, never)).size).toBe(content.length);
  });
});
