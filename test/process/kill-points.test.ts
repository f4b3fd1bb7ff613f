import { beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type DeployRecord, wantedFiles } from "../support/deploys.ts";
import { Gate, gatedProgram } from "../support/gate.ts";
import { type DatabaseKind, eachDatabase, newDatabase } from "../support/node.ts";
import { Home, hello, newHome, type Server } from "../support/process.ts";
import { within } from "../support/until.ts";

// Each operation is killed before every call with which it changes the disk or commits: at the first one, at the second one, until it
// comes to its end without a kill. Random moments, in storms of many operations, are in `*-killed.test.ts`.

/** A story has as many starts of the server as there are calls. */
const manyStartsMs = 120_000;

let binary = "";
beforeAll(async () => {
  binary = await gatedProgram();
  // The server is compiled once more.
}, 60_000);

const stores = ["disk", "disk with a trash", "objects"] as const;
type Store = (typeof stores)[number];

/** Contents of files by path; 404 is the status of a missing one. */
type Contents = Readonly<Record<string, string | 404>>;

const before: Contents = {
  "from/a.txt": "from a",
  "from/b.txt": "from b",
  "to/a.txt": "to a",
  "to/c.txt": "to c",
  "new.txt": 404,
  "to/b.txt": 404,
};

/** A server with a gate and the bucket `site`. It is started again after each kill. */
class Site implements AsyncDisposable {
  #authorization = "";
  token = "";

  private constructor(
    readonly home: Home,
    readonly gate: Gate,
    readonly store: Store,
    public server: Server,
  ) {}

  static async open(store: Store): Promise<Site> {
    const home = await newHome({ top: store === "disk with a trash" ? "keep_removed_days = 30\n" : "" });
    await mkdir(home.file("blobs"));
    if (store === "objects") await home.configure({ files: `url = "file://${home.file("blobs")}"\n` });
    const gate = await Gate.open(home.path);
    const server = await home.serve({ binary, env: gate.env });
    const site = new Site(home, gate, store, server);
    site.token = server.superToken;
    site.#authorization = `Basic ${Buffer.from(site.token).toString("base64")}`;
    await site.call("static-bucket_create");
    return site;
  }

  call(method: string, params: object = {}): Promise<unknown> {
    return this.server.call(method, { token: this.token, name: "site", ...params });
  }

  /** A request of WebDAV that must succeed. */
  async dav(method: string, path: string, init: RequestInit = {}): Promise<void> {
    const headers = { authorization: this.#authorization, ...(init.headers as Record<string, string>) };
    const url = `${this.server.url}/node/static-webdav/${path}`;
    const { status } = await fetch(url, { method, keepalive: false, ...init, headers });
    if (status >= 300) throw new Error(`${method} ${path} was answered with ${status}`);
  }

  put(path: string, body: string): Promise<void> {
    return this.dav("PUT", path, { body });
  }

  /** Puts the files as they are before an operation. */
  async prepare(): Promise<void> {
    for (const folder of ["from", "to", "new.txt"])
      await this.dav("DELETE", `site/${folder}`).catch(() => {});
    for (const folder of ["from", "to"]) await this.dav("MKCOL", `site/${folder}`);
    for (const [path, content] of Object.entries(before))
      if (content !== 404) await this.put(`site/${path}`, content);
  }

  async contents(paths: readonly string[]): Promise<Contents> {
    const found: Record<string, string | 404> = {};
    for (const path of paths) {
      const response = await fetch(`${this.server.url}/node/static/site/${path}`, { keepalive: false });
      found[path] = response.status === 404 ? 404 : await response.text();
    }
    return found;
  }

  /**
   * Runs `act` once, so that folders that are made once are there, and then again and again, killed before its first call, before its second one and so on, and at last to its end. After each kill
   * the server starts again, and `examine` is told whether `act` was answered. Returns the calls before which it was killed.
   */
  async killAtEachCall(
    act: () => Promise<unknown>,
    {
      prepare,
      examine,
    }: { prepare: () => Promise<void>; examine: (isDone: boolean, at: string) => Promise<void> },
  ): Promise<string[]> {
    const struck: string[] = [];
    await prepare();
    await act();
    for (;;) {
      await prepare();
      // A folder of blobs is made for the first blob in it, whose name is random. An empty folder is not a state that differs.
      this.gate.close(struck.length + 1, ["mkdir"]);
      const isDone = await act().then(
        () => true,
        () => false,
      );
      const isAlive =
        isDone && (await this.server.call("node-server_hello").catch(() => undefined)) === hello;
      if (!isAlive) await within("the server is killed", this.server.exited);
      const passed = this.gate.open();
      if (isAlive) {
        await examine(true, "the end");
        return struck;
      }
      const call = passed.at(-1) ?? "";
      struck.push(call);
      this.server = await this.home.serve({ binary, env: this.gate.env });
      await examine(isDone, `call ${struck.length}, ${call}`);
      this.expectNoStrays();
    }
  }

  /** After a start nothing is left of an operation that was cut short, except for blobs, which a sweep deletes. */
  expectNoStrays(): void {
    expect(filesBelow(this.home.file("static/~staging"))).toEqual([]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]();
  }
}

function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

const destination = { headers: { destination: "/node/static-webdav/site/to" } };

/** Operation is what a client asks for, and what changes with it. */
interface Operation {
  readonly act: (site: Site) => Promise<unknown>;
  readonly after: Contents;
  /** Where it differs from the others; everywhere if nothing is named. */
  readonly on?: readonly Store[];
}

const operations: Readonly<Record<string, Operation>> = {
  "a PUT": {
    act: (site) => site.put("site/to/a.txt", "new"),
    after: { "to/a.txt": "new" },
  },
  "a PUT of a new file": {
    act: (site) => site.put("site/new.txt", "new"),
    after: { "new.txt": "new" },
    on: ["disk", "objects"],
  },
  "an upload by RPC": {
    act: (site) => site.call("static-bucket-file_upload", { path: "to/a.txt", body: "new" }),
    after: { "to/a.txt": "new" },
    on: ["disk"],
  },
  "a COPY over a folder": {
    act: (site) => site.dav("COPY", "site/from", destination),
    after: { "to/a.txt": "from a", "to/b.txt": "from b", "to/c.txt": 404 },
  },
  "a MOVE over a folder": {
    act: (site) => site.dav("MOVE", "site/from", destination),
    after: {
      "from/a.txt": 404,
      "from/b.txt": 404,
      "to/a.txt": "from a",
      "to/b.txt": "from b",
      "to/c.txt": 404,
    },
  },
  "a DELETE of a folder": {
    act: (site) => site.dav("DELETE", "site/to"),
    after: { "to/a.txt": 404, "to/c.txt": 404 },
  },
};

for (const store of stores)
  for (const [name, { act, after, on = stores }] of Object.entries(operations))
    if (on.includes(store))
      test.concurrent(
        `${name} that is killed before any of its calls leaves the old or the new, whole (${store})`,
        async () => {
          await using site = await Site.open(store);
          const done = { ...before, ...after };
          const struck = await site.killAtEachCall(() => act(site), {
            prepare: () => site.prepare(),
            async examine(isDone, at) {
              const found = await site.contents(Object.keys(before));
              const isOld = !isDone && Bun.deepEquals(found, before);
              expect({ at, found: isOld ? done : found }).toEqual({ at, found: done });
              if (store !== "disk with a trash") return;
              const kept = filesBelow(site.home.file("static")).map((path) => readFileSync(path, "utf8"));
              expect(kept).toEqual(expect.arrayContaining(["to a", "to c"]));
            },
          });
          console.log(`${name}, ${store}: killed before ${struck.join(", ")}`);
          expect(struck).toContain(store === "objects" ? "COMMIT" : "rename");
        },
        manyStartsMs,
      );

/** Four files are one group, and enough for a store of rows to read and write them together. */
const manyPaths = ["from/a.txt", "from/b.txt", "to/a.txt", "to/c.txt"];
const manyPairs = manyPaths.map((from) => ({ from, to: `new/${from}` }));
interface Many {
  readonly params: (versions: readonly object[]) => object;
  /** What a file and its copy may be, for each whether the call was done. */
  readonly allowed: (
    content: string,
  ) => Readonly<Record<"old" | "new", readonly [string | 404, string | 404]>>;
}

const manyCalls: Readonly<Record<string, Many>> = {
  delete: {
    params: () => ({ paths: manyPaths }),
    allowed: (content) => ({ old: [content, 404], new: [404, 404] }),
  },
  restore: {
    params: (versions) => ({ versions }),
    allowed: (content) => ({ old: [404, 404], new: [content, 404] }),
  },
  move: {
    params: () => ({ moves: manyPairs }),
    allowed: (content) => ({ old: [content, 404], new: [404, content] }),
  },
  copy: {
    params: () => ({ copies: manyPairs }),
    allowed: (content) => ({ old: [content, 404], new: [content, content] }),
  },
};

for (const store of ["disk with a trash", "objects"] as const)
  for (const [verb, { params, allowed }] of Object.entries(manyCalls))
    test.concurrent(
      `a call to ${verb} many files that is killed before any of its calls leaves each file whole (${store})`,
      async () => {
        await using site = await Site.open(store);
        let versions: readonly object[] = [];
        const struck = await site.killAtEachCall(
          () => site.call(`static-bucket-file_${verb}_many`, params(versions)),
          {
            async prepare() {
              await site.dav("DELETE", "site/new").catch(() => {});
              await site.prepare();
              if (verb !== "restore") return;
              const removed = await site.call("static-bucket-file_delete_many", { paths: manyPaths });
              ({ versions } = removed as { versions: readonly object[] });
              expect(versions).toHaveLength(manyPaths.length);
            },
            async examine(isDone, at) {
              const found = await site.contents(manyPairs.flatMap(({ from, to }) => [from, to]));
              const states = manyPairs.map(({ from, to }) => {
                const { old, new: done } = allowed(String(before[from]));
                const now = [found[from], found[to]];
                return Bun.deepEquals(now, done) ? "new" : Bun.deepEquals(now, old) ? "old" : now;
              });
              // Of rows, a group is one transaction.
              const all = isDone || store === "objects" ? [isDone ? "new" : states[0]] : ["old", "new"];
              expect({ at, isDone, states, wrong: states.filter((state) => !all.includes(state)) }).toEqual({
                at,
                isDone,
                states,
                wrong: [],
              });
              if (store === "objects") return;
              const kept = filesBelow(site.home.file("static")).map((path) => readFileSync(path, "utf8"));
              expect(kept).toEqual(expect.arrayContaining(manyPaths.map((path) => String(before[path]))));
            },
          },
        );
        console.log(`many files, ${verb}, ${store}: killed before ${struck.join(", ")}`);
        if (store === "objects") expect(struck).toContain("COMMIT");
      },
      manyStartsMs,
    );

for (const store of ["disk", "objects"] as const)
  test.concurrent(
    `a publication that is killed before any of its calls leaves one version or the other (${store})`,
    async () => {
      await using site = await Site.open(store);
      const deploys: string[] = [];
      for (const version of ["one", "two"]) {
        const files = { "index.html": `page ${version}`, [`only-${version}.txt`]: version };
        const { deploy } = (await site.call("static-bucket_deploy_begin", { note: version })) as DeployRecord;
        await site.call("static-bucket_deploy_add", { deploy, files: wantedFiles(files) });
        for (const [path, content] of Object.entries(files))
          await site.put(`site@${deploy}/${path}`, content);
        await site.call("static-bucket_deploy_publish", { deploy });
        deploys.push(deploy);
      }
      const publish = (deploy?: string) => site.call("static-bucket_deploy_rollback", { deploy });
      const one: Contents = { "index.html": "page one", "only-one.txt": "one", "only-two.txt": 404 };
      const two: Contents = { "index.html": "page two", "only-one.txt": 404, "only-two.txt": "two" };
      const struck = await site.killAtEachCall(() => publish(deploys[1]), {
        prepare: async () => void (await publish(deploys[0])),
        async examine(isDone, at) {
          const found = await site.contents(Object.keys(one));
          const isOld = !isDone && Bun.deepEquals(found, one);
          expect({ at, found: isOld ? two : found }).toEqual({ at, found: two });
          const list = (await site.call("static-bucket_deploy_list")) as DeployRecord[];
          const published = list.filter(({ state }) => state === "published").map(({ note }) => note);
          expect({ at, published }).toEqual({ at, published: [isOld ? "one" : "two"] });
        },
      });
      console.log(`a publication, ${store}: killed before ${struck.join(", ")}`);
      expect(struck).toContain(store === "objects" ? "COMMIT" : "exchange");
    },
    manyStartsMs,
  );

/** A start makes about 24 calls. Each database is struck at every third of them, so at both sides of a COMMIT by turns. */
const [firstKillAt, step] = [{ sqlite: 1, postgres: 2 }, 3];

eachDatabase(
  "a first start that is killed before any of its calls leaves what the next start can use",
  async (kind) => {
    const struck: string[] = [];
    for (let killAt = firstKillAt[kind]; ; killAt += step) {
      await using home = await Home.open();
      await using database = await droppedDatabase(kind, home);
      await home.configure({}, database.url);
      const gate = await Gate.open(home.path);
      gate.close(killAt);
      const first = home.launch({ binary, env: gate.env });
      const isDone = await first.ready().then(
        () => true,
        () => false,
      );
      const at = `call ${killAt}, ${gate.open().at(-1)}`;
      if (isDone) break;
      struck.push(at);
      const second = await home.serve({ binary });
      const isSuper = async (token: string) =>
        token !== "" && (await second.send("token_list_all_tokens", [token])).error === undefined;
      // A kill between the commit and the output leaves a Super Token that nobody has seen; there is a command for that.
      if (!(await isSuper(second.superToken || first.superToken))) {
        const rolled = await home.run(["roll-super-token", "--yes"], { binary });
        expect([at, await isSuper(/^Super Token: (\S+)$/m.exec(rolled.stdout)?.[1] ?? "")]).toEqual([
          at,
          true,
        ]);
      }
      await second.stop();
    }
    console.log(`the first start, ${kind}: killed at ${struck.join("; ")}`);
    expect(struck.join()).toMatch(/COMMIT.*committed/);
  },
  manyStartsMs,
);

async function droppedDatabase(kind: DatabaseKind, home: Home) {
  const database = await newDatabase(kind, home.path);
  return { url: database.url, [Symbol.asyncDispose]: () => database.drop() };
}

test(
  "an init that is killed while it writes the configuration leaves what the next one can read",
  async () => {
    const struck: string[] = [];
    // From the first COMMIT on it does what a first start does.
    while (!struck.includes("COMMIT")) {
      await using home = await Home.open();
      const gate = await Gate.open(home.path);
      gate.close(struck.length + 1);
      const { signal } = await home.run(["init"], { binary, env: gate.env });
      struck.push(gate.open().at(-1) ?? "");
      const { code, stderr } = await home.run(["init"], { binary });
      expect([struck, signal, code, stderr]).toEqual([struck, "SIGKILL", 0, expect.any(String)]);
    }
    console.log(`init: killed before ${struck.join(", ")}`);
    expect(struck).toContain("link");
  },
  manyStartsMs,
);

test(
  "a restore that is killed leaves each bucket with one whole tree, and can be repeated",
  async () => {
    await using home = await newHome();
    const server = await home.serve();
    const token = server.superToken;
    const names = ["one", "two"];
    const paths = names.flatMap((name) =>
      ["a.txt", "b.txt"].map((file) => home.file(`static/${name}/${file}`)),
    );
    for (const name of names) await server.call("static-bucket_create", { token, name });
    await server.stop();
    for (const path of paths) writeFileSync(path, "of the backup");
    expect((await home.run(["backup", "b.tar.zst", "--files"])).code).toBe(0);
    const gate = await Gate.open(home.path);
    const struck: string[] = [];
    for (let isKilled = true; isKilled; ) {
      for (const path of paths) writeFileSync(path, "of the server");
      gate.close(struck.length + 1);
      const { code } = await home.run(["restore", "b.tar.zst", "--yes"], { binary, env: gate.env });
      isKilled = code !== 0;
      const call = gate.open().at(-1) ?? "";
      if (isKilled) struck.push(call);
      const contents = paths.map((path) => readFileSync(path, "utf8"));
      const [one = "", , two = ""] = contents;
      expect({ killed: struck, contents }).toEqual({ killed: struck, contents: [one, one, two, two] });
      if (!isKilled) expect(new Set(contents)).toEqual(new Set(["of the backup"]));
    }
    console.log(`restore: killed before ${struck.join(", ")}`);
    expect(struck).toContain("exchange");
  },
  manyStartsMs,
);
