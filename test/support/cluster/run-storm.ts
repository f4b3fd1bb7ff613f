import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { seededRandom } from "../random.ts";
import { hookTable, webhookReceiver } from "../webhooks.ts";
import { Chaos } from "./chaos.ts";
import { checkHistory, type Violation } from "./check-history.ts";
import { Cluster, type ClusterOptions } from "./cluster.ts";
import type { History, Outcome } from "./history.ts";
import { Storm } from "./storm.ts";
import {
  createOrRemove,
  hotFiles,
  listHotFiles,
  makeFiles,
  passingFiles,
  readHotFile,
  readLeased,
  readStrict,
  replace,
} from "./storm-files.ts";
import { findFolder, makeFolder, moveFolder } from "./storm-folders.ts";
import { createTold, FollowedBucket, listeners, makeToldFolder, untilTold } from "./storm-followers.ts";
import { intrude, lockAndUnlock, makeLockedFiles } from "./storm-locks.ts";
import { useAndRevoke } from "./storm-tokens.ts";
import { uploadAndReplace } from "./storm-uploads.ts";
import { type SweptStore, sweptStore } from "./swept-store.ts";

const artefacts = resolve(import.meta.dir, "../../../test-artefacts/cluster");
/** Every request ends within this: deadlines of PostgreSQL and of the store one after the other, on a busy machine. */
const deadlineMs = 25_000;
const staleMs = 60_000;

export interface StormOptions extends ClusterOptions {
  readonly seconds: number;
  /** Without it nothing fails but the nodes themselves. */
  readonly hasFaults?: boolean;
  /** How long a client waits between two requests, about. */
  readonly pauseMs: number;
}

export interface StormResult {
  readonly violations: readonly Violation[];
  readonly store: SweptStore;
  /** How many writes were answered as done, and how many strict and leased reads showed something. */
  readonly counts: readonly number[];
  /** How many paths the follower and the webhook were told. */
  readonly told: readonly number[];
}

/** Clients of all kinds, by how many of each there are. */
const clients: ReadonlyArray<readonly [count: number, work: (storm: Storm) => Promise<void>]> = [
  [5, replace],
  [4, readHotFile],
  [2, listHotFiles],
  [5, readLeased],
  [2, createOrRemove],
  [2, moveFolder],
  [1, async (storm) => void (await findFolder(storm))],
  [3, uploadAndReplace],
  [3, lockAndUnlock],
  [1, intrude],
  [1, useAndRevoke],
  [1, createTold],
];

/**
 * runStorm lets clients work on a cluster while it suffers faults, and judges what they saw. The seed, which is printed, makes
 * the same choices again.
 */
export async function runStorm(title: string, options: StormOptions): Promise<StormResult> {
  const { random, seed } = seededRandom(title, "CLUSTER_SEED");
  await using receiver = webhookReceiver();
  await using cluster = await Cluster.open({
    top: "sync_uploads = false\n",
    databaseKeys: "timeout_ms = 3000\nstale_seconds = 60\n",
    storeTimeoutMs: 2000,
    // The table of files is the last one.
    files: hookTable(receiver.url, ["file.created"]),
    ...options,
  });
  const storm = new Storm(cluster, random);
  const chaos = new Chaos(storm);
  const follower = new FollowedBucket(storm);
  await makeFiles(storm);
  await makeFolder(storm);
  await makeLockedFiles(storm);
  await makeToldFolder(storm);
  const failed = Promise.withResolvers<never>();
  const work = Promise.all([
    ...clients.flatMap(([count, client]) =>
      Array.from({ length: count }, () => storm.repeat(options.pauseMs, () => client(storm))),
    ),
    storm.repeat(options.pauseMs, () => follower.follow(4000 * storm.random())),
    options.hasFaults === false ? undefined : chaos.run(),
  ]).catch(failed.reject);
  try {
    await Promise.race([Bun.sleep(options.seconds * 1000), failed.promise]);
  } finally {
    storm.isOver = true;
  }
  await Promise.race([work, failed.promise]);
  await cluster.untilReady();
  const outages = await chaos.outages;
  await readEverything(storm);
  await untilTold(storm, follower, receiver);
  for (const { server } of cluster.nodes) await server?.stop();
  const store = await sweptStore(cluster);
  const commitCuts = cluster.nodes.reduce((sum, { database }) => sum + database.cuts, 0);
  const history = { operations: storm.operations, outages, listeners, deadlineMs, staleMs };
  const violations = checkHistory(history);
  console.log(
    `${title}: ${summaryOf(history)}; faults: ${[...chaos.done].map(([name, count]) => `${name} ${count}`).join(", ")}; ${commitCuts} commits cut; ${store.deleted} blobs swept, ${store.blobs.length} left; ${violations.length} violations`,
  );
  if (violations.length > 0 || process.env.CLUSTER_KEEP)
    await keep(`${title}-${seed}`.replaceAll(/\W+/g, "-"), history, violations);
  return { violations, store, counts: countsOf(history), told: toldOf(history) };
}

/** Nothing is lost: every node shows the last state of everything. */
async function readEverything(storm: Storm): Promise<void> {
  for (const node of storm.cluster.nodes) {
    for (const file of [...hotFiles, ...passingFiles]) await readStrict(storm, file, node);
    await findFolder(storm, node);
  }
}

function countsOf({ operations }: History): [writes: number, strict: number, leased: number] {
  const seen = operations.filter((operation) => operation.kind === "read" && operation.saw !== undefined);
  const strict = seen.filter((read) => read.kind === "read" && read.isStrict).length;
  const done = operations.filter((operation) => operation.kind === "write" && operation.outcome === "done");
  return [done.length, strict, seen.length - strict];
}

function toldOf({ operations, listeners }: History): number[] {
  const told = operations.filter((operation) => operation.kind === "told" && operation.subject !== "");
  return listeners.map((one) => told.filter((told) => "listener" in told && told.listener === one).length);
}

function summaryOf(history: History): string {
  const count = (kind: string, outcome?: Outcome) =>
    history.operations.filter(
      (operation) =>
        operation.kind === kind && (!outcome || ("outcome" in operation && operation.outcome === outcome)),
    ).length;
  const [writes, strict, leased] = countsOf(history);
  return `${history.operations.length} operations: writes ${writes} done, ${count("write", "refused")} refused, ${count("write", "maybe")} unknown; reads ${strict} strict, ${leased} leased; ${count("hold")} locks held, ${count("revocation")} tokens revoked; told ${toldOf(history)} of ${count("change", "done")} changes`;
}

/** Keeps a history, and prints the first proofs. */
async function keep(name: string, history: History, violations: readonly Violation[]): Promise<void> {
  await mkdir(artefacts, { recursive: true });
  const path = join(artefacts, `${name}.json`);
  await writeFile(path, JSON.stringify({ violations, ...history }, undefined, 1));
  console.log(`the history is in ${path}`);
  for (const violation of violations.slice(0, 5)) console.log(JSON.stringify(violation));
}
