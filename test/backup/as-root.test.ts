import { expect } from "bun:test";
import { chownSync, lstatSync, readdirSync } from "node:fs";
import { chmod, chown, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { newDatabase } from "../support/node.ts";
import { Home, newHome, story } from "../support/process.ts";
import { boundByModes } from "../support/tools.ts";

const nobody = 65_534;
const other = 12_345;
const isRoot = process.getuid?.() === 0;

/** A story of root in the folder of another user. */
function asRoot(title: string, tell: () => Promise<void>): void {
  story(title, async () => {
    if (isRoot) return tell();
    console.log(`SKIPPED: ${title} needs root (run the tests with sudo)`);
  });
}

/** Everything below a folder with its owner. */
function ownersIn(folder: string): Record<string, number> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return Object.fromEntries(names.map((name) => [name, lstatSync(join(folder, name)).uid]));
}

/** What does not belong to `uid`. */
function notOf(uid: number, folder: string): string[] {
  return Object.entries(ownersIn(folder)).flatMap(([name, owner]) => (owner === uid ? [] : [name]));
}

/** A backup with a bucket below a folder of its own. */
async function madeBackup(home: Home): Promise<string> {
  const server = await home.serve();
  const { superToken: token } = server;
  await server.call("static-bucket_create", { token, name: "site", path: "pages/site" });
  await server.call("static-bucket-file_upload", {
    token,
    name: "site",
    path: "a/index.html",
    body: "hello",
  });
  await server.stop();
  expect((await home.run(["backup", "all.tar.zst", "--files"])).code).toBe(0);
  return home.file("all.tar.zst");
}

asRoot("root restores into a folder of the server's user, who owns everything afterwards", async () => {
  await using old = await newHome();
  const file = await madeBackup(old);
  await using home = await Home.open();
  await chown(home.path, nobody, nobody);
  const config = home.file("etc/node/config.toml");
  const restored = await home.run(["-c", config, "restore", file]);
  expect({ code: restored.code, stderr: restored.stderr }).toMatchObject({ code: 0 });
  const names = Object.keys(ownersIn(home.file("etc/node")));
  for (const name of ["config.toml", "config.uuid", "data/node.db.lock", "static/pages/site/a/index.html"])
    expect(names).toContain(name);
  expect(notOf(nobody, home.path)).toEqual([]);
});

asRoot("root is told to move and restore as the user to whom the configuration belongs", async () => {
  await using home = await newHome();
  const file = await madeBackup(home);
  const commands = [
    ["restore", file, "--yes", "--replace-config"],
    ["migrate", "--to", "sqlite://second/node.db"],
    ["migrate", "--files", `file://${home.file("static")}`],
  ];
  for (const [uid, user] of [
    [nobody, "nobody"],
    [other, `'#${other}'`],
  ] as const) {
    await chown(home.configPath, uid, uid);
    const before = ownersIn(home.path);
    for (const args of commands) {
      const { code, stderr } = await home.run(args);
      expect([args, code, stderr]).toEqual([
        args,
        1,
        expect.stringContaining(`\`sudo -u ${user} node-server ${args[0]} …\``),
      ]);
      expect(ownersIn(home.path)).toEqual(before);
    }
  }
  expect((await home.run(["backup", "again.tar.zst"])).code).toBe(0);
});

asRoot("what root restores belongs to the owner of what it replaces", async () => {
  await using home = await newHome();
  const file = await madeBackup(home);
  await rm(home.file("data/node.db.lock"));
  await rm(home.file("static/pages/site"), { recursive: true });
  chownSync(home.file("data/node.db"), nobody, nobody);
  chownSync(home.file("static/pages"), other, other);
  expect((await home.run(["restore", file, "--yes"])).code).toBe(0);
  expect(ownersIn(home.file("data"))).toMatchObject({ "node.db": nobody, "node.db.lock": nobody });
  expect(notOf(other, home.file("static/pages"))).toEqual([]);
  chownSync(home.file("static/pages/site"), nobody, nobody);
  expect((await home.run(["restore", file, "--yes"])).code).toBe(0);
  expect(notOf(nobody, home.file("static/pages/site"))).toEqual([]);
});

asRoot("a server or a move that root has run leaves a database that its user can open", async () => {
  await using home = await newHome();
  await chown(home.path, nobody, nobody);
  await (await home.serve()).stop();
  expect(notOf(nobody, home.file("data"))).toEqual([]);
  await rm(home.file("data/node.db.lock"));
  const moved = await home.run(["migrate", "--to", "sqlite://second/node.db", "--write-config"]);
  expect({ code: moved.code, stderr: moved.stderr }).toMatchObject({ code: 0 });
  expect(notOf(nobody, home.file("data"))).toEqual([]);
  expect(ownersIn(home.file("."))).toMatchObject({ second: nobody, "second/node.db.lock": nobody });
  expect(notOf(nobody, home.file("second"))).toEqual([]);
});

story("a lock file that cannot be written is named, with what to do, by check and by a start", async () => {
  const bound = boundByModes();
  if (bound === undefined) return;
  await using home = await newHome();
  expect((await home.run(["init"])).code).toBe(0);
  const lock = home.file("data/node.db.lock");
  await writeFile(lock, "");
  await chmod(lock, 0o444);
  for (const args of [["check", "--connect"], ["serve"]]) {
    const { code, stderr } = await home.run(args, bound);
    expect({ args, code }).toEqual({ args, code: 1 });
    expect(stderr).toMatch(
      /node\.db\.lock cannot be written: it belongs to .*; run `(?:chown \w+|chmod u\+w) \S+node\.db\.lock`/,
    );
  }
  const database = await newDatabase("sqlite", home.file("second"));
  const moved = await home.run(["migrate", "--to", database.url], bound);
  expect(moved).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /node\.db cannot be locked: \S+\.lock cannot be written.*(?:chown|chmod u\+w)/,
    ),
  });
  await rm(home.file("data/node.db"));
  expect((await home.run(["check"], bound)).stderr).toMatch(/cannot be created: \S+\.lock cannot be written/);
  await chmod(lock, 0o644);
  expect((await home.run(["check"], bound)).code).toBe(0);
});
