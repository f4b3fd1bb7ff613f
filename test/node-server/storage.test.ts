import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { SQL } from "bun";
import { eachDatabase, type TestNode, testNode } from "../support/node.ts";
import { newPostgresDatabase } from "../support/postgres.ts";
import { exec } from "../support/sql.ts";

interface Storage {
  readonly tables: Readonly<Record<string, number>>;
  readonly total: number;
}

const method = "node-server_database_storage";
const storage = async (node: TestNode) => (await node.call(method, { token: node.superToken })) as Storage;

/** The names as they stand in the answer's text: an object in JavaScript has an order of its own. */
async function namesInOrder(node: TestNode): Promise<string[]> {
  const body = JSON.stringify({ jsonrpc: "2.0", method, params: [node.superToken], id: 1 });
  const text = await (await node.post(body)).text();
  const tables = /"tables":\{(.*?)\},"total"/.exec(text)?.[1] ?? "";
  return [...tables.matchAll(/("(?:[^"\\]|\\.)*"):\d+/g)].map(([, name]) => JSON.parse(name ?? "") as string);
}

const business = [
  ...["crontab", "crontab_result", "db_registry", "dynamic_monitoring", "dynamic_monitoring_summary"],
  ...["js_result", "js_worker", "kv", "monitoring_uuid", "static_file", "static_monitoring", "task", "token"],
];
const quote = (name: string) => `"${name.replaceAll('"', '""')}"`;

eachDatabase(
  "the 13 business tables are told by name, in order, with their sizes and the sum",
  async (kind) => {
    await using node = await testNode({ database: kind });
    const { tables, total, ...rest } = await storage(node);
    expect(rest).toEqual({});
    expect(await namesInOrder(node)).toEqual(business);
    expect(Object.keys(tables)).toHaveLength(13);
    for (const bytes of Object.values(tables)) expect(Number.isInteger(bytes) && bytes > 0).toBe(true);
    expect(total).toBe(Object.values(tables).reduce((sum, bytes) => sum + bytes, 0));
    expect(await node.call(method, [node.superToken])).toEqual({ tables, total });
  },
);

eachDatabase("a table counts from the moment it is made until it is dropped", async (kind) => {
  await using node = await testNode({ database: kind });
  const before = await storage(node);
  await exec(node, "CREATE TABLE middle (a INT PRIMARY KEY)");
  expect(await namesInOrder(node)).toEqual([...business, "middle"].sort());
  const { tables, total } = await storage(node);
  expect(total).toBe(before.total + (tables.middle ?? Number.NaN));
  await exec(node, "DROP TABLE middle; CREATE VIEW middle AS SELECT 1 AS a");
  expect(await storage(node)).toEqual(before);
});

eachDatabase("any legal name of a table is counted and told", async (kind) => {
  await using node = await testNode({ database: kind });
  const names = [
    ...["Order Details", "weiß", 'a"b', "a'b", "123", "9", "10", "__proto__", "constructor", "MixedCase"],
    ...["select", "sqliteish", "sqlite-x", "a\\b", "a%b", "100% \u{1f600}", "-", "seaql_migrations2"],
  ];
  const made = names.map(
    (name) => `CREATE TABLE ${quote(name)} (a INT PRIMARY KEY); INSERT INTO ${quote(name)} VALUES (1)`,
  );
  await exec(node, made.join(";"));
  const { tables, total } = await storage(node);
  for (const name of names) {
    expect({ name, counted: Object.hasOwn(tables, name) && (tables[name] ?? 0) > 0 }).toEqual({
      name,
      counted: true,
    });
  }
  expect(Object.keys(tables)).toHaveLength(13 + names.length);
  expect(total).toBe(Object.values(tables).reduce((sum, bytes) => sum + bytes, 0));
});

eachDatabase("the order is alphabetical whatever the names look like, numbers included", async (kind) => {
  await using node = await testNode({ database: kind });
  const names = ["-", "10", "9", "Zoo", "__proto__", "zebra"];
  await exec(node, names.map((name) => `CREATE TABLE ${quote(name)} (a INT)`).join(";"));
  expect(await namesInOrder(node)).toEqual([...business, ...names].sort());
});

test("on SQLite a table's figure is the pages of the table itself, without its indexes", async () => {
  await using node = await testNode();
  await exec(node, "CREATE TABLE grown (a INTEGER, b TEXT)");
  const size = async () => (await storage(node)).tables.grown;
  expect(await size()).toBe(4096);
  const rows = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5000)";
  await exec(node, `INSERT INTO grown ${rows} SELECT n, hex(randomblob(50)) FROM c`);
  const grown = await size();
  expect(grown).toBeGreaterThan(5000 * 100);
  await exec(node, "CREATE INDEX by_b ON grown (b); CREATE UNIQUE INDEX by_a ON grown (a)");
  expect(await size()).toBe(grown);
  using file = new Database(`${node.folder}/data/node.db`, { readonly: true });
  const pages = file.query("SELECT sum(pgsize) AS bytes FROM dbstat WHERE name = ?");
  const { tables } = await storage(node);
  for (const [name, bytes] of Object.entries(tables)) expect(pages.get(name)).toEqual({ bytes });
  // One large value lies on pages of its own, which are the table's too.
  await exec(node, "INSERT INTO grown (b) VALUES (hex(zeroblob(1000000)))");
  expect(await size()).toBeGreaterThan((grown ?? 0) + 2_000_000);
  await exec(node, "DELETE FROM grown");
  expect(await size()).toBe(4096);
});

test("on SQLite neither its own tables, nor indexes, views or attached files are counted", async () => {
  await using node = await testNode();
  await exec(
    node,
    `ATTACH '${node.folder}/side.db' AS side; CREATE TABLE side.elsewhere (a); CREATE TEMP TABLE passing (a)`,
  );
  await exec(node, "ANALYZE");
  expect(await namesInOrder(node)).toEqual(business);
});

test("on SQLite tables without rowid and virtual tables are counted too", async () => {
  await using node = await testNode();
  await exec(node, "CREATE TABLE bare (a TEXT PRIMARY KEY) WITHOUT ROWID; INSERT INTO bare VALUES ('x')");
  await exec(node, "CREATE VIRTUAL TABLE words USING fts5(text)");
  await exec(node, "INSERT INTO words (text) VALUES ('some words')");
  const { tables } = await storage(node);
  expect(tables.bare).toBe(4096);
  // A virtual table has no pages itself: they belong to the tables that it keeps behind it.
  expect(tables).toMatchObject({ words: 0, words_content: 4096 });
});

test("on PostgreSQL a table's figure is its total relation size, indexes and toast included", async () => {
  await using node = await testNode({ database: "postgres" });
  await exec(
    node,
    "CREATE TABLE grown (a INT, b TEXT); INSERT INTO grown SELECT n, repeat(md5(n::text), 5) FROM generate_series(1, 3000) AS s(n)",
  );
  await exec(
    node,
    "INSERT INTO grown SELECT n, (SELECT string_agg(md5(random()::text || m), '') FROM generate_series(1, 500) AS t(m)) FROM generate_series(1, 20) AS s(n)",
  );
  const plain = (await storage(node)).tables.grown ?? 0;
  await exec(node, "CREATE INDEX by_a ON grown (a); CREATE TABLE parts (a INT) PARTITION BY RANGE (a)");
  await exec(node, "CREATE TABLE part_one PARTITION OF parts FOR VALUES FROM (0) TO (10)");
  await exec(node, "INSERT INTO parts VALUES (1)");
  const { tables, total } = await storage(node);
  expect(tables.grown).toBeGreaterThan(plain);
  expect(tables).toHaveProperty("part_one");
  const { data } = await exec(
    node,
    "SELECT relname AS name, pg_total_relation_size(oid) AS bytes FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace AND relname <> 'seaql_migrations'",
  );
  expect(tables).toEqual(Object.fromEntries(data.map(({ name, bytes }) => [name, bytes as number])));
  expect(total).toBe(data.reduce((sum, { bytes }) => sum + Number(bytes), 0));
});

test("on PostgreSQL other schemas and temporary tables are not counted", async () => {
  await using node = await testNode({ database: "postgres" });
  await exec(
    node,
    "CREATE SCHEMA other; CREATE TABLE other.hidden (a INT); CREATE TABLE other.token (a INT)",
  );
  await exec(node, "CREATE TEMP TABLE passing (a INT)");
  await exec(node, "CREATE MATERIALIZED VIEW seen AS SELECT 1 AS a; CREATE SEQUENCE numbers");
  expect(await namesInOrder(node)).toEqual(business);
});

for (const schema of ["apart", "Mixed Case"]) {
  test(`on PostgreSQL the current schema may be "${schema}"`, async () => {
    const database = await newPostgresDatabase();
    await using admin = new SQL({ url: database.url, max: 1 });
    await admin.unsafe(`CREATE SCHEMA "${schema}"`);
    await admin.unsafe(
      `ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET search_path = "${schema}"`,
    );
    await admin.unsafe("CREATE TABLE public.hidden (a INT)");
    {
      await using node = await testNode({ databaseUrl: database.url });
      expect(await namesInOrder(node)).toEqual(business);
    }
    await admin.close();
    await database.drop();
  });
}

test("measuring a large SQLite file holds up nobody", async () => {
  await using node = await testNode();
  await exec(
    node,
    "CREATE TABLE big (a BLOB); INSERT INTO big WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 80) SELECT zeroblob(1000000) FROM c",
  );
  let measured = false;
  const measuring = storage(node).finally(() => {
    measured = true;
  });
  let answered = 0;
  for (; !measured; answered += 1) await node.call("node-server_hello");
  expect((await measuring).tables.big).toBeGreaterThan(80_000_000);
  // One call may have come before the measuring began, and one may have come after it.
  expect(answered).toBeGreaterThan(5);
});

eachDatabase("only the Super Token may ask", async (kind) => {
  await using node = await testNode({ database: kind });
  const token = await node.newToken([{ scopes: ["global"], permissions: [{ node: "exec_sql" }] }]);
  for (const given of [token, "no:body", "root|wrong"]) {
    expect(await node.refused(method, { token: given })).toMatchObject({
      code: 102,
    });
  }
  expect(await node.call(method, { token: `root|${node.rootPassword}` })).toHaveProperty("total");
});
