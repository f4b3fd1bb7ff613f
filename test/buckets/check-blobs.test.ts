import { expect } from "bun:test";
import { rm, truncate } from "node:fs/promises";
import { join } from "node:path";
import type { BlobStore } from "../../src/blobs/blob-store.ts";
import { checkBlobs } from "../../src/buckets/maintenance/check-blobs.ts";
import { never } from "../support/blob-stores.ts";
import { eachDatabase } from "../support/node.ts";
import { agedBlob, fileValue, folderValue, objectRows, oldBlob } from "../support/object-rows.ts";

/** A store that lists its blobs one by one. */
function oneByOne(blobs: BlobStore): BlobStore {
  const list = async function* () {
    for await (const batch of blobs.list()) for (const blob of batch) yield [blob];
  };
  return new Proxy(blobs, {
    get: (target, name) => (name === "list" ? list : Reflect.get(target, name, target).bind?.(target)),
  });
}

const pathOf = (folder: string, blob: string | null) =>
  join(folder, "blobs", String(blob).slice(-2), String(blob));

eachDatabase("a check finds orphans, missing blobs and wrong sizes, and names their files", async (kind) => {
  await using store = await objectRows(kind);
  const { folder, blobs, database } = store;
  const [whole, missing, cut, removed, inRemoved] = [
    await oldBlob(folder, "whole"),
    await oldBlob(folder, "missing"),
    await oldBlob(folder, "cut short"),
    await oldBlob(folder, "removed"),
    await oldBlob(folder, "in a removed folder"),
  ];
  await oldBlob(folder, "orphan");
  await agedBlob(folder, "upload under way", { key: 0, stored: 0 });
  const [below, gone] = [folderValue(), folderValue()];
  await store.head("a/site", "root");
  await store.entry("root", "whole.txt", whole);
  await store.entry("root", "copy.txt", whole);
  await store.entry("root", "empty.txt", fileValue(null, ""));
  await store.entry("root", "below", below);
  await store.entry(below.id, "missing.txt", missing);
  await store.entry(below.id, "cut.txt", cut);
  await store.entry(gone.id, "x.txt", inRemoved);
  await store.removed("a/site", "3/old.txt", { entry: removed, until: Date.now() + 60_000 });
  await store.removed("a/site", "4/gone", { entry: gone, until: Date.now() + 60_000 });
  const options = { rows: database.removed, blobs, signal: never };
  expect((await checkBlobs(options)).broken).toEqual([]);

  for (const file of [missing, removed, inRemoved]) await rm(pathOf(folder, file.blob));
  await truncate(pathOf(folder, cut.blob), 3);
  // In one batch, and in batches of one.
  for (const listed of [blobs, oneByOne(blobs)]) {
    const report = await checkBlobs({ ...options, blobs: listed });
    expect({ ...report, broken: report.broken.toSorted((a, b) => a.size - b.size) }).toEqual({
      blobs: 4,
      bytes: 5 + 3 + 6 + 16,
      orphans: { count: 1, bytes: 6 },
      recent: 1,
      broken: [
        { place: "below/missing.txt", isRemoved: false, file: missing, storedSize: undefined },
        { place: "old.txt", isRemoved: true, file: removed, storedSize: undefined },
        { place: "below/cut.txt", isRemoved: false, file: cut, storedSize: 3 },
        { place: "gone/x.txt", isRemoved: true, file: inRemoved, storedSize: undefined },
      ].map(({ place: path, isRemoved, file, storedSize }) => ({
        location: { bucket: "a/site", path },
        isRemoved,
        blob: String(file.blob),
        size: file.size,
        storedSize,
      })),
    });
  }
});
