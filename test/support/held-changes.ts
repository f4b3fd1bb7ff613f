import { spyOn, test } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { SQL } from "bun";
import { PathMutex } from "../../src/base/concurrency.ts";
import { ChangeQueue } from "../../src/buckets/trees/rows/committer.ts";
import type { StoreOptions, TestNode } from "./node.ts";
import { chosenFor } from "./tier.ts";
import { until } from "./until.ts";
import { endlessCopy } from "./webdav-disk.ts";

const waitingStores: readonly StoreOptions[] = [
  { store: "disk", database: "sqlite" },
  { store: "disk", database: "postgres" },
  { store: "objects over postgres" },
];

/**
 * eachWaitingStore declares a story wherever a change can wait for its turn while a token or a bucket is changed; the fast tier takes
 * the store that its title chooses. In an object store on SQLite a change cannot wait: all changes, those of tokens too, take turns in
 * the database.
 */
export function eachWaitingStore(title: string, story: (options: StoreOptions) => Promise<void>): void {
  for (const options of chosenFor(title, waitingStores))
    test(`${title} (${[options.store, options.database].filter(Boolean).join(", ")})`, () => story(options));
}

/**
 * heldChanges sends changes of the story's bucket below the folder `from`, waits until all of them wait for their turn, runs
 * `meanwhile`, and lets them go on.
 */
export async function heldChanges<T>(
  node: TestNode,
  site: { readonly base: string; readonly authorization: string },
  { send, meanwhile }: { send: () => ReadonlyArray<Promise<T>>; meanwhile: () => Promise<unknown> },
): Promise<T[]> {
  const isDisk = node.store === "disk";
  const at = (path: string) => join(node.folder, "static", node.bucket, path);
  let answers: ReadonlyArray<Promise<T>>;
  {
    await using _held = await (isDisk ? copying(node, { ...site, at }) : lockedHead(node));
    const turns = isDisk ? spyOn(PathMutex.prototype, "run") : spyOn(ChangeQueue.prototype, "run");
    answers = send();
    await until("every change waits for its turn", () => turns.mock.calls.length === answers.length);
    turns.mockRestore();
    await meanwhile();
  }
  const results = await Promise.all(answers);
  if (isDisk) await rm(at("from/huge.bin"));
  return results;
}

async function copying(...args: Parameters<typeof endlessCopy>): Promise<AsyncDisposable> {
  const copy = await endlessCopy(...args);
  return { [Symbol.asyncDispose]: async () => copy[Symbol.dispose]() };
}

/** Locks the head of the bucket, as another node does that changes its files. */
async function lockedHead({ databaseUrl, bucket }: TestNode): Promise<AsyncDisposable> {
  const sql = new SQL({ url: databaseUrl, max: 1 });
  const connection = await sql.reserve();
  await connection.unsafe("BEGIN");
  await connection.unsafe(
    `SELECT value FROM kv WHERE namespace = 'static-files/heads' AND key = '${bucket}' FOR UPDATE`,
  );
  return {
    async [Symbol.asyncDispose]() {
      await connection.unsafe("ROLLBACK");
      connection.release();
      await sql.close();
    },
  };
}
