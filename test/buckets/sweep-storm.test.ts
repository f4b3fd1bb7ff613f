import { expect } from "bun:test";
import { nextTurn } from "../../src/base/turns.ts";
import { BucketFiles } from "../../src/buckets/bucket-files.ts";
import { sweep } from "../../src/buckets/maintenance/sweep.ts";
import { type TreePath, treePath, treeRoot } from "../../src/buckets/path.ts";
import type { WriteConditions } from "../../src/buckets/write-conditions.ts";
import type { FileValue } from "../../src/db/rows/entry-values.ts";
import { never } from "../support/blob-stores.ts";
import { eachDatabase } from "../support/node.ts";
import { fileValue, objectRows, oldBlob, storedKeys } from "../support/object-rows.ts";
import { blobKeys, type ObjectNode, objectNodes, putText } from "../support/object-store.ts";
import { randomFrom } from "../support/random.ts";

const allowed: WriteConditions = { grant: { assertStillValid: async () => {} } };
const at = (path: string): TreePath => treePath(path);
const files = 12;
const sweeps = Number(process.env.SWEEPS) || 8;

interface Shuffling {
  isDone(): boolean;
  /** Called after each change. */
  changed(): void;
}

/** Gives old content new names, and takes names away, as clients do: it copies, moves, deletes and restores. */
async function shuffle(
  node: ObjectNode,
  random: () => number,
  { isDone, changed }: Shuffling,
): Promise<void> {
  const bucket = new BucketFiles(node.store, node.store.metadata);
  const pick = () => at(`${random() < 0.5 ? "a" : "b"}/${Math.floor(random() * files)}`);
  const options = { overwrite: true, conditions: allowed, signal: never };
  const steps = [
    () => bucket.copy(pick(), pick(), { ...options, recursive: true }),
    () => bucket.move(pick(), pick(), options),
    () => bucket.move(at("a"), at("c"), options),
    () => bucket.move(at("c"), at("a"), options),
    () => bucket.removeFile(pick(), allowed),
    async () => {
      const versions = await bucket.versions.list(treeRoot, { max: 1000 });
      const version = versions[Math.floor(random() * versions.length)];
      if (version !== undefined) await bucket.restoreVersion(version, pick(), allowed);
    },
  ];
  while (!isDone()) {
    const step = steps[Math.floor(random() * steps.length)];
    // What is missing at this moment is refused, like any such request.
    await step?.().then(changed, (error: unknown) => {
      if (!(error instanceof Error) || !/NotFound|InvalidInput/.test(error.message)) throw error;
    });
  }
}

eachDatabase(
  "a sweep beside two nodes that copy, move, delete and restore deletes no content that anything names",
  async (kind) => {
    const random = randomFrom(`a sweep beside a storm of changes, ${kind}`);
    await using nodes = await objectNodes(kind);
    const [first, second] = [await nodes.open(), await nodes.open()];
    for (const folder of ["a", "b"])
      for (let file = 0; file < files; file += 1)
        await putText(first.store, at(`${folder}/${file}`), `${folder} ${file}`);
    const before = await blobKeys(first.blobs);
    expect(before).toHaveLength(2 * files);
    let isDone = false;
    let changes = 0;
    const shuffling = {
      isDone: () => isDone,
      changed() {
        changes += 1;
      },
    };
    const storms = [first, second].map((node) => shuffle(node, random, shuffling));
    // In two days all of these blobs are old enough to be deleted.
    const nowMs = Date.now() + 48 * 3600_000;
    let count = 0;
    try {
      // A sweep may take less time than a change.
      for (; count < sweeps || changes < 10 * sweeps; count += 1) {
        const { removed: rows } = (count % 2 === 0 ? first : second).database;
        await sweep({ rows, blobs: first.blobs, signal: never, nowMs, maxHeld: 5 });
      }
    } finally {
      isDone = true;
    }
    await Promise.all(storms);
    // Nothing that was uploaded has lost its last name: what was deleted or replaced is kept for a week.
    expect(await blobKeys(first.blobs)).toEqual(before);
    console.log(`${kind}: ${count} sweeps beside ${changes} changes`);
  },
  // Many sweeps, each of which reads all rows beside writers.
  300_000,
);

eachDatabase("content whose only name goes to and fro between two rows is never deleted", async (kind) => {
  await using store = await objectRows(kind);
  const content = await oldBlob(store.folder, "content");
  await store.head("site", "root");
  const nothing = fileValue(null, "");
  // Named before the first sweep: old content without a name may be deleted.
  await store.entry("root", "first", content);
  // A write without a value removes the row.
  const name = (first: FileValue, last: FileValue | undefined) =>
    store.putAll(
      "static-files/root",
      new Map([
        ["first", first],
        ["last", last],
      ]),
    );
  let isDone = false;
  let moves = 0;
  const moving = (async () => {
    for (; !isDone; moves += 2) {
      await name(nothing, content);
      // SQLite answers at once, and would leave the sweep no turn.
      await nextTurn();
      await name(content, undefined);
      await nextTurn();
    }
  })();
  try {
    for (let count = 0; count < sweeps || moves < 10 * sweeps; count += 1)
      expect(await sweep({ rows: store.database.removed, blobs: store.blobs, signal: never })).toMatchObject({
        deletedBlobs: 0,
      });
  } finally {
    isDone = true;
    await moving;
  }
  expect(await storedKeys(store.folder)).toEqual([String(content.blob)]);
});
