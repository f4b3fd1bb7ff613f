import { expect, test } from "bun:test";
import { mkdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { FolderBlobs } from "../../src/blobs/folder.ts";
import { copyBlobs, measureBlobs } from "../../src/buckets/maintenance/copy-blobs.ts";
import { writeManifests } from "../../src/buckets/maintenance/manifest.ts";
import { treeOf } from "../backup/support.ts";
import { never, sha256 } from "../support/blob-stores.ts";
import { blockOf, replaced, sectionOf } from "../support/documented.ts";
import { eachDatabase, tempFolder } from "../support/node.ts";
import {
  fileValue,
  folderValue,
  type ObjectRows,
  objectRows,
  oldBlob,
  storedKeys,
} from "../support/object-rows.ts";
import { findProgram } from "../support/tools.ts";

const oddName = 'it\'s $(odd) `name`\n"é" \\t.txt';

/** A bucket with files of all kinds. */
async function fill(store: ObjectRows): Promise<void> {
  const [folder, empty] = [folderValue(), folderValue()];
  await store.head("my/site", "root");
  await store.entry("root", "a.txt", await oldBlob(store.folder, "content of a"));
  await store.entry("root", "nothing.txt", fileValue(null, ""));
  await store.entry("root", "folder", folder);
  await store.entry("root", "empty folder", empty);
  await store.entry(folder.id, "-b", await oldBlob(store.folder, "content of b"));
  await store.entry(folder.id, oddName, await oldBlob(store.folder, "odd"));
}

const manifestOf = (folder: string) => join(folder, "manifests", "my~site.jsonl");

eachDatabase("a manifest has the names, sizes, hashes and blobs of a bucket, a line each", async (kind) => {
  await using store = await objectRows(kind);
  await fill(store);
  await store.head("other", "nothing here");
  expect(await writeManifests({ rows: store.database.removed, blobs: store.blobs, signal: never })).toBe(2);
  const lines = (await readFile(manifestOf(store.folder), "utf8")).trimEnd().split("\n");
  const [header, ...entries] = lines.map((line) => JSON.parse(line));
  expect(header).toEqual({ bucket: "my/site", version: 1, at: expect.stringMatching(/^\d{4}-.*Z$/) });
  expect(entries.map(({ path }) => path).sort()).toEqual(
    ["a.txt", "nothing.txt", "folder/", "empty folder/", "folder/-b", `folder/${oddName}`].sort(),
  );
  const modified = expect.stringMatching(/^\d{4}-.*Z$/);
  expect(entries.find(({ path }) => path === "a.txt")).toEqual({
    path: "a.txt",
    size: 12,
    sha256: sha256("content of a"),
    blob: expect.stringMatching(/^[0-9a-f-]{36}$/),
    modified,
  });
  expect(entries.find(({ path }) => path === "folder/")).toEqual({ path: "folder/", modified });
  expect(entries.find(({ path }) => path === "nothing.txt")).not.toHaveProperty("blob");
});

test("the files are recovered from a store without its database, as the documentation says", async () => {
  if (findProgram("recovery by hand", "jq") === undefined) return;
  await using store = await objectRows("sqlite");
  await fill(store);
  await writeManifests({ rows: store.database.removed, blobs: store.blobs, signal: never });
  const script = blockOf(sectionOf("storage.md", "Recovery without the database"), "sh");
  await using home = await tempFolder();
  // S3 has the blobs beside each other.
  const flat = join(home.path, "flat");
  await mkdir(flat);
  for (const key of await storedKeys(store.folder))
    await Bun.write(join(flat, key), Bun.file(join(store.folder, "blobs", key.slice(-2), key)));
  await Bun.write(join(flat, "manifests/my~site.jsonl"), Bun.file(manifestOf(store.folder)));
  for (const place of [store.folder, flat]) {
    const into = join(home.path, "recovered");
    await mkdir(into);
    const text = replaced(script, [
      ["store=/srv/node/blobs", `store='${place}'`],
      ["bucket=site", "bucket='my~site'"],
    ]);
    const run = Bun.spawnSync(["sh", "-eu", "-c", text], { cwd: into });
    expect([run.exitCode, run.stdout.toString(), run.stderr.toString()]).toEqual([0, "", ""]);
    expect(await treeOf(into)).toEqual({
      "a.txt": sha256("content of a"),
      "nothing.txt": sha256(""),
      folder: "folder",
      "folder/-b": sha256("content of b"),
      [`folder/${oddName}`]: sha256("odd"),
    });
    const line = (await readFile(manifestOf(store.folder), "utf8"))
      .split("\n")
      .find((line) => line.includes('"a.txt"'));
    const { modified } = JSON.parse(line ?? "") as { modified: string };
    expect((await stat(join(into, "a.txt"))).mtime.toISOString()).toBe(modified);
    await rm(into, { recursive: true });
  }
});

eachDatabase(
  "named blobs are copied to another store under their keys, and only those that it lacks",
  async (kind) => {
    await using store = await objectRows(kind);
    await using home = await tempFolder();
    await fill(store);
    const [file] = (await Array.fromAsync(store.database.removed.current.entries("root"))).flat();
    if (file === undefined || !("blob" in file.value)) throw new Error("not filled");
    await store.entry("root", "copy.txt", file.value);
    const orphan = await oldBlob(store.folder, "orphan");
    const target = new FolderBlobs(home.path, { sync: false });
    await target.check(never);
    const rows = store.database.removed;
    expect(await measureBlobs(rows)).toEqual({ files: 3, bytes: 27 });
    const counted = { bytes: 0, files: 0 };
    const meter = { add: (bytes: number) => (counted.bytes += bytes), fileDone: () => (counted.files += 1) };
    const options = { rows, source: store.blobs, target, meter, signal: never };
    expect(await copyBlobs(options)).toEqual({ copied: 3, unchanged: 0, failures: [], lost: [] });
    expect(counted).toEqual({ bytes: 27, files: 3 });
    const named = (await storedKeys(store.folder)).filter((key) => key !== orphan.blob);
    expect(await storedKeys(home.path)).toEqual(named);

    // One that is damaged in the target is copied again; one that is damaged in the source is reported.
    const path = (folder: string, key = "") => join(folder, "blobs", key.slice(-2), key);
    await Bun.write(path(home.path, named[0]), "damaged");
    await rm(path(home.path, named[1]));
    await Bun.write(path(store.folder, named[1]), "damaged");
    const again = await copyBlobs(options);
    expect(again).toMatchObject({ copied: 1, unchanged: 1 });
    expect(again.failures.map(({ blob, fault }) => [blob, fault.data.reason])).toEqual([
      [named[1], "blob_missing"],
    ]);
    expect(await storedKeys(home.path)).toEqual(named.filter((_, at) => at !== 1));
  },
);
