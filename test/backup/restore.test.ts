import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { cp, mkdir, readdir, rename, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openNode } from "../../src/node.ts";
import { User } from "../support/cli.ts";
import { eachDatabase, lowPasswordCost, newDatabase, sharedConsole } from "../support/node.ts";
import { Home, newHome, type Server, sendTo } from "../support/process.ts";
import { findTool, randomBytes } from "../support/tools.ts";
import { mounted } from "../support/webdav-disk.ts";
import { readArchive, rowsOf, treeOf } from "./support.ts";

const modified = new Date("2024-02-29T12:34:56.789Z");

type SiteServer = Pick<Server, "url" | "superToken" | "call"> & { stop(): Promise<unknown> };

/** A server on a home, in the process of the test. */
async function openAt(home: Home) {
  const credentials = { token: "" };
  const node = await openNode({
    configPath: home.configPath,
    workingDirectory: home.path,
    env: { RUST_LOG: "off" },
    show: ({ token }) => {
      credentials.token = token;
    },
    loadConsole: sharedConsole,
    passwordCost: lowPasswordCost,
  });
  const call = async (method: string, params: unknown) => {
    const { result, error } = await sendTo(node.url, method, params);
    if (error !== undefined) throw new Error(`${method} failed: ${JSON.stringify(error)}`);
    return result;
  };
  return { url: node.url, superToken: credentials.token, call, stop: () => node.close() };
}

/** A server with a bucket `site` of some files; the address of the server and its Super Token. */
async function serveSite(
  home: Home,
  open: (home: Home) => Promise<SiteServer> = openAt,
): Promise<{ url: string; token: string; stop(): Promise<void> }> {
  const server = await open(home);
  const { superToken: token, url } = server;
  await server.call("static-bucket_create", { token, name: "site", path: "pages/site" });
  await server.call("static-bucket-file_upload", { token, name: "site", path: "index.html", body: "hello" });
  await server.call("static-bucket-file_upload", {
    token,
    name: "site",
    path: "ü/日本.txt",
    body: "long ago",
  });
  const folder = home.file("static/pages/site");
  await mkdir(join(folder, "empty"));
  await mkdir(join(folder, ".~staged-upload"));
  await writeFile(join(folder, "large.bin"), Buffer.alloc(3_000_000, "large "));
  await symlink("index.html", join(folder, "alias.html"));
  await symlink("/etc/passwd", join(folder, "outside"));
  await symlink("..", join(folder, "up"));
  await symlink("loop", join(folder, "loop"));
  await symlink("nothing", join(folder, "dangling"));
  await utimes(join(folder, "index.html"), modified, modified);
  return { url, token, stop: async () => void (await server.stop()) };
}

eachDatabase(
  "a server moves to another machine with one file: tokens, identity, buckets and files",
  async (kind) => {
    await using old = await newHome();
    const postgres = kind === "postgres" ? await newDatabase(kind, old.path) : undefined;
    const urlIn = (home: Home) => postgres?.url ?? `sqlite://${home.file("data/node.db")}`;
    if (postgres !== undefined) await old.configure({}, postgres.url);
    const site = await serveSite(old);
    const uuid = (await old.run(["get-uuid"])).stdout;
    const made = await old.run(["backup", "all.tar.zst", "--files"]);
    expect(made).toMatchObject({ code: 0, stdout: "" });
    expect(made.stderr).toContain(
      "pages/site/outside is left out: it is a link that does not point to a file of this bucket",
    );
    for (const name of ["up", "loop", "dangling"])
      expect(made.stderr).toContain(`note: pages/site/${name} is left out`);
    expect((await stat(old.file("all.tar.zst"))).mode & 0o777).toBe(0o600);
    await site.stop();
    const names = (await readArchive(old.file("all.tar.zst"))).map(({ name }) => name);
    expect(names.filter((name) => name.startsWith("files/"))).toEqual([
      "files/pages/site/",
      "files/pages/site/alias.html",
      "files/pages/site/empty/",
      "files/pages/site/index.html",
      "files/pages/site/large.bin",
      "files/pages/site/ü/",
      "files/pages/site/ü/日本.txt",
    ]);
    const before = { rows: await rowsOf(urlIn(old)), files: await treeOf(old.file("static/pages/site")) };
    await postgres?.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public");

    await using machine = await Home.open();
    const restored = await machine.run(["restore", join(old.path, "all.tar.zst")]);
    expect({ code: restored.code, stderr: restored.stderr }).toMatchObject({ code: 0 });
    expect((await machine.run(["get-uuid"])).stdout).toBe(uuid);
    expect((await stat(machine.configPath)).mode & 0o777).toBe(0o600);
    if (kind === "sqlite") expect((await stat(machine.file("data/node.db"))).mode & 0o777).toBe(0o600);
    expect(await rowsOf(urlIn(machine))).toEqual(before.rows);
    const { outside, up, loop, dangling, ".~staged-upload": staged, ...files } = before.files;
    const alias = before.files["index.html"] ?? "";
    expect(await treeOf(machine.file("static/pages/site"))).toEqual({ ...files, "alias.html": alias });
    expect((await stat(machine.file("static/pages/site/index.html"))).mtime).toEqual(modified);
    const server = await openAt(machine);
    expect(await server.call("static-bucket_read", { token: site.token, name: "site" })).toMatchObject({
      path: "pages/site",
    });
    expect(await (await fetch(`${server.url}/node/static/site/index.html`)).text()).toBe("hello");
    await server.stop();
    await postgres?.drop();
  },
);

eachDatabase("a restore is refused while a server runs, and asks before it replaces", async (kind) => {
  await using home = await newHome();
  const database = await newDatabase(kind, home.path);
  await home.configure({}, database.url);
  // Another process: one process holds a lock of SQLite as a whole.
  const site = await serveSite(home, () => home.serve());
  await home.run(["backup", "all.tar.zst", "--files"]);
  // Before a backup of any size is read, or even missed.
  for (const args of [["all.tar.zst", "--yes"], ["missing.tar.zst"]])
    expect(await home.run(["restore", ...args])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        kind === "sqlite"
          ? /^node-server: .* in use by another node-server, process \d+/
          : /^node-server: (.*: )?(a node-server uses this database|.* runs at http)/,
      ),
    });
  await site.stop();
  await database.run("DELETE FROM static_file");
  await writeFile(home.file("static/pages/site/index.html"), "changed");
  const asked = await home.run(["restore", "all.tar.zst"]);
  expect(asked).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /will be replaced\. Type yes to continue: node-server: not confirmed, nothing changed/,
    ),
  });
  expect((await rowsOf(database.url)).static_file).toEqual([]);
  const withoutFiles = await home.run(["restore", "all.tar.zst", "--no-files"], { stdin: "yes\n" });
  expect(withoutFiles.code).toBe(0);
  expect((await rowsOf(database.url)).static_file).toHaveLength(1);
  expect(await Bun.file(home.file("static/pages/site/index.html")).text()).toBe("changed");
  if (kind === "sqlite") {
    const [, former = ""] = /The previous database is saved as (\S+);/.exec(withoutFiles.stderr) ?? [];
    expect((await rowsOf(`sqlite://${former}`)).static_file).toEqual([]);
  }
  expect((await home.run(["restore", "all.tar.zst", "--yes"])).code).toBe(0);
  expect(await Bun.file(home.file("static/pages/site/index.html")).text()).toBe("hello");
  expect(
    Object.keys(await treeOf(home.file("static/pages"))).filter((name) => name.includes("~staged")),
  ).toEqual([]);
  await database.drop();
});

test("a damaged database is replaced, and what it was is kept with its -wal file", async () => {
  await using home = await newHome();
  const site = await serveSite(home);
  {
    using file = new Database(home.file("data/node.db"));
    file.run("CREATE TABLE of_the_operator (id int)");
  }
  expect((await home.run(["backup", "b.tar.zst"])).stderr).toMatch(
    /does not contain tables of other programs: of_the_operator/,
  );
  await site.stop();
  await writeFile(home.file("data/node.db"), "no database");
  await writeFile(home.file("data/node.db-wal"), "its log");
  const restored = await home.run(["restore", "b.tar.zst", "--yes"]);
  expect({ code: restored.code, stderr: restored.stderr }).toMatchObject({ code: 0 });
  const [, former = ""] = /The previous database is saved as (\S+);/.exec(restored.stderr) ?? [];
  expect(restored.stderr).toMatch(/does not contain tables of other programs: of_the_operator/);
  expect(await Bun.file(former).text()).toBe("no database");
  expect(await Bun.file(`${former}-wal`).text()).toBe("its log");
  const server = await openAt(home);
  expect(await server.call("static-bucket_list", { token: site.token })).toHaveLength(1);
  await server.stop();
});

test("a -wal file that a lost database left is not applied to the restored one", async () => {
  await using home = await newHome();
  const site = await serveSite(home);
  await home.run(["backup", "b.tar.zst"]);
  await site.stop();
  const path = home.file("data/node.db");
  const before = await rowsOf(`sqlite://${path}`);
  {
    using file = new Database(path);
    file.run("UPDATE static_file SET path = 'other'");
    await cp(`${path}-wal`, home.file("left-wal"));
  }
  await rm(path);
  await rename(home.file("left-wal"), `${path}-wal`);
  const restored = await home.run(["restore", "b.tar.zst", "--yes"]);
  expect({ code: restored.code, stderr: restored.stderr }).toMatchObject({ code: 0 });
  expect(await rowsOf(`sqlite://${path}`)).toEqual(before);
  expect(
    Object.keys(await treeOf(home.file("data"))).filter((name) => /before-restore-.*-wal$/.test(name)),
  ).toHaveLength(1);
});

test("configuration and UUID stay, unless they are missing or --replace-config is given", async () => {
  await using old = await newHome({ top: "# of the backup\n" });
  await (await serveSite(old)).stop();
  const uuid = (await old.run(["get-uuid"])).stdout.trim();
  await old.run(["backup", "b.tar.zst"]);
  await using home = await newHome({ top: "# of this machine\n" });
  await home.run(["init"]);
  const own = (await home.run(["get-uuid"])).stdout.trim();
  const path = join(old.path, "b.tar.zst");
  const kept = await home.run(["restore", path, "--yes"]);
  expect(kept.stderr).toContain(`The server's UUID here is ${own}, in the backup it is ${uuid}`);
  expect(await Bun.file(home.configPath).text()).toContain("# of this machine");
  const asked = await home.run(["restore", path, "--replace-config"]);
  expect(asked.code).toBe(1);
  expect(asked.stderr).toContain(
    `The database ${home.file("data/node.db")}, the configuration ${home.configPath} and the UUID ${own} of this server will be replaced. The current configuration ${home.configPath} and the UUID ${own} of this server will be saved under another name.`,
  );
  expect(await Bun.file(home.configPath).text()).toContain("# of this machine");
  const replaced = await home.run(["restore", path, "--yes", "--replace-config"]);
  expect(replaced.code).toBe(0);
  const formerOf = (what: string) =>
    new RegExp(`The previous ${what} is saved as (\\S+\\.before-restore-\\w+)\\.\n`).exec(
      replaced.stderr,
    )?.[1] ?? "";
  expect(await Bun.file(formerOf("configuration")).text()).toContain("# of this machine");
  expect((await stat(formerOf("configuration"))).mode & 0o777).toBe(0o600);
  expect((await Bun.file(formerOf("UUID")).text()).trim()).toBe(own);
  expect(await Bun.file(home.configPath).text()).toContain("# of the backup");
  expect((await home.run(["get-uuid"])).stdout.trim()).toBe(uuid);
  expect(await home.run(["restore", path, "--files"])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/was made without --files/),
  });
});

test("a restore without files says where the files of buckets have to be", async () => {
  await using bare = await newHome();
  expect((await bare.run(["init"])).code).toBe(0);
  await bare.run(["backup", "empty.tar.zst"]);
  await using old = await newHome();
  const site = await serveSite(old);
  await old.run(["backup", "b.tar.zst"]);
  await old.run(["backup", "all.tar.zst", "--files"]);
  await site.stop();
  await using home = await newHome();
  const noteOf = async (name: string, from = old) => {
    const { code, stderr } = await home.run(["restore", from.file(name), "--yes"]);
    return [code, /^note: the backup has no files.*$/m.exec(stderr)?.[0]];
  };
  expect(await noteOf("b.tar.zst")).toEqual([
    0,
    `note: the backup has no files: copy static_path of the old server to ${home.file("static")}, unless the files are there`,
  ]);
  expect(await noteOf("all.tar.zst")).toEqual([0, undefined]);
  expect(await noteOf("empty.tar.zst", bare)).toEqual([0, undefined]);
  await mkdir(home.file("blobs"));
  await home.configure({ databaseKeys: `\n[files]\nurl = "file://${home.file("blobs")}"\n` });
  expect(await noteOf("b.tar.zst")).toEqual([
    0,
    `note: the backup has no files: they must be in file://${home.file("blobs")}; docs/storage.md says how to restore with an object store`,
  ]);
});

test("a backup on standard output is what zstd and tar read, and needs no running server", async () => {
  await using tool = await findTool("reading a backup", "zstd");
  await using user = await User.open();
  await user.does(["init"]);
  await user.shell('"$@" > b.tar.zst', ["backup", "-"]);
  expect((await user.run(["restore", "b.tar.zst", "--yes"])).code).toBe(0);
  // Back from a pipe, of which nothing stays on the disk.
  const before = (await readdir(user.path)).sort();
  expect((await user.shell('cat b.tar.zst | "$@"', ["restore", "-"])).code).toBe(2);
  expect((await user.shell('cat b.tar.zst | "$@"', ["restore", "-", "--yes"])).code).toBe(0);
  expect((await user.shell('head -c 1000 b.tar.zst | "$@"', ["restore", "-", "--yes"])).code).toBe(1);
  expect((await readdir(user.path)).sort()).toEqual(before);
  if (tool === undefined) return;
  await cp(user.file("b.tar.zst"), join(tool.home, "b.tar.zst"));
  await tool.does(["--test", "b.tar.zst"]);
  await tool.does(["-d", "b.tar.zst"]);
  const listed = await Bun.$`tar -tf b.tar`.cwd(tool.home).text();
  expect(listed.trim().split("\n")).toEqual([
    "backup.json",
    "config.toml",
    "database/token/000001.jsonl",
    "database/kv/000001.jsonl",
    "manifest.json",
  ]);
});

test("a backup that cannot be written leaves nothing, and says why", async () => {
  await using user = await User.open();
  await user.does(["init"]);
  await mkdir(user.file("folder"));
  expect(await user.run(["backup", "folder"])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/folder is not a regular file/),
  });
  expect(await user.run(["backup", "missing/b.tar.zst"])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/does not exist/),
  });
  await rename(user.file("data/node.db"), user.file("data/away.db"));
  expect(await user.run(["backup", "b.tar.zst"])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/data\/node\.db does not exist/),
  });
  await rm(user.file("data/away.db"));
  expect(
    Object.keys(await treeOf(user.file("."))).filter((name) => /tar\.zst|tmp|node\.db$/.test(name)),
  ).toEqual([]);
});

test("a full disk is told as what it is, and neither a backup nor a restore leaves anything on it", async () => {
  await using user = await User.open();
  using disk = mounted("a full disk of a backup", user.file("disk"), "size=2m");
  if (disk === undefined) return;
  await user.does(["init"]);
  const full = { code: 1, stderr: expect.stringMatching(/the disk is full|disk of the database is full/) };
  using file = new Database(user.file("data/node.db"));
  file.run("INSERT INTO static_file (name, path) VALUES ('site', 'site')");
  await mkdir(user.file("static/site"), { recursive: true });
  await writeFile(user.file("static/site/noise.bin"), randomBytes(3_000_000));
  expect(await user.run(["backup", "disk/b.tar.zst", "--files"])).toMatchObject(full);
  expect(await treeOf(user.file("disk"))).toEqual({});
  await user.does(["backup", "b.tar.zst", "--files"]);
  const config = await Bun.file(user.file("config.toml")).text();
  await writeFile(
    user.file("config.toml"),
    config.replace('# static_path = "./static/"', 'static_path = "disk"'),
  );
  expect(await user.run(["restore", "b.tar.zst", "--yes"])).toMatchObject(full);
  expect(await treeOf(user.file("disk"))).toEqual({});
  expect(file.query("SELECT name FROM static_file").all()).toEqual([{ name: "site" }]);
});
