import { expect, test } from "bun:test";
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { newPostgresDatabase } from "../support/postgres.ts";
import { type Home, newHome, type Server } from "../support/process.ts";
import { hasManyKills, killsOf, randomFrom, repeatedTimeoutMs } from "../support/random.ts";

const killsEach = killsOf(10);
const operations = ["PUT", "COPY", "MOVE", "DELETE"] as const;
type Operation = (typeof operations)[number];

/** What a place holds: a file's content, a folder's files by name, or nothing. */
type Held = string | Record<string, string> | undefined;

const treeOf = (version: string): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: 100 }, (_, at) => [
      `${at % 10}/${version}-${at}.txt`,
      `${version} ${at} `.repeat(1 + ((at * 37) % 400)),
    ]),
  );

function below(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const found = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => !entry.isDirectory());
  return files.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1)).sort();
}

function held(place: string): Held {
  if (!existsSync(place)) return undefined;
  if (lstatSync(place).isFile()) return readFileSync(place, "utf8");
  return Object.fromEntries(below(place).map((name) => [name, readFileSync(join(place, name), "utf8")]));
}

const info =
  '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>';
const note = (value: number) =>
  `<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><N:note xmlns:N="urn:n">value ${value}.</N:note></D:prop></D:set></D:propertyupdate>`;

class Site {
  kills = 0;
  answers = 0;
  halfway = 0;
  /** Files in the staging folder after a kill. */
  leftovers = 0;
  #authorization = "";
  #lock = "";
  #told = 0;
  #sent = 0;
  /** How long each operation takes when nobody kills it, as far as it is known. */
  readonly #span = new Map<Operation, number>();

  readonly home: Home;
  readonly #random: () => number;

  constructor(home: Home, number: number) {
    this.home = home;
    this.#random = randomFrom(`kills in PUT, COPY, MOVE and DELETE, server ${number}`);
  }

  at(path: string): string {
    return join(this.home.file("static/site"), path);
  }

  dav(server: Server, method: string, path: string, headers: Record<string, string> = {}, body?: string) {
    const url = `${server.url}/node/static-webdav/site${path}`;
    const all = { authorization: this.#authorization, ...headers };
    return fetch(url, { method, headers: all, keepalive: false, ...(body === undefined ? {} : { body }) });
  }

  async begin(server: Server): Promise<void> {
    this.#authorization = `Basic ${Buffer.from(server.superToken).toString("base64")}`;
    await server.call("static-bucket_create", [server.superToken, "site"]);
    const locked = await this.dav(server, "LOCK", "/locked.txt", { timeout: "Second-7200" }, info);
    expect(locked.status).toBe(201);
    this.#lock = locked.headers.get("lock-token") ?? "";
    await this.#describe(server);
  }

  /** Puts both places as they are before an operation, straight on the disk. */
  prepare(from: Held, to: Held): void {
    for (const [name, content] of [
      ["from", from],
      ["to", to],
    ] as const) {
      rmSync(this.at(name), { recursive: true, force: true });
      if (typeof content === "string") writeFileSync(this.at(name), content);
      if (typeof content !== "object") continue;
      for (const [path, text] of Object.entries(content)) {
        mkdirSync(dirname(this.at(`${name}/${path}`)), { recursive: true });
        writeFileSync(this.at(`${name}/${path}`), text);
      }
    }
  }

  start(server: Server, operation: Operation, body: string): Promise<Response> {
    if (operation === "PUT") return this.dav(server, "PUT", "/to", {}, body);
    if (operation === "DELETE") return this.dav(server, "DELETE", "/to");
    return this.dav(server, operation, "/from", { destination: "/node/static-webdav/site/to" });
  }

  /** One operation, a kill at some moment of it, and what is there after the next start. */
  async round(server: Server, operation: Operation): Promise<Server> {
    const number = this.kills;
    const body = `new ${number} `.repeat(200_000);
    const from = operation === "COPY" || operation === "MOVE" ? treeOf(`new${number}`) : undefined;
    const old = operation === "PUT" ? `old ${number} `.repeat(1000) : treeOf(`old${number}`);
    this.prepare(from, old);
    const after: Record<Operation, readonly [from: Held, to: Held]> = {
      PUT: [undefined, body],
      COPY: [from, from],
      MOVE: [undefined, from],
      DELETE: [undefined, undefined],
    };
    const began = performance.now();
    let answered: number | undefined;
    const answer = this.start(server, operation, body).then(
      ({ status }) => {
        answered = status;
        this.#span.set(operation, performance.now() - began);
      },
      () => {},
    );
    const talk = this.#describeOn(server);
    await Bun.sleep(this.#random() * 1.1 * (this.#span.get(operation) ?? 100));
    server.signal("SIGKILL");
    await server.exited;
    await Promise.all([answer, talk]);
    this.kills += 1;
    if (answered === undefined) this.halfway += 1;
    else expect([operation, answered]).toEqual([operation, 204]);
    if (answered === undefined) this.#span.set(operation, (this.#span.get(operation) ?? 100) * 1.1);
    this.leftovers += below(this.home.file("static/~staging")).length;
    const next = await this.home.serve();
    this.examine(operation, answered, [from, old], after[operation]);
    await this.expectKept(next);
    return next;
  }

  /** Both places are as they were or as they should be; once it was answered, as they should be. */
  examine(
    operation: Operation,
    answered: number | undefined,
    before: readonly [Held, Held],
    after: readonly [Held, Held],
  ): void {
    const now = [held(this.at("from")), held(this.at("to"))] as const;
    const same = (place: 0 | 1, then: readonly [Held, Held]) => Bun.deepEquals(now[place], then[place]);
    const story = [before, after].map((then) => [same(0, then), same(1, then)]);
    const right = story[1]?.every(Boolean) || (answered === undefined && story[0]?.every(Boolean));
    if (right !== true) {
      const count = (place: Held) =>
        typeof place === "object" ? `${Object.keys(place).length} files` : `${place?.slice(0, 20)}`;
      throw new Error(
        `kill ${this.kills} in ${operation} (answered ${answered}): from/to as before ${story[0]}, as after ${story[1]}; there are ${now.map(count)}`,
      );
    }
    const strays = below(this.home.file("static")).filter(
      (path) => !/^site\/(from|to|locked\.txt)(\/|$)/.test(path),
    );
    expect(strays).toEqual([]);
  }

  /** The lock binds, and the property has the value that was answered last, or the one that was sent after it. */
  async expectKept(server: Server): Promise<void> {
    const found = await (await this.dav(server, "PROPFIND", "/locked.txt", { depth: "0" })).text();
    const value = Number(/value (\d+)\./.exec(found)?.[1]);
    expect([this.#told, this.#sent]).toContain(value);
    expect(found).toContain(this.#lock.replace(/[<>]/g, ""));
    expect((await this.dav(server, "PUT", "/locked.txt", {}, "x")).status).toBe(423);
    this.#told = this.#sent = value;
  }

  async #describe(server: Server): Promise<void> {
    this.#sent = this.#told + 1;
    const answer = await this.dav(
      server,
      "PROPPATCH",
      "/locked.txt",
      { if: `(${this.#lock})` },
      note(this.#sent),
    );
    const text = await answer.text();
    if (answer.status !== 207 || !text.includes(" 200 "))
      throw new Error(`PROPPATCH: ${answer.status} ${text}`);
    this.#told = this.#sent;
    this.answers += 1;
  }

  /** The database is written to all the time, until the server is gone. */
  async #describeOn(server: Server): Promise<void> {
    try {
      while (server.alive) await this.#describe(server);
    } catch (error) {
      if (String(error).includes("PROPPATCH")) throw error;
    }
  }
}

test(
  "kills in PUT, COPY, MOVE and DELETE leave the old or the new, whole, no strays after the next start, and locks and properties as they were answered",
  async () => {
    await using database = {
      ...(await newPostgresDatabase()),
      [Symbol.asyncDispose]: async () => database.drop(),
    };
    const sites = await Promise.all(
      [undefined, undefined, undefined, database.url].map(async (url, at) => {
        await using home = await newHome({}, url);
        const site = new Site(home, at + 1);
        let server = await home.serve();
        await site.begin(server);
        for (let kill = 0; kill < killsEach; kill += 1) {
          server = await site.round(server, operations[(kill + at) % operations.length] ?? "PUT");
          expect((await site.dav(server, "PUT", "/to/x", {}, "x")).status).toBeOneOf([201, 409]);
        }
        await server.stop();
        return site;
      }),
    );
    const sum = (count: (site: Site) => number) => sites.reduce((total, site) => total + count(site), 0);
    const [kills, halfway, leftovers] = [
      sum((site) => site.kills),
      sum((site) => site.halfway),
      sum((site) => site.leftovers),
    ];
    console.log(`${kills} kills: ${halfway} before the answer, ${leftovers} files left for the next start`);
    expect(kills).toBe(sites.length * killsEach);
    // Otherwise the kills struck when nothing was going on, and proved nothing.
    const answers = sum((site) => site.answers);
    if (hasManyKills) expect(Math.min(halfway, leftovers, answers)).toBeGreaterThan(kills / 5);
  },
  repeatedTimeoutMs,
);
