import { expect } from "bun:test";
import { SQL } from "bun";
import { openDatabase } from "../../src/db/database.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "../support/database-settings.ts";
import { bothDatabases, type DatabaseKind, newDatabase, tempFolder } from "../support/node.ts";

/** `column type N|?[=default]`, after `id`. */
const columns: Readonly<Record<string, string>> = {
  monitoring_uuid: "uuid uuid N, soft_delete bool N=false",
  static_monitoring:
    "uuid_id int N, timestamp big N, cpu_data json N, system_data json N, gpu_data json N, data_hash bin N, storage_time big ?",
  dynamic_monitoring:
    "uuid_id int N, timestamp big N, cpu_data json N, ram_data json N, load_data json N, system_data json N, disk_data json N, network_data json N, gpu_data json N, storage_time big ?",
  dynamic_monitoring_summary:
    "uuid_id int N, timestamp big N, cpu_usage small ?, gpu_usage small ?, used_swap big ?, total_swap big ?, used_memory big ?, total_memory big ?, available_memory big ?, load_one small ?, load_five small ?, load_fifteen small ?, uptime int ?, boot_time big ?, process_count int ?, total_space big ?, available_space big ?, read_speed big ?, write_speed big ?, tcp_connections int ?, udp_connections int ?, total_received big ?, total_transmitted big ?, transmit_speed big ?, receive_speed big ?, storage_time big ?",
  task: "uuid uuid N, token str N, cron_source str ?, timestamp big ?, success bool ?=false, error_message str ?, task_event_type json N, task_event_result json ?",
  token:
    "version int N=1, token_key str N, token_hash str N, time_stamp_from big ?, time_stamp_to big ?, token_limit json N, username str ?, password_hash str ?, created_by str ?, username_skeleton str ?, name str ?, created_at big ?, last_used_at big ?",
  kv: "namespace str N, key str N, value json N",
  crontab: "name str N, enable bool N, cron_expression str N, cron_type json N, last_run_time big ?",
  crontab_result:
    "cron_id big N, cron_name str N, relative_id big ?, run_time big ?, success bool ?, message str ?",
  js_worker:
    "name str N, description str ?, js_script str N, js_byte_code bin ?, route_name str ?, env json ?, runtime_clean_time big ?, create_at big N, update_at big N, max_run_time big ?, max_stack_size big ?, max_heap_size big ?",
  js_result:
    "js_worker_id big N, js_worker_name str N, run_type str N, start_time big ?, finish_time big ?, param json ?, result json ?, error_message str ?",
  static_file:
    "name str N, path str N, is_http_root bool N=false, cors bool N=false, enable bool ?=true, public bool N=true, hosts json ?, clean_urls bool N=false",
  db_registry: "name str N, db_connections int ?=0, max_lifetime_ms big ?, created_at big N",
};

const indexes: Readonly<Record<string, readonly string[]>> = {
  monitoring_uuid: ["unique (uuid)"],
  static_monitoring: ["(uuid_id, timestamp)", "unique (uuid_id, data_hash)", "(storage_time)"],
  dynamic_monitoring: ["(uuid_id, timestamp)", "(storage_time)"],
  dynamic_monitoring_summary: ["(uuid_id, timestamp)", "(storage_time)"],
  task: ["(uuid, timestamp)", "(cron_source)"],
  token: [
    "unique (token_key)",
    "unique (username)",
    "unique (username_skeleton) where username_skeleton IS NOT NULL",
  ],
  kv: [
    "unique (namespace, key)",
    "(namespace, the number of key) where removed",
    "(blob of value) where it names one",
    "(folder of value) where it names one",
  ],
  crontab: ["unique (name)"],
  crontab_result: ["(cron_id)", "(cron_name)", "(relative_id)", "(run_time desc)"],
  js_worker: ["unique (name)", "unique (route_name)"],
  js_result: ["(js_worker_id)", "(js_worker_name, start_time desc)"],
  static_file: [
    "unique (name)",
    "unique (is_http_root) where is_http_root",
    "(name) where hosts IS NOT NULL",
  ],
  db_registry: ["unique (name)"],
};

const logicalTypes: Readonly<Record<DatabaseKind, Readonly<Record<string, string>>>> = {
  sqlite: {
    big: "BIGINT",
    int: "INTEGER",
    small: "SMALLINT",
    str: "TEXT",
    json: "TEXT",
    uuid: "TEXT",
    bool: "BOOLEAN",
    bin: "BLOB",
  },
  postgres: {
    big: "bigint",
    int: "integer",
    small: "smallint",
    str: "text",
    json: "jsonb",
    uuid: "uuid",
    bool: "boolean",
    bin: "bytea",
  },
};

/** What the catalogue of each database tells, in the same words. */
const catalogue: Readonly<Record<DatabaseKind, { tables: string; columns: string; indexes: string }>> = {
  sqlite: {
    tables: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    columns: `SELECT m.name AS "table", c.name AS name, c.type AS type, c."notnull" = 0 AND c.pk = 0 AS nullable, c.dflt_value AS standard
      FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY m.name, c.cid`,
    indexes: `SELECT tbl_name AS "table", sql AS definition FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL`,
  },
  postgres: {
    tables: "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()",
    columns: `SELECT table_name AS "table", column_name AS name, data_type AS type, is_nullable = 'YES' AS nullable, column_default AS standard
      FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY table_name, ordinal_position`,
    indexes: `SELECT tablename AS "table", indexdef AS definition FROM pg_indexes WHERE schemaname = current_schema() AND indexname NOT LIKE '%_pkey'`,
  },
};

interface ColumnRow {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  readonly nullable: boolean | number;
  readonly standard: string | null;
}

/** A new database that the server's own migrations made, and a connection past the server. */
async function migrated(kind: DatabaseKind) {
  const folder = await tempFolder();
  const place = await newDatabase(kind, folder.path);
  await (await openDatabase(settingsFor(place.url), new LogHub(), { create: true })).close();
  const sql = new SQL({ url: place.url, max: 1 });
  return {
    read: async <T>(statement: string): Promise<T[]> => [...((await sql.unsafe(statement)) as T[])],
    async [Symbol.asyncDispose]() {
      await sql.close();
      await place.drop();
      await folder[Symbol.asyncDispose]();
    },
  };
}

bothDatabases(
  "a new database has the 13 business tables and the record of migrations, and no other",
  async (kind) => {
    await using database = await migrated(kind);
    const tables = await database.read<{ name: string }>(catalogue[kind].tables);
    expect(tables.map(({ name }) => name).sort()).toEqual(
      [...Object.keys(columns), "seaql_migrations"].sort(),
    );
  },
);

bothDatabases("every table has its columns, with type, nullability and default", async (kind) => {
  await using database = await migrated(kind);
  const rows = await database.read<ColumnRow>(catalogue[kind].columns);
  for (const [table, expected] of Object.entries(columns)) {
    const found = rows.filter((row) => row.table === table);
    const shown = found
      .slice(1)
      .map(
        ({ name, type, nullable, standard }) =>
          `${name} ${type} ${nullable ? "?" : "N"}${standard === null ? "" : `=${standard}`}`,
      );
    const wanted = expected.split(", ").map((line) => {
      const [name = "", type = "", rest = ""] = line.split(" ");
      return `${name} ${logicalTypes[kind][type]} ${rest}`;
    });
    expect({ table, columns: shown }).toEqual({ table, columns: wanted });
    expect({
      table,
      id: found[0]?.name,
      type: found[0]?.type.toLowerCase(),
      nullable: Boolean(found[0]?.nullable),
    }).toEqual({
      table,
      id: "id",
      type: kind === "sqlite" ? "integer" : "bigint",
      nullable: false,
    });
  }
  const record = rows.filter(({ table }) => table === "seaql_migrations");
  expect(record.map(({ name, type }) => `${name} ${type.toLowerCase()}`)).toEqual([
    `version ${kind === "sqlite" ? "varchar" : "character varying"}`,
    "applied_at bigint",
  ]);
});

bothDatabases(
  "every table has its indexes, unique and partial where they should be, and no other",
  async (kind) => {
    await using database = await migrated(kind);
    const rows = await database.read<{ table: string; definition: string }>(catalogue[kind].indexes);
    for (const [table, expected] of Object.entries(indexes)) {
      const found = rows.filter((row) => row.table === table).map(({ definition }) => toWords(definition));
      expect({ table, indexes: found.sort() }).toEqual({ table, indexes: [...expected].sort() });
    }
    expect(rows.filter(({ table }) => indexes[table] === undefined)).toEqual([]);
  },
);

/** `CREATE UNIQUE INDEX "i" ON "t" USING btree ("a", "b" DESC) WHERE c` → `unique (a, b desc) where c`. */
function toWords(definition: string): string {
  // Each database has its own words for the number that a text begins with.
  if (
    /^CREATE INDEX "?idx_kv_removed"? ON .*\("?namespace"?, .*key.*\) WHERE .*static-files\/removed\//i.test(
      definition,
    )
  )
    return "(namespace, the number of key) where removed";
  const [, named] =
    /^CREATE INDEX "?idx_kv_(blob|folder)"? ON .* WHERE .* IS NOT NULL\)?$/is.exec(definition) ?? [];
  if (named !== undefined) return `(${named} of value) where it names one`;
  const match = /^CREATE (UNIQUE )?INDEX .+? \(([^()]+)\)(?: WHERE \(?([^()]+)\)?)?$/.exec(
    definition.replaceAll('"', ""),
  );
  const [, unique, on = definition, where] = match ?? [];
  return `${unique === undefined ? "" : "unique "}(${on.toLowerCase()})${where === undefined ? "" : ` where ${where}`}`;
}

bothDatabases("two buckets cannot both be the HTTP root, any number can be none", async (kind) => {
  await using database = await migrated(kind);
  const add = (name: string, root: boolean) =>
    database.read(
      `INSERT INTO static_file (name, path, is_http_root) VALUES ('${name}', '${name}', ${root})`,
    );
  await add("a", false);
  await add("b", false);
  await add("c", true);
  await expect(add("d", true)).rejects.toThrow(/unique/i);
  await add("e", false);
  expect(await database.read("SELECT name FROM static_file ORDER BY id")).toMatchObject(
    ["a", "b", "c", "e"].map((name) => ({ name })),
  );
});

bothDatabases(
  "tokens without a user name do not stand in each other's way, two with the same name do",
  async (kind) => {
    await using database = await migrated(kind);
    const add = (key: string, username: string | null) =>
      database.read(
        `INSERT INTO token (token_key, token_hash, token_limit, username) VALUES ('${key}', '', '[]', ${username === null ? "NULL" : `'${username}'`})`,
      );
    await add("a", null);
    await add("b", null);
    await add("c", "anna");
    await expect(add("d", "anna")).rejects.toThrow(/unique/i);
    await expect(add("a", "berta")).rejects.toThrow(/unique/i);
  },
);
