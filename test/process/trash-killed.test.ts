import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { type Home, newHome, type Server } from "../support/process.ts";
import { hasManyKills, killsOf, randomFrom, repeatedTimeoutMs } from "../support/random.ts";
import { until } from "../support/until.ts";

const kills = killsOf(12);
const longestRunMs = 120;

/** The contents of all files below a folder. */
function contentsBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"));
}

class Site {
  /** Every content whose upload was answered. */
  readonly answered = new Set<string>();
  /** Answers that were neither 201 nor 204. */
  readonly refused: string[] = [];
  changes = 0;
  /** Changes that a kill has cut short. */
  cut = 0;
  #number = 0;
  #token = "";

  constructor(
    readonly home: Home,
    readonly random: () => number,
  ) {}

  get trash(): string {
    return this.home.file("static/~trash/site/~30");
  }

  async begin(server: Server): Promise<void> {
    this.#token = server.superToken;
    await server.call("static-bucket_create", [this.#token, "site"]);
  }

  async #dav(server: Server, method: string, path: string, more: RequestInit = {}): Promise<void> {
    const authorization = `Basic ${Buffer.from(this.#token).toString("base64")}`;
    const headers = { authorization, destination: "/node/static-webdav/site/folder" };
    const url = `${server.url}/node/static-webdav/site/${path}`;
    this.cut += 1;
    const { status } = await fetch(url, { method, headers, keepalive: false, ...more });
    this.cut -= 1;
    if (![201, 204].includes(status)) this.refused.push(`${method} ${path}: ${status}`);
    this.changes += 1;
  }

  async #put(server: Server, path: string): Promise<void> {
    this.#number += 1;
    const body = `content ${this.#number}.`.repeat(100);
    await this.#dav(server, "PUT", path, { body });
    this.answered.add(body);
  }

  async history(server: Server): Promise<Array<{ path: string; version: number }>> {
    const params = { token: this.#token, name: "site", files_only: true, limit: 10_000 };
    return (await server.call("static-bucket-file_history", params)) as Array<{
      path: string;
      version: number;
    }>;
  }

  purge(server: Server): Promise<unknown> {
    return server.call("static-bucket-file_purge", { token: this.#token, name: "site" });
  }

  /** Replaces and deletes files and folders, and restores some, until the server is gone. */
  async storm(server: Server): Promise<void> {
    const files = async (path: string) => {
      while (server.alive) {
        await this.#put(server, path);
        if (this.random() < 0.4) await this.#dav(server, "DELETE", path);
      }
    };
    const folders = async () => {
      while (server.alive) {
        const from = `from-${this.#number}`;
        await this.#dav(server, "MKCOL", from);
        await this.#put(server, `${from}/file.txt`);
        await this.#dav(server, "MOVE", from);
        if (this.random() < 0.3) await this.#dav(server, "DELETE", "folder");
      }
    };
    const restores = async () => {
      while (server.alive) {
        const versions = await this.history(server);
        const { path, version } = versions[Math.floor(this.random() * versions.length)] ?? {};
        const to = this.random() < 0.5 ? "one.txt" : `restored/${this.#number}.txt`;
        const params = { token: this.#token, name: "site", path, version, to };
        if (path !== undefined) await server.send("static-bucket-file_restore", params);
      }
    };
    await Promise.allSettled([files("one.txt"), files("two.txt"), folders(), restores()]);
  }

  /** Nothing that was answered is lost: it is in the bucket or in the trash, and whole. */
  examine(): void {
    const found = new Set(
      [this.home.file("static/site"), this.home.file("static/~trash")].flatMap(contentsBelow),
    );
    expect(
      [...this.answered].filter((content) => !found.has(content)).map((text) => text.slice(0, 20)),
    ).toEqual([]);
    const whole = /^(content \d+\.)\1{99}$/;
    expect([...found].filter((content) => !whole.test(content))).toEqual([]);
  }
}

test(
  "kills in a storm of deletions, replacements and restores leave every file in the bucket or in the trash",
  async () => {
    await using home = await newHome({ top: "keep_removed_days = 30\n" });
    const site = new Site(home, randomFrom("kills with a trash"));
    let server = await home.serve();
    await site.begin(server);
    let halfway = 0;
    for (let kill = 1; kill <= kills; kill += 1) {
      const before = site.changes;
      site.cut = 0;
      const storm = site.storm(server);
      await until("something is changed", () => site.changes > before);
      await Bun.sleep(site.random() * longestRunMs);
      server.signal("SIGKILL");
      await server.exited;
      await storm;
      expect(site.refused).toEqual([]);
      halfway += Math.min(1, site.cut);
      site.examine();
      server = await home.serve();
      site.examine();
      expect(await site.history(server)).toHaveLength(contentsBelow(site.trash).length);
      expect(contentsBelow(home.file("static/~staging"))).toEqual([]);
    }
    console.log(
      `${kills} kills, ${halfway} in the middle of a change: ${site.changes} changes, ${site.answered.size} contents all found`,
    );
    if (hasManyKills) expect(halfway).toBeGreaterThan(kills / 4);
    await server.stop();
    const [oldest = "", ...others] = readdirSync(site.trash).sort();
    const expired = `${Date.now() - 31 * 24 * 3600 * 1000}~expired`;
    renameSync(join(site.trash, oldest), join(site.trash, expired));
    server = await home.serve();
    await until("the start purges what has expired", () => !readdirSync(site.trash).includes(expired));
    expect(readdirSync(site.trash).sort()).toEqual(others);
    await site.purge(server);
    expect(readdirSync(site.trash)).toEqual([]);
    await server.stop();
  },
  repeatedTimeoutMs,
);
