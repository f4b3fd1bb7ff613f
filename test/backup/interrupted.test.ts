import { expect } from "bun:test";
import { readdir } from "node:fs/promises";
import { type DatabaseKind, eachDatabase, newDatabase } from "../support/node.ts";
import { type Home, newHome, until } from "../support/process.ts";
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

eachDatabase("a restore that is ended in the middle changes nothing and leaves nothing", async (kind) => {
  await using home = await newHome();
  const database = await slowHome(home, kind);
  expect((await home.run(["backup", "b.tar.zst"])).code).toBe(0);
  await database.run("DELETE FROM js_worker WHERE id > 1");
  const before = await rowsOf(database.url);
  const restoring = home.launch({}, ["restore", "b.tar.zst", "--yes"]);
  // The message comes before the first row is written.
  await restoring.says(/The backup is complete/);
  if (kind === "sqlite")
    await until("the new file grows", async () =>
      (await readdir(home.file("data"))).some((name) => name.includes(".tmp")),
    );
  restoring.signal("SIGTERM");
  const { code, stderr } = await restoring.exited;
  expect({ code, stderr }).toEqual({
    code: 143,
    stderr: expect.stringMatching(/ended; nothing was changed\n$/),
  });
  expect(await rowsOf(database.url)).toEqual(before);
  expect(
    (await readdir(home.path, { recursive: true })).filter((name) => /tmp|before-restore/.test(name)),
  ).toEqual([]);
  await database.drop();
});
