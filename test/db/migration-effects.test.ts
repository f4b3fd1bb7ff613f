import { expect } from "bun:test";
import { type Database, openDatabase } from "../../src/db/database.ts";
import { type Migration, migrations, newestMigration } from "../../src/db/migrations/migrations.ts";
import type { LogEntry } from "../../src/log/entry.ts";
import { parseFilter } from "../../src/log/filter.ts";
import { LogHub } from "../../src/log/hub.ts";
import { LogRing } from "../../src/log/ring.ts";
import { settingsFor } from "../support/database-settings.ts";
import { bothDatabases, type DatabaseKind, newDatabase, tempFolder, testNode } from "../support/node.ts";
import { until } from "../support/until.ts";

const future = "m99990101_000001_future";

/** A database with the schema of this version. */
async function open(kind: DatabaseKind) {
  const folder = await tempFolder();
  const place = await newDatabase(kind, folder.path);
  const hub = new LogHub();
  const ring = new LogRing(100, parseFilter("info"));
  hub.attach(ring);
  const openAs = (options: {
    readonly serverUuid?: string;
    readonly migrations?: readonly Migration[];
    readonly beforeMigration?: (versions: readonly string[]) => Promise<void>;
  }): Promise<Database> => openDatabase(settingsFor(place.url), hub, { create: true, ...options });
  await (await openAs({})).close();
  return {
    ...place,
    openAs,
    /** What this version logged about a newer schema. */
    warnings: (): LogEntry[] =>
      ring.entries().filter(({ fields }) => fields.event === "database.schema_newer"),
    async [Symbol.asyncDispose]() {
      await place.drop();
      await folder[Symbol.asyncDispose]();
    },
  };
}

type Place = { run(statement: string): Promise<void> };

/** Does what a newer version does when it applies a migration. */
async function migrateAsNewer(place: Place, effect: object | undefined): Promise<void> {
  await place.run(`INSERT INTO seaql_migrations (version, applied_at) VALUES ('${future}', 1)`);
  if (effect === undefined) return;
  const value = JSON.stringify({ by: "9.0.0", ...effect });
  await place.run(`INSERT INTO kv (namespace, key, value) VALUES ('migrations', '${future}', '${value}')`);
}

const removesColumn = (requires?: string): Migration => ({
  version: future,
  effect: "contracts",
  ...(requires !== undefined && { requires }),
  statements: () => ['ALTER TABLE "crontab" DROP COLUMN "last_run_time"'],
});

async function hasColumn(place: Place): Promise<boolean> {
  try {
    await place.run("UPDATE crontab SET last_run_time = NULL");
    return true;
  } catch {
    return false;
  }
}

async function writeNode(
  place: Place,
  key: string,
  { seenMsAgo = 0, schema = newestMigration as string | null } = {},
): Promise<void> {
  const value = { name: key.slice(0, 5), version: "1.0.0", at: Date.now() - seenMsAgo, schema };
  await place.run(
    `INSERT INTO kv (namespace, key, value) VALUES ('nodes', '${key}', '${JSON.stringify(value)}')`,
  );
}

bothDatabases(
  "a version goes on with a schema that a newer one has only expanded, and says so",
  async (kind) => {
    await using place = await open(kind);
    await migrateAsNewer(place, { effect: "expands" });
    const database = await place.openAs({});
    expect(await database.newerMigrations()).toEqual([{ version: future, by: "9.0.0", isCompatible: true }]);
    await database.close();
    expect(place.warnings()).toMatchObject([
      {
        level: "WARN",
        fields: { migrations: [future], by: "9.0.0" },
        message: expect.stringMatching(/newer version.*9\.0\.0/),
      },
    ]);
  },
);

bothDatabases("a version refuses a schema that a newer one has contracted", async (kind) => {
  await using place = await open(kind);
  for (const effect of [
    { effect: "contracts", requires: future },
    { effect: "contracts", requires: "m99981231_000001_never_seen" },
    { effect: "something else" },
    undefined,
  ]) {
    await place.run(`DELETE FROM seaql_migrations WHERE version = '${future}'`);
    await place.run(`DELETE FROM kv WHERE key = '${future}'`);
    await migrateAsNewer(place, effect);
    await expect(place.openAs({})).rejects.toMatchObject({
      kind: "DatabaseError",
      data: { reason: "schema_newer", migration: future },
    });
  }
});

bothDatabases(
  "a schema without what this version has stopped to use is one that it goes on with",
  async (kind) => {
    await using place = await open(kind);
    await migrateAsNewer(place, { effect: "contracts", requires: newestMigration });
    await (await place.openAs({})).close();
    expect(place.warnings()).toHaveLength(1);
  },
);

bothDatabases("a contracting migration waits until no node runs that could not go on", async (kind) => {
  await using place = await open(kind);
  const copied: string[] = [];
  const newer = (requires?: string) =>
    place.openAs({
      serverUuid: "00000000-0000-4000-8000-000000000001",
      migrations: [...migrations, removesColumn(requires)],
      beforeMigration: async (versions) => void copied.push(...versions),
    });
  // An earlier start of the node that migrates, and a node that ended long ago.
  await writeNode(place, "00000000-0000-4000-8000-000000000001/boot", { schema: null });
  await writeNode(place, "older-1/boot", { seenMsAgo: 61_000, schema: null });
  await writeNode(place, "older-2/boot", { schema: newestMigration });
  await writeNode(place, "older-3/boot", { schema: null });
  await expect(newer()).rejects.toMatchObject({
    kind: "DatabaseError",
    detail: expect.stringMatching(
      /older version: older \(1\.0\.0\); nothing was changed\. Stop them, or update them/,
    ),
    data: { reason: "older_nodes", migration: future, nodes: ["older (1.0.0)"] },
  });
  expect(copied).toEqual([]);
  expect(await hasColumn(place)).toBe(true);
  await place.run("DELETE FROM kv WHERE namespace = 'nodes' AND key = 'older-3/boot'");
  // The node that is left knows what the migration requires, though not the migration itself.
  await expect(newer()).rejects.toMatchObject({ data: { reason: "older_nodes" } });
  await (await newer(newestMigration)).close();
  expect(copied).toEqual([future]);
  expect(await hasColumn(place)).toBe(false);
  // What it recorded is what this version judges it by.
  await (await place.openAs({})).close();
  expect(place.warnings()).toMatchObject([{ fields: { migrations: [future] } }]);
});

bothDatabases(
  "a node that runs while a newer one contracts the schema is not ready any more, and says why",
  async (kind) => {
    await using node = await testNode({ database: kind, logging: 'memory_log_filter = "info"' });
    const ready = async () => {
      const response = await fetch(`${node.url}/node/ready`);
      return ((await response.json()) as { readonly missing?: readonly string[] }).missing ?? [];
    };
    const eventsOf = async () => {
      const entries = (await node.call("node-server_log", { token: node.superToken })) as LogEntry[];
      return entries
        .map(({ fields }) => fields.event)
        .filter((event) => String(event).startsWith("database.schema"));
    };
    expect(await ready()).toEqual([]);
    await migrateAsNewer({ run: (statement) => node.sql(statement) }, { effect: "contracts" });
    await until("it is not ready", async () => (await ready()).includes("schema"));
    await ready();
    expect(await eventsOf()).toEqual(["database.schema_refused"]);
    await node.sql(`DELETE FROM seaql_migrations WHERE version = '${future}'`);
    await until("it is ready again", async () => (await ready()).length === 0);
    expect(await eventsOf()).toEqual(["database.schema_refused", "database.schema_accepted"]);
  },
);
