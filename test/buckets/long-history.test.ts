import { expect } from "bun:test";
import { SQL } from "bun";
import { RowVersions } from "../../src/buckets/history/rows/versions.ts";
import { type TreePath, treePath, treeRoot } from "../../src/buckets/path.ts";
import { openDatabase } from "../../src/db/database.ts";
import type { FileValue, FolderValue } from "../../src/db/rows/entry-values.ts";
import { parseFilter } from "../../src/log/filter.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "../support/database-settings.ts";
import { eachDatabase } from "../support/node.ts";
import { objectRows } from "../support/object-rows.ts";

const until = Date.now() + 86_400_000;
const file = (version: number): FileValue => ({
  blob: null,
  hash: "",
  size: 1,
  modified: 1,
  created: 1,
  version,
});
const folder = (id: string): FolderValue => ({ id, modified: 1, created: 1, version: 1 });
/** Names of which the order is another one in most languages, in UTF-16 and by whole paths. */
const names = ["a", "B", "a.txt", "a b", "é", "z", "\uffee", "😀", "_", "0"];

eachDatabase(
  "the history of a large folder that was deleted is read page by page, each file once",
  async (kind) => {
    await using rows = await objectRows(kind);
    const perFolder = 60;
    const expected = new Set<string>();
    await rows.removed("site", "7/tree", { entry: folder("top"), until });
    for (const name of names) {
      const files = new Map<string, unknown>();
      for (let at = 0; at < perFolder; at += 1) files.set(`${names[at % names.length]}-${at}`, file(1));
      await rows.putAll(`static-files/${name}`, files);
      await rows.entry("top", name, folder(name));
      await rows.entry("top", `${name}-file`, file(1));
      expected.add(`tree/${name}-file`);
      for (const below of files.keys()) expected.add(`tree/${name}/${below}`);
    }
    await rows.removed("site", "9/new.txt", { entry: file(9), until });
    await rows.removed("site", "3/old.txt", { entry: file(3), until });

    let statements = 0;
    const ended = () => {
      statements += 1;
    };
    const observers = { server: { ended } };
    const options = { create: false, observers };
    const database = await openDatabase(settingsFor(rows.databaseUrl), new LogHub(), options);
    const versions = new RowVersions({ database, bucketPath: "site", retentionDays: 7 });
    statements = 0;
    const first = await versions.list(treeRoot, { max: 20, filesOnly: true });
    expect(first).toHaveLength(20);
    expect(first[0]?.path).toBe(treePath("new.txt"));
    // The clock, the removed names, the folder and what is in the first of its folders: nothing of the others.
    expect(statements).toBeLessThan(8);
    const seen: TreePath[] = [];
    const max = Math.ceil(expected.size / 9);
    for (let page = await versions.list(treeRoot, { max, filesOnly: true }); page.length > 0; ) {
      seen.push(...page.map(({ path }) => path));
      page = await versions.list(treeRoot, { max, filesOnly: true, after: page.at(-1) });
    }
    await database.close();
    expect([seen[0], seen.at(-1)]).toEqual([treePath("new.txt"), treePath("old.txt")]);
    const inTree: readonly string[] = seen.slice(1, -1);
    expect(inTree).toHaveLength(expected.size);
    expect(new Set(inTree)).toEqual(expected);
  },
);

eachDatabase("a page of a long history reads as many rows as it has, from the newest on", async (kind) => {
  await using rows = await objectRows(kind);
  const total = 3000;
  const versions = new Map<string, unknown>();
  for (let version = 1; version <= total; version += 1)
    versions.set(`${version}/a.txt`, { path: "a.txt", entry: file(version), at: until - 86_400_000, until });
  await rows.putAll("static-files/removed/site", versions);
  await rows.removed("other", "7000/b.txt", { entry: file(7000), until });

  const hub = new LogHub();
  const statements: Array<{ readonly sql: string; readonly rows: number }> = [];
  hub.attach({
    filter: parseFilter("trace"),
    write({ message, fields }) {
      if (typeof fields.rows === "number") statements.push({ sql: message, rows: fields.rows });
    },
  });
  const database = await openDatabase(settingsFor(rows.databaseUrl), hub, { create: false });
  const history = new RowVersions({ database, bucketPath: "site", retentionDays: 7 });
  const seen: number[] = [];
  let after: { readonly version: number; readonly path: TreePath } | undefined;
  for (const max of [1000, 1000, 50]) {
    statements.length = 0;
    const page = await history.list(treeRoot, { max, after });
    expect(page).toHaveLength(max);
    expect(statements.reduce((sum, { rows }) => sum + rows, 0)).toBeLessThan(max * 1.5 + 20);
    seen.push(...page.map(({ version }) => version));
    after = page.at(-1);
  }
  expect(seen).toEqual(Array.from({ length: 2050 }, (_, at) => total - at));
  await database.close();

  // Neither reads the whole history, nor sorts it.
  const { sql: read = "" } = statements.find(({ sql }) => sql.includes("desc")) ?? {};
  const isPostgres = kind === "postgres";
  await using outside = new SQL({ url: rows.databaseUrl, max: 1 });
  const values = ["static-files/removed/site", 2000, 51];
  const literal = values.reduce<string>(
    (text, value, at) =>
      text.replace(isPostgres ? `$${at + 1}` : "?", typeof value === "string" ? `'${value}'` : String(value)),
    read,
  );
  if (isPostgres) await outside.unsafe("ANALYZE kv");
  const plan = JSON.stringify(
    await outside.unsafe(`${isPostgres ? "EXPLAIN" : "EXPLAIN QUERY PLAN"} ${literal}`),
  );
  expect(plan).toContain("idx_kv_removed");
  expect(plan).not.toMatch(/Sort|TEMP B-TREE/);
});
