import { expect } from "bun:test";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { etagOf, sha256 } from "../support/blob-stores.ts";
import { eachDatabase, newDatabase } from "../support/node.ts";
import { type Home, newHome, type Server } from "../support/process.ts";
import { hasManyKills, killsOf, randomFrom, repeatedTimeoutMs } from "../support/random.ts";
import { namedBlobs, readStoredTree, type StoredTree } from "../support/stored-tree.ts";
import { StormClient } from "../support/storm-client.ts";
import { Sweep } from "../support/sweep.ts";
import { until } from "../support/until.ts";

const kills = killsOf(10);
const clientCount = 4;
const longestRunMs = 300;
/** Blobs without a name that wait for a sweep, so that a kill can strike in the middle of it. */
const plantedOrphans = 300;
/** No upload of these stories takes so long, so a sweep beside the server may delete what is older. */
const safeAgeMs = 30_000;

class Site {
  readonly folder: string;
  readonly counts = { kills: 0, answers: 0, cut: 0, done: 0, orphansLeft: 0, deleted: 0, halfSwept: 0 };
  clients: StormClient[] = [];
  #sweepMs = 100;

  constructor(
    readonly home: Home,
    readonly databaseUrl: string,
    readonly random: () => number,
  ) {
    this.folder = home.file("blobs");
  }

  /** Starts the server. What it removes from now on is kept for a week, or not at all. */
  async serve(): Promise<Server> {
    const keep = this.random() < 0.5 ? 0 : 7;
    await this.home.configure(
      { top: `keep_removed_days = ${keep}\n`, files: `url = "file://${this.folder}"\n` },
      this.databaseUrl,
    );
    return this.home.serve();
  }

  async begin(server: Server): Promise<void> {
    await server.call("static-bucket_create", [server.superToken, "site"]);
    const authorization = `Basic ${Buffer.from(server.superToken).toString("base64")}`;
    this.clients = Array.from(
      { length: clientCount },
      (_, at) => new StormClient(`c${at}`, authorization, this.random),
    );
    for (const client of this.clients) await client.begin(server);
  }

  /** Changes from all clients, and a kill in them; with `sweep` both processes are killed. */
  async killStorm(server: Server, sweep?: Sweep): Promise<void> {
    const answers = () => this.clients.reduce((sum, client) => sum + client.answers, 0);
    await sweep?.begin();
    const before = answers();
    const storm = Promise.all(this.clients.map((client) => client.run(server)));
    // Half of the kills strike a server that has just started, half one that is in full swing.
    if (this.random() < 0.5) await until("a change is answered", () => answers() > before);
    await Bun.sleep(this.random() * longestRunMs);
    server.signal("SIGKILL");
    await sweep?.kill();
    await server.exited;
    await storm;
    this.counts.kills += 1;
    this.counts.answers += answers() - before;
    this.counts.cut += this.clients.filter(({ pending }) => pending !== undefined).length;
  }

  async killSweep(): Promise<void> {
    await this.#plantOrphans();
    const { length } = (await this.read()).blobs;
    const sweep = this.sweep(0);
    await sweep.begin();
    await Bun.sleep(this.random() * this.#sweepMs);
    await sweep.kill();
    this.counts.kills += 1;
    const left = (await this.read()).blobs.length;
    this.counts.deleted += length - left;
    if (left < length && left > namedBlobs(await this.read()).length) this.counts.halfSwept += 1;
  }

  async #plantOrphans(): Promise<void> {
    for (let at = 0; at < plantedOrphans; at += 1) {
      const key = Bun.randomUUIDv7();
      const shard = join(this.folder, "blobs", key.slice(-2));
      await mkdir(shard, { recursive: true });
      await writeFile(join(shard, key), "orphan");
    }
  }

  sweep(minAgeMs: number): Sweep {
    return new Sweep(this.databaseUrl, this.folder, minAgeMs);
  }

  read(): Promise<StoredTree> {
    return readStoredTree(this.databaseUrl, this.folder);
  }

  /** Everything that was answered is there, and everything that is named is whole. */
  async examine(): Promise<void> {
    const tree = await this.read();
    for (const client of this.clients) if (client.examine(tree)) this.counts.done += 1;
    expect(tree.lostFolders).toEqual([]);
    const stored = new Set(tree.blobs);
    for (const { blob, hash, size } of tree.named) {
      if (blob === null) continue;
      if (!stored.has(blob)) throw new Error(`kill ${this.counts.kills}: blob ${blob} is missing`);
      const content = await readFile(join(this.folder, "blobs", blob.slice(-2), blob));
      expect([blob, content.length, sha256(content)]).toEqual([blob, size, hash]);
    }
    this.counts.orphansLeft += tree.blobs.length - namedBlobs(tree).length;
  }

  /** A sweep that nobody kills leaves exactly the blobs that are named. */
  async sweepAll(): Promise<void> {
    const { length } = (await this.read()).blobs;
    const sweep = this.sweep(0);
    await sweep.begin();
    this.#sweepMs = (await sweep.end()) * 1.1;
    const tree = await this.read();
    this.counts.deleted += length - tree.blobs.length;
    expect(tree.blobs).toEqual(namedBlobs(tree));
    expect(tree.lostFolders).toEqual([]);
  }

  /** Every file is served whole: the hash of its content is its ETag. */
  async expectServed(server: Server): Promise<void> {
    for (const { name, folders } of this.clients)
      for (const [folder, files] of Object.entries(folders))
        for (const [file, hash] of Object.entries(files)) {
          const url = `${server.url}/node/static/site/${name}/${folder}/${file}`;
          const response = await fetch(url, { keepalive: false });
          const { status, headers } = response;
          const found = [status, headers.get("etag"), sha256(await response.bytes())];
          expect([url, ...found]).toEqual([url, 200, etagOf(hash), hash]);
        }
  }
}

eachDatabase(
  "kill -9 in a storm of PUT, COPY, MOVE and DELETE and in sweeps loses nothing that was answered, tears no file, and a sweep leaves exactly the named blobs",
  async (kind) => {
    const random = randomFrom(`kills of an object store on ${kind}`);
    await using home = await newHome();
    const database = await newDatabase(kind, home.path);
    const site = new Site(home, database.url, random);
    await mkdir(site.folder);
    let server = await site.serve();
    await site.begin(server);
    while (site.counts.kills < kills) {
      await site.killStorm(server);
      await site.examine();
      if (site.counts.kills % 2 === 0) {
        await site.killSweep();
        await site.examine();
        await site.sweepAll();
      }
      server = await site.serve();
      await site.expectServed(server);
      if (site.counts.kills % 4 !== 1) continue;
      await site.killStorm(server, site.sweep(safeAgeMs));
      await site.examine();
      server = await site.serve();
    }
    server.signal("SIGKILL");
    await server.exited;
    await site.sweepAll();
    await site.examine();
    await database.drop();
    const { counts } = site;
    console.log(`${kind}: ${JSON.stringify(counts)}`);
    // Otherwise the kills struck when nothing was going on, and proved nothing.
    if (hasManyKills)
      expect(Math.min(counts.answers, counts.cut, counts.deleted)).toBeGreaterThan(kills / 10);
  },
  repeatedTimeoutMs,
);
