import { expect } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { etagOf, sha256 } from "../support/blob-stores.ts";
import { eachDatabase, newDatabase } from "../support/node.ts";
import { type Home, newHome, type Server } from "../support/process.ts";
import { hasManyKills, killsOf, randomFrom, repeatedTimeoutMs } from "../support/random.ts";
import { namedBlobs, readStoredTree } from "../support/stored-tree.ts";
import { Sweep } from "../support/sweep.ts";

const kills = killsOf(5);
const files = 120;
const disk = "disk";

/** A stopped server whose files go from one store to the next. */
class Site {
  readonly counts = { kills: 0, cut: 0, moves: 0, copied: 0, resumed: 0 };
  /** SHA-256 of the files by path. */
  #expected: Record<string, string> = {};
  #authorization = "";
  #stores = 0;
  /** A folder of blobs, or `disk`. */
  #store = "";
  #written = 0;

  constructor(
    readonly home: Home,
    readonly databaseUrl: string,
    readonly random: () => number,
  ) {}

  async begin(): Promise<void> {
    await this.#use(await this.#newFolder());
    const server = await this.home.serve();
    this.#authorization = `Basic ${Buffer.from(server.superToken).toString("base64")}`;
    await server.call("static-bucket_create", [server.superToken, "site"]);
    for (const folder of ["", "a/", "a/b/", "c/"])
      if (folder !== "") await this.#dav(server, "MKCOL", folder);
    await this.#change(server, files);
    await server.stop();
  }

  /** One move to another store, with so many kills before it is done. */
  async move(killCount: number): Promise<void> {
    const target = this.#store !== disk && this.random() < 0.5 ? disk : await this.#newFolder();
    const url = target === disk ? disk : `file://${target}`;
    const args = ["migrate", "--files", url, "--delete"];
    for (let kill = 0; kill < killCount; kill += 1) {
      const command = this.home.launch({}, args);
      await this.#copies(command, target);
      command.signal("SIGKILL");
      const { signal } = await command.exited;
      this.counts.kills += 1;
      if (signal === "SIGKILL") this.counts.cut += 1;
      await this.#expectFiles(this.#store);
    }
    const { code, stderr } = await this.home.run(args);
    expect([stderr, code]).toEqual([expect.stringContaining("the SHA-256 of every"), 0]);
    const [, copied, resumed] = /^(\d+) \w+ copied to .*, (\d+) \w+ there already/m.exec(stderr) ?? [];
    this.counts.copied += Number(copied);
    this.counts.resumed += Number(resumed);
    this.counts.moves += 1;
    await this.#expectFiles(this.#store);
    await this.#expectFiles(target);
    await this.#use(target);
    await this.#sweep();
    await this.#serveAndChange();
  }

  /** Waits until the target has new files, from none to a third of all, or the command has ended. */
  async #copies(command: Server, target: string): Promise<void> {
    const folder = target === disk ? this.home.file("static") : join(target, "blobs");
    const before = new Set(versionsIn(folder));
    const wanted = Math.floor((files / 3) * this.random());
    while (command.alive && versionsIn(folder).filter((version) => !before.has(version)).length < wanted)
      await Bun.sleep(1);
  }

  /** A sweep leaves exactly the blobs that are named. Rows of removed files go too, whose blobs are in a store of before. */
  async #sweep(): Promise<void> {
    if (this.#store === disk) return;
    const sweep = new Sweep(this.databaseUrl, this.#store, 0);
    await sweep.begin();
    await sweep.end();
    const tree = await readStoredTree(this.databaseUrl, this.#store);
    expect(tree.blobs).toEqual(namedBlobs(tree));
    expect(tree.lostFolders).toEqual([]);
  }

  async #newFolder(): Promise<string> {
    this.#stores += 1;
    const folder = this.home.file(`blobs-${this.#stores}`);
    await mkdir(folder);
    return folder;
  }

  async #use(store: string): Promise<void> {
    this.#store = store;
    const url = store === disk ? "" : `url = "file://${store}"\n`;
    await this.home.configure({ top: "keep_removed_days = 0\n", files: url }, this.databaseUrl);
  }

  async #serveAndChange(): Promise<void> {
    const server = await this.home.serve();
    for (const [path, hash] of Object.entries(this.#expected)) {
      const response = await fetch(`${server.url}/node/static/site/${path}`, { keepalive: false });
      const etag = this.#store === disk ? "any" : response.headers.get("etag");
      const found = [path, response.status, sha256(await response.bytes()), etag];
      expect(found).toEqual([path, 200, hash, this.#store === disk ? "any" : etagOf(hash)]);
    }
    await this.#change(server, 10);
    await server.stop();
  }

  /** Replaces or adds so many files, and deletes a few. */
  async #change(server: Server, count: number): Promise<void> {
    for (let change = 0; change < count; change += 1) {
      this.#written += 1;
      const folder = ["", "a/", "a/b/", "c/"][this.#written % 4];
      const path = `${folder}f${this.#written % files}`;
      const size = [0, 5, 3000, 60_000, 300_000][Math.floor(this.random() * 5)];
      // A file often has the size that it had before, so that its content alone tells versions apart.
      const body = `${this.#written} `.repeat(300_000).slice(0, size);
      await this.#dav(server, "PUT", path, body);
      this.#expected[path] = sha256(body);
    }
    const [first] = Object.keys(this.#expected);
    if (first === undefined) return;
    await this.#dav(server, "DELETE", first);
    delete this.#expected[first];
  }

  async #dav(server: Server, method: string, path: string, body?: string): Promise<void> {
    const url = `${server.url}/node/static-webdav/site/${path}`;
    const headers = { authorization: this.#authorization };
    const init = { method, headers, keepalive: false, ...(body === undefined ? {} : { body }) };
    const { status } = await fetch(url, init);
    expect([method, path, status]).toEqual([method, path, status === 201 ? 201 : 204]);
  }

  /** All files are in a store, whole, and no others. */
  async #expectFiles(store: string): Promise<void> {
    const found: Record<string, string> = {};
    if (store === disk) {
      const folder = this.home.file("static/site");
      for (const path of readdirSync(folder, { recursive: true }).map(String))
        if (statSync(join(folder, path)).isFile()) found[path] = sha256(readFileSync(join(folder, path)));
    } else {
      const { entries } = await readStoredTree(this.databaseUrl, store);
      for (const [path, file] of entries) {
        if (file === undefined) continue;
        const { blob } = file;
        const content =
          blob === null ? Buffer.alloc(0) : readFileSync(join(store, "blobs", blob.slice(-2), blob));
        expect(sha256(content)).toBe(file.hash);
        found[path.slice("site/".length)] = file.hash;
      }
    }
    expect(found).toEqual(this.#expected);
  }
}

/** A name for each file of a folder as it is now: one that replaces it has another. */
function versionsIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true }).flatMap((path) => {
    const stat = statSync(join(folder, String(path)), { throwIfNoEntry: false });
    return stat?.isFile() ? [`${path} ${stat.ino} ${stat.ctimeMs}`] : [];
  });
}

eachDatabase(
  "kill -9 in migrate --files leaves the source whole, and a repeated run brings every file to the other store",
  async (kind) => {
    const random = randomFrom(`kills of migrate --files on ${kind}`);
    await using home = await newHome();
    const database = await newDatabase(kind, home.path);
    const site = new Site(home, database.url, random);
    await site.begin();
    while (site.counts.kills < kills) await site.move(2);
    await database.drop();
    const { counts } = site;
    console.log(`${kind}: ${JSON.stringify(counts)}`);
    // Otherwise the kills came after the end, and proved nothing.
    if (hasManyKills) expect(Math.min(counts.cut, counts.copied)).toBeGreaterThan(0);
  },
  repeatedTimeoutMs,
);
