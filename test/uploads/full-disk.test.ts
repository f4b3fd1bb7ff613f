import { expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type TestNode, tempFolder, testNode } from "../support/node.ts";
import { distinctBytes, resumable, sha256Of } from "../support/resumable.ts";
import { mounted } from "../support/webdav-disk.ts";

/** Fills the disk at `place`, which has 16 MiB, in the middle of an upload of 6 MB. */
async function fillDuringUpload(node: TestNode, place: string): Promise<void> {
  await node.call("static-bucket_create", { token: node.superToken, name: "site" });
  const { append, address, offsetOf, unfinished } = resumable(node.url, node.superToken);
  const bytes = distinctBytes(6_000_000, 3);
  const at = await address("site/film.bin", bytes.length);
  expect((await append(at, 0, bytes.slice(0, 2_000_000))).status).toBe(204);
  const filler = join(place, "filler");
  writeFileSync(filler, new Uint8Array(12_500_000));
  const refused = await append(at, 2_000_000, bytes.slice(2_000_000));
  expect([refused.status, await refused.text()]).toEqual([507, expect.stringMatching(/full/)]);
  const offset = await offsetOf(at);
  expect(offset).toBeGreaterThanOrEqual(2_000_000);
  expect(offset).toBeLessThan(bytes.length);
  const film = () => fetch(`${node.url}/node/static/site/film.bin`);
  expect((await film()).status).toBe(404);
  rmSync(filler);
  const last = await append(at, offset, bytes.slice(offset));
  expect([last.status, last.headers.get("upload-put-status")]).toEqual([204, "201"]);
  expect(sha256Of(await (await film()).bytes())).toBe(sha256Of(bytes));
  expect(await unfinished("site/")).toEqual([]);
}

test("an upload that meets a full disk is told so, and goes on when there is room", async () => {
  await using node = await testNode();
  const place = join(node.folder, "static");
  using disk = mounted("a full disk", place, "size=16m");
  if (disk === undefined) return;
  await fillDuringUpload(node, place);
  // A file that cannot fit is refused before its first byte.
  const { begin } = resumable(node.url, node.superToken);
  const refused = await begin("site/another.bin", 50_000_000);
  expect([refused.status, await refused.text()]).toEqual([507, expect.stringMatching(/not enough space/)]);
});

test("an upload that meets a full disk of blobs is told so, and goes on when there is room", async () => {
  await using folder = await tempFolder();
  const place = join(folder.path, "blobs");
  using disk = mounted("a full disk of blobs", place, "size=16m");
  if (disk === undefined) return;
  await using node = await testNode({ files: `url = "${pathToFileURL(place).href}"\n` });
  await fillDuringUpload(node, place);
});
