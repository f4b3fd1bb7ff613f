import { expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { Fault } from "../../src/base/fault.ts";
import { BlobMissingFault, newBlobKey } from "../../src/blobs/blob-store.ts";
import { FolderBlobs } from "../../src/blobs/folder.ts";
import { chunks, listed, never, sha256, textOf } from "../support/blob-stores.ts";
import { tempFolder } from "../support/node.ts";

const about = { path: "site/index.html" };

async function folderBlobs() {
  const folder = await tempFolder();
  const root = join(folder.path, "store");
  mkdirSync(root);
  const store = new FolderBlobs(root, { sync: false });
  await store.check(never);
  return { root, store, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

const faultOf = (work: Promise<unknown>): Promise<Fault> =>
  work.then(
    () => Promise.reject(new Error("it did not fail")),
    (error) => error as Fault,
  );

test("the files of many blobs are spread evenly over folders", async () => {
  await using blobs = await folderBlobs();
  await Promise.all(Array.from({ length: 2000 }, () => blobs.store.put(Buffer.from("x"), about, never)));
  const folders = readdirSync(join(blobs.root, "blobs"));
  expect(folders.length).toBeGreaterThan(200);
  for (const folder of folders)
    expect(readdirSync(join(blobs.root, "blobs", folder)).length).toBeLessThan(40);
  expect(readdirSync(join(blobs.root, "unfinished"))).toEqual([]);
});

test("what a crash left of an upload is not listed, and is cleared a day later", async () => {
  await using blobs = await folderBlobs();
  const unfinished = join(blobs.root, "unfinished");
  const begun = Promise.withResolvers<void>();
  const rest = Promise.withResolvers<void>();
  async function* slow() {
    yield* chunks("first ");
    begun.resolve();
    await rest.promise;
    yield* chunks("last");
  }
  const upload = blobs.store.put(slow(), about, never);
  await begun.promise;
  writeFileSync(join(unfinished, "left-by-a-crash"), "half");
  const twoDaysAgo = new Date(Date.now() - 48 * 3600 * 1000);
  utimesSync(join(unfinished, "left-by-a-crash"), twoDaysAgo, twoDaysAgo);
  expect(await listed(blobs.store)).toEqual([]);
  expect(await blobs.store.clearUnfinished()).toBe(1);
  expect(existsSync(join(unfinished, "left-by-a-crash"))).toBe(false);
  rest.resolve();
  expect(await textOf(blobs.store, (await upload).key)).toBe("first last");
});

test("files that are no blobs are not listed", async () => {
  await using blobs = await folderBlobs();
  const { key } = await blobs.store.put(Buffer.from("x"), about, never);
  const folder = join(blobs.root, "blobs", key.slice(-2));
  const misplaced = newBlobKey();
  const elsewhere = misplaced.slice(-2) === key.slice(-2) ? `${misplaced.slice(0, -1)}x` : misplaced;
  for (const name of [".DS_Store", `${key}.bak`, elsewhere]) writeFileSync(join(folder, name), "");
  mkdirSync(join(folder, newBlobKey().slice(0, -2) + key.slice(-2)));
  writeFileSync(join(blobs.root, "blobs", "README"), "");
  expect(await listed(blobs.store)).toEqual([key]);
});

test("a folder that is missing is not created, and the error says what to do", async () => {
  await using folder = await tempFolder();
  const root = join(folder.path, "not-mounted");
  const { detail, data } = await faultOf(new FolderBlobs(root, { sync: true }).check(never));
  expect(detail).toContain(
    `the folder ${root} of [files] url does not exist; mount its file system, or create it`,
  );
  expect(data).toEqual({ reason: "unavailable" });
  expect(existsSync(root)).toBe(false);
});

test("a path that cannot be a store is refused with the reason", async () => {
  await using folder = await tempFolder();
  const file = join(folder.path, "file");
  writeFileSync(file, "");
  expect((await faultOf(new FolderBlobs(file, { sync: true }).check(never))).detail).toBe(
    `the folder ${file} of [files] url is a file, not a folder; name another path`,
  );
  expect((await faultOf(new FolderBlobs("/proc", { sync: true }).check(never))).detail).toContain(
    "the folder /proc of [files] url is a folder of the kernel",
  );
});

test("a folder that vanishes is reported as unavailable, and is used again when it is back", async () => {
  await using blobs = await folderBlobs();
  const { key } = await blobs.store.put(Buffer.from("kept"), about, never);
  renameSync(blobs.root, `${blobs.root}-away`);
  const blob = { key, size: 4, sha256: sha256("kept") };
  const attempts = [
    () => blobs.store.put(Buffer.from("x"), about, never),
    () => blobs.store.put(chunks("x"), about, never),
    () => blobs.store.get(key, undefined, never),
    () => blobs.store.content.open(blob),
    () => listed(blobs.store),
    () => blobs.store.check(never),
  ];
  for (const attempt of attempts) expect((await faultOf(attempt())).data).toEqual({ reason: "unavailable" });
  expect(existsSync(blobs.root)).toBe(false);
  renameSync(`${blobs.root}-away`, blobs.root);
  expect(await textOf(blobs.store, key)).toBe("kept");
  const added = await blobs.store.put(Buffer.from("added"), about, never);
  expect(await listed(blobs.store)).toEqual([key, added.key].sort());
});

test("a store whose mount is lost is reported, and nothing is written below the mount", async () => {
  await using blobs = await folderBlobs();
  const { key } = await blobs.store.put(Buffer.from("kept"), about, never);
  renameSync(blobs.root, `${blobs.root}-mounted`);
  mkdirSync(blobs.root);
  expect((await faultOf(blobs.store.check(never))).detail).toBe(
    `the folder ${blobs.root} of [files] url is empty, but the database names files in it; mount its file system again, or move the files there with \`node-server migrate --files file://${blobs.root}\``,
  );
  expect((await faultOf(blobs.store.put(Buffer.from("x"), about, never))).data.reason).toBe("unavailable");
  expect((await faultOf(blobs.store.get(key, undefined, never))).data.reason).toBe("unavailable");
  expect(readdirSync(blobs.root)).toEqual([]);
  rmSync(blobs.root, { recursive: true });
  renameSync(`${blobs.root}-mounted`, blobs.root);
  await blobs.store.check(never);
  expect(await textOf(blobs.store, key)).toBe("kept");
});

test("a folder of blobs that somebody removed is created again", async () => {
  await using blobs = await folderBlobs();
  const fill = () =>
    Promise.all(Array.from({ length: 300 }, () => blobs.store.put(Buffer.from("x"), about, never)));
  await fill();
  for (const name of readdirSync(join(blobs.root, "blobs")))
    rmSync(join(blobs.root, "blobs", name), { recursive: true });
  const added = await fill();
  expect(await listed(blobs.store)).toEqual(added.map(({ key }) => key).sort());
});

test("an opened blob is sent from its own file and stays readable when it is deleted", async () => {
  await using blobs = await folderBlobs();
  const blob = await blobs.store.put(Buffer.from("0123456789"), about, never);
  const { content } = blobs.store;
  expect(content.has(blob.key)).toBe(true);
  await using opened = await content.open(blob);
  const held = content.hold(blob);
  await blobs.store.delete([blob.key]);
  expect(content.has(blob.key)).toBe(false);
  expect(content.hold(blob)).toBeUndefined();
  expect(await held?.blob.text()).toBe("0123456789");
  held?.close();
  expect(Buffer.from(await opened.bytes()).toString()).toBe("0123456789");
  expect(Buffer.concat(await Array.fromAsync(opened.chunks({ start: 2, end: 4 }))).toString()).toBe("234");
  expect(await faultOf(content.open(blob))).toBeInstanceOf(BlobMissingFault);
});

test("a blob whose file was cut is not sent", async () => {
  await using blobs = await folderBlobs();
  const blob = await blobs.store.put(Buffer.from("0123456789"), about, never);
  truncateSync(join(blobs.root, "blobs", blob.key.slice(-2), blob.key), 5);
  expect((await faultOf(blobs.store.content.open(blob))).data).toEqual({
    reason: "blob_missing",
    blob: blob.key,
  });
  expect(blobs.store.content.hold(blob)).toBeUndefined();
  const part = await blobs.store.get(blob.key, { start: 0, end: 9 }, never);
  expect((await faultOf(new Response(part).text())).data.reason).toBe("blob_missing");
});
