import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { download, type Progress } from "../../src/update/download.ts";
import { type Answer, chunk, lastChunk, openDownloads, release, says, sha256 } from "../support/downloads.ts";
import { until } from "../support/until.ts";
import { mounted } from "../support/webdav-disk.ts";

const whole = { "content-length": release.length };

test("a release is stored as it was sent, with the mode that was asked for, and its digests are told", async () => {
  await using downloads = await openDownloads(says(whole));
  const umask = process.umask(0o077);
  try {
    const told: Progress[] = [];
    const done = await downloads.get((progress) => told.push(progress), 0o751);
    expect(await readFile(downloads.path)).toEqual(release);
    expect((await stat(downloads.path)).mode & 0o777).toBe(0o751);
    expect(done).toEqual({
      bytes: release.length,
      sha256: sha256(release),
      blake2b: createHash("blake2b512").update(release).digest(),
    });
    expect(told.at(-1)).toEqual({ bytes: release.length, total: release.length });
    const bytes = told.map((progress) => progress.bytes);
    expect(bytes).toEqual([...new Set(bytes)].sort((a, b) => a - b));
  } finally {
    process.umask(umask);
  }
  expect(downloads.heard[0]).toMatch(/^accept-encoding: zstd, identity\r$/im);
});

test("progress is told while the rest is still on its way, without a total where none was announced", async () => {
  const rest = Promise.withResolvers<void>();
  await using downloads = await openDownloads(async (socket) => {
    socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
    socket.write(chunk(release.subarray(0, 5000)));
    await rest.promise;
    socket.end(Buffer.concat([chunk(release.subarray(5000)), lastChunk]));
  });
  const told: Progress[] = [];
  const done = downloads.get((progress) => told.push(progress));
  await until("the first bytes are told", () => told.length > 0);
  expect(told[0]).toEqual({ bytes: 5000, total: undefined });
  rest.resolve();
  expect((await done).bytes).toBe(release.length);
  expect(told.at(-1)).toEqual({ bytes: release.length, total: undefined });
  expect(await readFile(downloads.path)).toEqual(release);
});

test("a redirect to a file is refused, in words for operators", async () => {
  await using downloads = await openDownloads(async (socket) => {
    socket.end("HTTP/1.1 302 Found\r\nlocation: file:///etc/hostname\r\ncontent-length: 0\r\n\r\n");
  });
  expect(await downloads.refusal()).toMatch(/RedirectProtocol.*; nothing was changed$/);
  expect(await downloads.refusal()).not.toContain("verbose");
});

test("a download that is cut short is refused, whether its length was announced or not", async () => {
  const half = release.subarray(0, release.length / 2);
  const cuts: Answer[] = [
    says(whole, half),
    says({ "content-length": release.length + 1 }),
    says({ "transfer-encoding": "chunked" }, chunk(half)),
    says({ "transfer-encoding": "chunked" }, chunk(release).subarray(0, 50_000)),
    says({ ...whole, "content-encoding": "zstd" }, zstdCompressSync(release).subarray(0, 5000)),
    (socket) => void socket.resetAndDestroy(),
    (socket) => void socket.end(),
    (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${release.length}\r\n\r\n`);
      socket.write(half, () => setTimeout(() => socket.resetAndDestroy(), 50));
    },
  ];
  for (const cut of cuts) {
    await using downloads = await openDownloads(cut);
    await downloads.refusal();
  }
});

test("what has the size of no release is refused, before anything is stored where it is announced", async () => {
  const sizes: [Answer, string, string[]][] = [
    [says({ "content-length": 1023 }, "x".repeat(1023)), "it has 1023 bytes, which cannot be a release", []],
    [says({ "content-length": 0 }, ""), "it has 0 bytes, which cannot be a release", []],
    [says({ "content-length": 2 ** 30 + 1 }), `it has ${2 ** 30 + 1} bytes, which cannot be a release`, []],
    [says({ "content-length": "9".repeat(18) }), "which cannot be a release", []],
    [
      says({ "transfer-encoding": "chunked" }, Buffer.concat([chunk(Buffer.alloc(1023)), lastChunk])),
      "it has 1023 bytes, which cannot be a release",
      ["new"],
    ],
  ];
  for (const [answer, words, left] of sizes) {
    await using downloads = await openDownloads(answer);
    expect(await downloads.refusal()).toContain(words);
    expect(await readdir(downloads.folder)).toEqual(left);
  }
});

test("a release that the disk has no room for is refused before anything is stored", async () => {
  await using downloads = await openDownloads(says(whole));
  const small = join(downloads.folder, "small");
  await mkdir(small);
  using disk = mounted("a small disk for a download", small, "size=8m");
  if (disk === undefined) return;
  await expect(
    download(`${downloads.url}/file`, { path: join(small, "new"), mode: 0o755, progress() {} }),
  ).rejects.toThrow(/the disk has \d MB left, and the update needs more; nothing was changed$/);
  expect(await readdir(small)).toEqual([]);
});

test("a file that is there already is not written over", async () => {
  await using downloads = await openDownloads(says(whole));
  await writeFile(downloads.path, "precious");
  await downloads.refusal();
  expect(await readFile(downloads.path, "utf8")).toBe("precious");
});

test("every digest that the server tells is held against what came", async () => {
  const right = sha256(release);
  const wrong = sha256(Buffer.from("other"));
  const packed = zstdCompressSync(release);
  const sent = sha256(packed);
  const [b64, hex] = [
    (digest: Buffer) => digest.toString("base64"),
    (digest: Buffer) => digest.toString("hex"),
  ];
  const plain: [Record<string, string>, boolean][] = [
    [{ "repr-digest": `sha-256=:${b64(right)}:` }, true],
    [{ "repr-digest": `sha-512=:${b64(wrong)}:, sha-256=:${b64(right)}:` }, true],
    [{ digest: `SHA-256=${b64(right)}` }, true],
    [{ "x-checksum-sha256": hex(right).toUpperCase() }, true],
    [{ "repr-digest": `sha-512=:${b64(wrong)}:` }, true],
    [{ "repr-digest": `sha-256=:${b64(wrong)}:` }, false],
    [{ "repr-digest": `md5=:AAAA:,sha-256=:${b64(wrong)}:` }, false],
    [{ digest: `sha-256=${b64(wrong)}` }, false],
    [{ "x-checksum-sha256": hex(wrong) }, false],
    [{ "x-checksum-sha256": hex(right).slice(0, -1) }, false],
    [{ "repr-digest": `sha-256=:${b64(right)}:`, "x-checksum-sha256": hex(wrong) }, false],
  ];
  const zstd: [Record<string, string>, boolean][] = [
    [{ "repr-digest": `sha-256=:${b64(sent)}:`, "x-checksum-sha256": hex(right) }, true],
    [{ "repr-digest": `sha-256=:${b64(right)}:` }, false],
    [{ "x-checksum-sha256": hex(sent) }, false],
  ];
  for (const [answer, headers, isRight] of [
    ...plain.map(([headers, isRight]) => [says({ ...whole, ...headers }), headers, isRight] as const),
    ...zstd.map(([headers, isRight]) => {
      const more = { "content-encoding": "zstd", "content-length": packed.length };
      return [says({ ...more, ...headers }, packed), headers, isRight] as const;
    }),
  ]) {
    await using downloads = await openDownloads(answer);
    if (isRight) expect([headers, (await downloads.get()).sha256]).toEqual([headers, right]);
    else expect(await downloads.refusal()).toContain("its digest differs from that of the release server");
  }
});
