import { expect } from "bun:test";
import { readdir, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { verifyBackup } from "../../src/backup/read-backup.ts";
import { type DatabaseKind, eachDatabase, newDatabase } from "../support/node.ts";
import { type Home, newHome } from "../support/process.ts";
import { rowsOf } from "./support.ts";

const last = "m20261116_000001_token_username_skeleton_scripts";

/** A database that lacks the last migration, as an older version left it. */
async function oldDatabase(home: Home, kind: DatabaseKind) {
  const database = await newDatabase(kind, home.path);
  await home.configure({}, database.url);
  await home.run(["init"]);
  await database.run(`DELETE FROM seaql_migrations WHERE version = '${last}'`);
  await database.run("INSERT INTO kv (namespace, key, value) VALUES ('before', 'the', '\"migration\"')");
  return database;
}

/** Statements after which no migration can be recorded, and any can be again. */
const refusals = {
  sqlite: {
    begin:
      "CREATE TRIGGER refused BEFORE INSERT ON seaql_migrations BEGIN SELECT RAISE(ABORT, 'not today'); END",
    end: "DROP TRIGGER refused",
  },
  postgres: {
    begin: `ALTER TABLE seaql_migrations ADD CONSTRAINT refused CHECK (version <> '${last}')`,
    end: "ALTER TABLE seaql_migrations DROP CONSTRAINT refused",
  },
} as const;

eachDatabase("a start that migrates a database copies it first, and the copy restores it", async (kind) => {
  await using home = await newHome();
  const database = await oldDatabase(home, kind);
  const before = await rowsOf(database.url);
  const server = await home.serve();
  const folder = home.file(kind === "sqlite" ? "data/backup" : "backup");
  const [name = ""] = await readdir(folder);
  expect(name).toMatch(new RegExp(`^node-server-[0-9a-f]{8}-\\d{8}T\\d{6}Z-before-${last}\\.tar\\.zst$`));
  expect(server.stderr).toMatch(
    new RegExp(
      `INFO server: the database was copied before its migration event=backup\\.made path=${join(folder, name)} .*before=${last}`,
    ),
  );
  expect(server.stderr.indexOf("was copied before")).toBeLessThan(server.stderr.indexOf("applied migration"));
  await server.stop();
  const { header } = await verifyBackup(join(folder, name));
  expect(header.database.migrations.map(({ version }) => version)).not.toContain(last);
  await database.run("DELETE FROM kv");
  expect((await home.run(["restore", join(folder, name), "--yes"])).code).toBe(0);
  expect(await rowsOf(database.url)).toEqual(before);
  // The next start migrates it again; one that needs no migration copies nothing.
  await database.run("INSERT INTO kv (namespace, key, value) VALUES ('after', 'the', '\"restore\"')");
  await (await home.serve()).stop();
  const count = (await readdir(folder)).length;
  expect(count).toBe(2);
  await (await home.serve()).stop();
  expect(await readdir(folder)).toHaveLength(count);
  await database.drop();
});

eachDatabase("starts whose migration fails make one copy of the same database between them", async (kind) => {
  await using home = await newHome();
  const database = await oldDatabase(home, kind);
  // Its transaction fails when the migration is recorded.
  await database.run(refusals[kind].begin);
  const folder = home.file(kind === "sqlite" ? "data/backup" : "backup");
  const fails = async () => {
    const { code, stderr } = await home.run(["serve"]);
    expect(code).toBe(1);
    expect(stderr).not.toContain("applied migration");
    return stderr;
  };
  expect(await fails()).toContain("event=backup.made");
  const copies = await readdir(folder);
  expect(copies).toHaveLength(1);
  const again = await fails();
  expect(again).not.toContain("event=backup.made");
  expect(again).toContain(join(folder, copies[0] ?? ""));
  expect(await readdir(folder)).toEqual(copies);
  // A copy of another state, or one that is damaged, is not the way back.
  await database.run("INSERT INTO kv (namespace, key, value) VALUES ('another', 'a', '1')");
  expect(await fails()).toContain("event=backup.made");
  const [newest = ""] = (await readdir(folder)).filter((name) => !copies.includes(name));
  await truncate(join(folder, newest), 100);
  await database.run(refusals[kind].end);
  await (await home.serve()).stop();
  expect(await readdir(folder)).toHaveLength(3);
  await database.drop();
});

eachDatabase(
  "without a copy the database is not migrated, unless the configuration says so",
  async (kind) => {
    await using home = await newHome();
    const database = await oldDatabase(home, kind);
    const folder = home.file(kind === "sqlite" ? "data/backup" : "backup");
    await writeFile(folder, "a file where the folder should be");
    const refused = await home.run(["serve"]);
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        new RegExp(
          `the backup before the migration ${last} failed in ${folder}: .*backup_before_migration = false`,
        ),
      ),
    });
    const rolled = await home.run(["roll-super-token", "--yes"]);
    expect(rolled).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/the backup before the migration/),
    });
    await home.configure({ top: "backup_before_migration = false\n" }, database.url);
    const server = await home.serve();
    expect(server.stderr).toContain(`applied migration ${last}`);
    await server.stop();
    await rm(folder);
    await database.drop();
  },
);
