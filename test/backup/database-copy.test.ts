import { expect } from "bun:test";
import { openDatabase } from "../../src/db/database.ts";
import { openLoadTarget } from "../../src/db/dump/load-target.ts";
import type { PortableRow } from "../../src/db/dump/portable.ts";
import { openSnapshot } from "../../src/db/dump/snapshot.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "../support/database-settings.ts";
import { eachDatabase, newDatabase, tempFolder } from "../support/node.ts";

const hub = new LogHub();

async function rowsOf(url: string): Promise<Record<string, PortableRow[]>> {
  const snapshot = await openSnapshot(settingsFor(url), hub);
  const tables: Record<string, PortableRow[]> = {};
  for (const table of snapshot.tables)
    tables[table.name] = (await Array.fromAsync(snapshot.rows(table))).flat();
  await snapshot.close();
  return tables;
}

async function copy(from: string, to: string): Promise<void> {
  const source = await openSnapshot(settingsFor(from), hub);
  const target = await openLoadTarget(settingsFor(to), hub);
  await target.load(source, async (insert) => {
    for (const table of source.tables)
      for await (const rows of source.rows(table)) await insert(table.name, rows);
  });
  await source.close();
  await target.commit();
}

eachDatabase("rows keep every digit, byte and NULL through another database and back", async (kind) => {
  await using folder = await tempFolder();
  await using back = await tempFolder();
  const place = await newDatabase(kind, folder.path);
  await (await openDatabase(settingsFor(place.url), hub, { create: true })).close();
  const other = await newDatabase(kind === "sqlite" ? "postgres" : "sqlite", folder.path);
  const again = await newDatabase(kind, back.path);
  const bytes = kind === "sqlite" ? "x'00ff10'" : "'\\x00ff10'";
  await place.run(
    `INSERT INTO js_worker (name, js_script, js_byte_code, env, create_at, update_at, max_run_time)
     VALUES ('w', 'line 1
line "2" é \u{1f600}', ${bytes}, '{"b":[1,2.50,{"a":null}],"n":12345678901234567890}', 9223372036854775807, -9223372036854775808, NULL)`,
  );
  await place.run(
    "INSERT INTO monitoring_uuid (id, uuid, soft_delete) VALUES (41, '0b6c2f6e-6b0a-4e0f-9a4e-2f6d8f1c9a11', true)",
  );
  await place.run(
    "INSERT INTO monitoring_uuid (id, uuid, soft_delete) VALUES (77, '0b6c2f6e-6b0a-4e0f-9a4e-2f6d8f1c9a12', false)",
  );
  await place.run("DELETE FROM monitoring_uuid WHERE id = 77");
  const before = await rowsOf(place.url);
  await copy(place.url, other.url);
  await copy(other.url, again.url);
  expect(await rowsOf(again.url)).toEqual(before);
  expect(before.js_worker?.[0]).toContainEqual({ integer: "9223372036854775807" });
  expect(before.js_worker?.[0]).toContainEqual({ blob: "AP8Q" });
  await Promise.all([place.drop(), other.drop(), again.drop()]);
});
