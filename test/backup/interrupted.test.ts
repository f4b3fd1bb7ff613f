import { expect } from "bun:test";
import { mkdir, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type DatabaseKind, eachDatabase, newDatabase } from "../support/node.ts";
import { type Home, newHome } from "../support/process.ts";
import { until } from "../support/until.ts";
import { rowsOf } from "./support.ts";

/** A stopped server whose database takes a while to be written. */
async function slowHome(home: Home, kind: DatabaseKind) {
  const database = await newDatabase(kind, home.path);
  await home.configure({}, database.url);
  await home.run(["init"]);
  const noise = Buffer.from(crypto.getRandomValues(new Uint8Array(48_000))).toString("base64");
  const rows = Array.from({ length: 500 }, (_, at) => `('w${at}', '${at}${noise}', 0, 0)`);
  await database.run(`INSERT INTO js_worker (name, js_script, create_at, update_at) VALUES ${rows.join()}`);
  return database;
}

async function leftovers(home: Home): Promise<string[]> {
  return (await readdir(home.path, { recursive: true })).filter((name) => /tmp|before-restore/.test(name));
}

/** Ends a restore of b.tar.zst before it is complete; how it ended, and the rows before it. */
async function endedRestore(home: Home, kind: DatabaseKind, database: Awaited<ReturnType<typeof slowHome>>) {
  for (let attempt = 0; attempt < 20; attempt += 1) {
    await database.run("DELETE FROM js_worker WHERE id > 1");
    const before = await rowsOf(database.url);
    const restoring = home.launch({}, ["restore", "b.tar.zst", "--yes"]);
    // The message comes before the first row is written.
    await restoring.says(/The backup is complete/);
    if (kind === "sqlite")
      await until(
        "the new file grows",
        async () =>
          (await readdir(home.file("data"))).some((name) => name.includes(".tmp")) || !restoring.alive,
      );
    restoring.signal("SIGTERM");
    const ended = await restoring.exited;
    if (ended.code !== 0) return { ...ended, before };
    // The database that it replaced is beside the new one.
    for (const name of await leftovers(home)) await rm(home.file(name), { recursive: true, force: true });
  }
  throw new Error("every restore was complete before it could be ended");
}

eachDatabase("a restore that is ended in the middle changes nothing and leaves nothing", async (kind) => {
  await using home = await newHome();
  const database = await slowHome(home, kind);
  expect((await home.run(["backup", "b.tar.zst"])).code).toBe(0);
  const { code, stderr, before } = await endedRestore(home, kind, database);
  expect({ code, stderr }).toEqual({
    code: 143,
    stderr: expect.stringMatching(/interrupted; nothing was changed\n$/),
  });
  expect(await rowsOf(database.url)).toEqual(before);
  expect(await leftovers(home)).toEqual([]);
  await database.drop();
});

const longAgo = new Date(Date.now() - 3_600_000);

/** Kills a backup before it is complete; returns the name of what it left. */
async function leftByKilledBackup(home: Home, folder: string): Promise<string> {
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const backup = home.launch({}, ["backup", join(folder, `${attempt}.tar.zst`)]);
    const isUnfinished = (name: string) => name.startsWith(`.node-server-backup-${backup.pid}-`);
    await until("it writes", async () => (await readdir(folder)).some(isUnfinished) || !backup.alive);
    backup.signal("SIGKILL");
    await backup.exited;
    const left = (await readdir(folder)).find(isUnfinished);
    if (left !== undefined) return left;
  }
  throw new Error("every backup was complete before it could be killed");
}

eachDatabase("a backup removes what killed ones left in its folder, and nothing else", async (kind) => {
  await using home = await newHome();
  const database = await slowHome(home, kind);
  const folder = home.file("backups");
  await mkdir(folder);
  const left = await leftByKilledBackup(home, folder);
  const running = `.node-server-backup-${process.pid}-0123456789abcdef.tmp`;
  const others = [running, ".node-server-backup-notes.tmp", ".node-server-0123456789abcdef-config.toml.tmp"];
  for (const name of others) {
    await writeFile(join(folder, name), "");
    await utimes(join(folder, name), longAgo, longAgo);
  }
  const makeNext = async () => {
    expect((await home.runProcess(["backup", "backups/next.tar.zst"])).code).toBe(0);
    return readdir(folder);
  };
  // It may be written by a process that cannot be seen from here.
  expect(await makeNext()).toEqual(expect.arrayContaining([...others, left]));
  await utimes(join(folder, left), longAgo, longAgo);
  const names = await makeNext();
  expect(names).not.toContain(left);
  expect(names).toEqual(expect.arrayContaining([...others, "next.tar.zst"]));
  await database.drop();
});
