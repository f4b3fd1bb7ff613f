import { expect } from "bun:test";
import { resolve } from "node:path";
import { sweep } from "../../src/buckets/maintenance/sweep.ts";
import { never } from "../support/blob-stores.ts";
import { eachDatabase } from "../support/node.ts";
import {
  fileValue,
  folderValue,
  type ObjectRows,
  objectRows,
  oldBlob,
  storedKeys,
} from "../support/object-rows.ts";
import { hasManyKills, killsOf, randomFrom, repeatedTimeoutMs } from "../support/random.ts";

const kills = killsOf(10);
const program = resolve(import.meta.dir, "../support/sweep-process.ts");
const firstSpanMs = 150;

/** What must be there after every kill, and what must be gone after the last sweep. */
class Storm {
  readonly store: ObjectRows;
  readonly #kept: string[] = [];
  readonly #doomed: string[] = [];
  #round = 0;
  /** How long a sweep takes that nobody kills, as far as it is known. */
  #spanMs = firstSpanMs;
  cut = 0;

  constructor(store: ObjectRows) {
    this.store = store;
  }

  /** Files that are there, versions that are kept, and what a sweep has to delete. */
  async prepare(): Promise<void> {
    const { store } = this;
    this.#round += 1;
    const round = this.#round;
    const [past, future] = [Date.now() - 60_000, Date.now() + 3600_000];
    const keep = async (text: string) => {
      const file = await oldBlob(store.folder, text);
      this.#kept.push(String(file.blob));
      return file;
    };
    await store.entry("root", `live${round}`, await keep(`live ${round}`));
    await store.removed("site", `${round}/kept`, { entry: await keep(`kept ${round}`), until: future });
    const keptFolder = folderValue();
    await store.entry(keptFolder.id, "member", await keep(`member ${round}`));
    await store.removed("site", `${round}/folder`, { entry: keptFolder, until: future });
    for (let at = 0; at < 10; at += 1) await oldBlob(store.folder, `orphan ${round} ${at}`);
    const [top, inner] = [folderValue(), folderValue()];
    this.#doomed.push(top.id, inner.id);
    for (let at = 0; at < 15; at += 1) {
      await store.entry(top.id, `f${at}`, fileValue(null, ""));
      await store.entry(inner.id, `f${at}`, await oldBlob(store.folder, `doomed ${round} ${at}`));
    }
    await store.entry(top.id, "inner", inner);
    await store.removed("site", `${round}/top`, { entry: top, until: past });
    await store.removed("site", `${round}/old`, {
      entry: await oldBlob(store.folder, `old ${round}`),
      until: past,
    });
  }

  async strike(random: () => number): Promise<void> {
    const child = Bun.spawn([process.execPath, program, this.store.databaseUrl, this.store.folder], {
      stdout: "pipe",
      stderr: "pipe",
    });
    await child.stdout.getReader().read();
    const began = performance.now();
    await Promise.race([child.exited, Bun.sleep(random() * 1.2 * this.#spanMs)]);
    const wasRunning = child.exitCode === null;
    child.kill("SIGKILL");
    await child.exited;
    if (wasRunning) this.cut += 1;
    else if (child.exitCode !== 0) throw new Error(await child.stderr.text());
    this.#spanMs = wasRunning ? this.#spanMs * 1.1 : performance.now() - began;
  }

  async expectKept(): Promise<void> {
    const { store } = this;
    const stored = new Set(await storedKeys(store.folder));
    expect(this.#kept.filter((key) => !stored.has(key))).toEqual([]);
    const rounds = Array.from({ length: this.#round }, (_, at) => at + 1);
    expect(await store.names("root")).toEqual(rounds.map((round) => `live${round}`).sort());
    const removed = new Set(await store.removedKeys("site"));
    for (const round of rounds)
      for (const name of ["kept", "folder"])
        expect([round, removed.has(`${round}/${name}`)]).toEqual([round, true]);
  }

  async expectSwept(): Promise<void> {
    const { store } = this;
    expect(await storedKeys(store.folder)).toEqual(this.#kept.toSorted());
    for (const id of this.#doomed) expect(await store.names(id)).toEqual([]);
    expect(await store.removedKeys("site")).toHaveLength(2 * this.#round);
  }
}

eachDatabase(
  "a sweep that is killed at any moment loses nothing, and the next one leaves exactly what is named",
  async (kind) => {
    const random = randomFrom(`kills in a sweep, ${kind}`);
    await using store = await objectRows(kind);
    await store.head("site", "root");
    const storm = new Storm(store);
    for (let kill = 0; kill < kills; kill += 1) {
      await storm.prepare();
      await storm.strike(random);
      await storm.expectKept();
    }
    await sweep({ rows: store.database.removed, blobs: store.blobs, signal: never });
    await storm.expectSwept();
    console.log(`${kind}: ${kills} sweeps, ${storm.cut} cut short`);
    // Otherwise the kills struck when nothing was going on, and proved nothing.
    if (hasManyKills) expect(storm.cut).toBeGreaterThan(kills / 4);
  },
  repeatedTimeoutMs,
);
