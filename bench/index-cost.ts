// Measures what the indexes of the object store's rows cost a commit: processor time of this process and of PostgreSQL, with and
// without them, in turns. Run it with `npx bun bench/index-cost.ts`; docs/decisions/0025-rows-by-content.md has the figures.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import { type Database, openDatabase } from "../src/db/database.ts";
import { entryRow, removedRow, type TreeRow } from "../src/db/rows/entry-rows.ts";
import type { FileValue } from "../src/db/rows/entry-values.ts";
import { LogHub } from "../src/log/hub.ts";
import { settingsFor } from "../test/support/database-settings.ts";
import { administrate, stoppablePostgres } from "../test/support/postgres.ts";
import { closeShared } from "../test/support/test-run.ts";
import { median } from "./figures.ts";
import { cpuSeconds } from "./proc.ts";

const rows = Number(process.env.ROWS ?? 100_000);
/** Short turns, so that whatever else the machine does falls on both sides. */
const rounds = Number(process.env.ROUNDS ?? 200);
const commits = 50;
const indexes = ["idx_kv_blob", "idx_kv_folder"];
const folder = "01990000-0000-7000-8000-000000000000";
const bucket = "bench";

function fileValue(version: number): FileValue {
  const at = Date.now();
  const hash = Bun.SHA256.hash(String(version), "hex");
  return { blob: Bun.randomUUIDv7(), hash, size: version, modified: at, created: at, version };
}

/** What one commit writes beside the head of the bucket. */
const jobs: Readonly<Record<string, (version: number, name: string) => TreeRow[]>> = {
  "a new file": (version) => [entryRow(folder, `new-${version}`, fileValue(version))],
  "a file replaced": (version, name) => [
    entryRow(folder, name, fileValue(version)),
    removedRow(bucket, version, { path: name, entry: fileValue(version), at: Date.now(), until: Date.now() }),
  ],
  "the head alone": () => [],
};

class Side {
  readonly #database: Database;
  #version = 0;

  private constructor(database: Database) {
    this.#database = database;
  }

  static async open(url: string, hasIndexes: boolean): Promise<Side> {
    const database = await openDatabase(settingsFor(url), new LogHub(), { create: true });
    if (!hasIndexes) {
      await using sql = new SQL(url.replace(/\?.*/, ""), { max: 1 });
      for (const index of indexes) await sql.unsafe(`DROP INDEX IF EXISTS ${index}`);
    }
    const side = new Side(database);
    await database.transact((transaction) => database.heads.create(bucket, transaction));
    for (let at = 0; at < rows; at += 5000) {
      const some = Array.from({ length: 5000 }, (_, n) => entryRow(folder, `${at + n}`, fileValue(at + n)));
      await database.transact((transaction) => database.entries.within(transaction).write(some));
    }
    return side;
  }

  async run(job: (version: number, name: string) => TreeRow[]): Promise<void> {
    const { heads, entries } = this.#database;
    for (let done = 0; done < commits; done += 1) {
      this.#version += 1;
      const version = this.#version;
      await this.#database.transact(async (transaction) => {
        const { head, nowMs } = await heads.lock(bucket, transaction);
        if (head === undefined) throw new Error("the bucket has no head");
        const written = job(version, String((version * 7919) % rows));
        if (written.length > 0) await entries.within(transaction).write(written);
        await heads.write(bucket, { ...head, version, at: nowMs }, transaction);
      });
    }
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}

async function measure(name: string, urls: readonly [string, string], seconds: () => number): Promise<void> {
  const sides = [await Side.open(urls[0], false), await Side.open(urls[1], true)];
  for (const [job, write] of Object.entries(jobs)) {
    const costs: number[][] = [[], []];
    for (let round = -4; round < rounds; round += 1)
      for (const at of round % 2 === 0 ? [0, 1] : [1, 0]) {
        const before = seconds();
        await sides[at]?.run(write);
        // The first rounds fill caches.
        if (round >= 0) costs[at]?.push(((seconds() - before) / commits) * 1e6);
      }
    const [without, withThem] = costs.map((some) => median(some));
    console.log(
      `${name}, ${job}: ${without?.toFixed(1)} µs without, ${withThem?.toFixed(1)} µs with the indexes`,
    );
  }
  for (const side of sides) await side.close();
}

const temporary = await mkdtemp(join(tmpdir(), "index-cost-"));
const own = () => process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6;
const sqlite = (name: string) => `sqlite://${join(temporary, name)}?mode=rwc`;
await measure("SQLite", [sqlite("a.db"), sqlite("b.db")], own);
{
  await using postgres = await stoppablePostgres();
  const server = postgres.url.replace(/\/node$/, "");
  for (const name of ["a", "b"]) await administrate(server, `CREATE DATABASE ${name}`);
  await measure("PostgreSQL", [`${server}/a`, `${server}/b`], () => own() + cpuSeconds(postgres.pid));
}
await rm(temporary, { recursive: true });
await closeShared();
