import { expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { closeSync, existsSync, ftruncateSync, openSync, readSync, statSync, writeSync } from "node:fs";
import { Wire } from "../support/hostile.ts";
import { testNode } from "../support/node.ts";
import { until } from "../support/until.ts";
import { openSite, staged } from "../support/webdav-disk.ts";

const mebibyte = 1024 * 1024;

/** A file of which only `words`, at `position`, take room on the disk. */
function writeSparse(path: string, size: number, position: number, words: string): void {
  const file = openSync(path, "w");
  ftruncateSync(file, size);
  writeSync(file, words, position);
  closeSync(file);
}

function textAt(path: string, position: number, length: number): string {
  const file = openSync(path, "r");
  const buffer = Buffer.alloc(length);
  readSync(file, buffer, 0, length, position);
  closeSync(file);
  return buffer.toString();
}

test("a copy of a file with holes has holes, its content, its length and its time", async () => {
  await using node = await testNode({ top: "sync_uploads = false\n" });
  const { at, to } = await openSite(node, { "first.txt": "" });
  const size = 2048 * mebibyte + 12_345;
  writeSparse(at("sparse.bin"), size, 1_234_567_890, "words in the middle");
  expect(await to("COPY", "/sparse.bin", "/copy.bin")).toBe(201);
  const [source, copy] = [statSync(at("sparse.bin")), statSync(at("copy.bin"))];
  expect([copy.size, Math.floor(copy.mtimeMs), copy.mode]).toEqual([
    size,
    Math.floor(source.mtimeMs),
    source.mode,
  ]);
  expect(copy.blocks * 512).toBeLessThan(4 * mebibyte);
  expect(textAt(at("copy.bin"), 1_234_567_890, 19)).toBe("words in the middle");
  expect(textAt(at("copy.bin"), size - 3, 3)).toBe("\0\0\0");
});

test("a large file without holes is copied byte for byte", async () => {
  await using node = await testNode({ top: "sync_uploads = false\n" });
  const { at, to } = await openSite(node);
  const bytes = Buffer.alloc(40 * mebibyte + 7, randomBytes(65_521));
  await Bun.write(at("large.bin"), bytes);
  expect(await to("COPY", "/large.bin", "/copy.bin")).toBe(201);
  expect(Buffer.from(await Bun.file(at("copy.bin")).arrayBuffer()).equals(bytes)).toBe(true);
  expect(statSync(at("copy.bin")).mode).toBe(statSync(at("large.bin")).mode);
});

for (const what of ["file", "folder"] as const)
  test(`a COPY of a ${what} ends soon after its client has left, and leaves nothing behind`, async () => {
    await using node = await testNode({ top: "sync_uploads = false\n" });
    const { at, base, authorization, dav } = await openSite(node, { "from/first.txt": "first" });
    // So large that no machine copies it while the test runs; all of it is one hole.
    writeSparse(at("from/huge.bin"), 4 * 1024 * 1024 * mebibyte, 0, "words");
    const source = what === "file" ? "/from/huge.bin" : "/from";
    {
      using wire = await Wire.open(node.url);
      wire.write(
        `COPY /node/static-webdav/site${source} HTTP/1.1\r\nHost: here\r\nAuthorization: ${authorization}\r\nDestination: ${base}/to\r\n\r\n`,
      );
      await until("the copy has begun", () => staged(node).length > 0);
    }
    await until("nothing is left of it", () => staged(node).length === 0);
    expect(existsSync(at("to"))).toBe(false);
    // Its paths are free again.
    expect((await dav("PUT", "/to", {}, "words")).status).toBe(201);
    expect((await dav("DELETE", "/from")).status).toBe(204);
  });
