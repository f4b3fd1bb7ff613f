import { expect, test } from "bun:test";
import { FailedSignIns } from "../../src/auth/audit-log.ts";
import { writingStatements } from "../../src/db/operator/statement-text.ts";
import type { LogEntry } from "../../src/log/entry.ts";
import { parseFilter } from "../../src/log/filter.ts";
import { LogRing } from "../../src/log/ring.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { testNode } from "../support/node.ts";

const written = (path: string, token_key = "one"): LogEntry => ({
  timestamp: path,
  level: "INFO",
  target: "audit",
  message: "file written",
  fields: { event: "file.written", token_key, address: "127.0.0.1", bucket: "site", path, bytes: 1 },
  spans: [],
});
const other = (message: string): LogEntry => ({
  timestamp: "",
  level: "INFO",
  target: "server",
  message,
  fields: {},
  spans: [],
});

test("ten thousand changed files leave the other entries in the memory, and are counted there", () => {
  const ring = new LogRing(50, parseFilter("info"));
  for (const name of ["a", "b", "c"]) ring.write(other(name));
  for (let file = 0; file < 10_000; file++) ring.write(written(String(file)));
  ring.write(other("d"));
  const entries = ring.entries();
  expect(entries.filter(({ target }) => target === "server").map(({ message }) => message)).toEqual([
    "a",
    "b",
    "c",
    "d",
  ]);
  const files = entries.filter(({ target }) => target === "audit").map(({ fields }) => fields);
  expect(files.slice(0, 20).map(({ path, count }) => [path, count])).toEqual(
    Array.from({ length: 20 }, (_, at) => [String(at), undefined]),
  );
  expect(files.slice(20)).toEqual([expect.objectContaining({ path: "9999", count: 9980 })]);
});

test("the entry that counts files names the deepest folder of all of them", () => {
  const ring = new LogRing(50, parseFilter("info"));
  const folder = () => ring.entries().at(-1)?.fields.folder;
  for (let file = 0; file < 21; file++) ring.write(written(`a/b/c/${file}`));
  expect(folder()).toBe("a/b/c");
  ring.write(written("a/b/cd/1"));
  expect(folder()).toBe("a/b");
  ring.write(written("top"));
  expect(folder()).toBe("");
});

test("two clients at a time are counted each", () => {
  const ring = new LogRing(100, parseFilter("info"));
  for (let file = 0; file < 1000; file++) {
    ring.write(written(String(file), "one"));
    ring.write(written(String(file), "two"));
  }
  const counted = ring.entries().filter(({ fields }) => fields.count !== undefined);
  expect(counted.map(({ fields }) => [fields.token_key, fields.count])).toEqual([
    ["one", 980],
    ["two", 980],
  ]);
});

test("a count that other entries have replaced begins again, and what a reader was given does not change", () => {
  const ring = new LogRing(30, parseFilter("info"));
  for (let file = 0; file < 25; file++) ring.write(written(String(file)));
  const seen = ring.entries().at(-1);
  expect(seen?.fields.count).toBe(5);
  for (let count = 0; count < 30; count++) ring.write(other(String(count)));
  ring.write(written("after"));
  expect(ring.entries()).toHaveLength(30);
  expect(ring.entries().at(-1)?.fields).toMatchObject({ path: "after", count: 6 });
  expect(seen?.fields.count).toBe(5);
});

const guess = { address: "192.0.2.1", token_key: "guess", reason: "invalid_credentials" as const };

test("a failed sign-in is one entry, and the guesses after it are counted in one", () => {
  const made: unknown[] = [];
  {
    using failed = new FailedSignIns((entry) => made.push(entry), new ManualClock());
    failed.add(guess);
    expect(made).toEqual([{ ...guess, count: 1 }]);
    for (let count = 0; count < 500; count++) failed.add(guess);
    expect(made).toHaveLength(1);
    for (let host = 2; host <= 200; host++) failed.add({ ...guess, address: `192.0.2.${host}` });
    // Twenty addresses and one entry for the first of the others.
    expect(made).toHaveLength(21);
  }
  const { token_key: _, ...nameless } = guess;
  expect(made.slice(21)).toEqual([
    { ...guess, count: 500 },
    { ...nameless, address: "192.0.2.200", count: 179, other_names: true, other_addresses: true },
  ]);
});

test("guesses at one name are never counted for another", () => {
  const made: unknown[] = [];
  const { address, reason } = guess;
  {
    using failed = new FailedSignIns((entry) => made.push(entry), new ManualClock());
    for (let count = 0; count < 25; count++) failed.add({ address, reason, username: "nobody" });
    failed.add(guess);
    // A user name that looks like the key is another name.
    failed.add({ address, reason, username: "guess" });
    for (const username of ["four", "five", "*", "five"]) failed.add({ address, reason, username });
    failed.add({ address: "192.0.2.2", reason, username: "nobody" });
    expect(made).toEqual([
      { address, reason, username: "nobody", count: 1 },
      { ...guess, count: 1 },
      { address, reason, username: "guess", count: 1 },
      { address, reason, count: 1, other_names: true },
      { address: "192.0.2.2", reason, username: "nobody", count: 1 },
    ]);
  }
  expect(made.slice(5)).toEqual([
    { address, reason, username: "nobody", count: 24 },
    { address, reason, count: 3, other_names: true },
  ]);
});

test("an attacker who tries many names from many addresses fills neither log nor memory", () => {
  let made = 0;
  {
    using failed = new FailedSignIns(() => made++, new ManualClock());
    for (let count = 0; count < 20_000; count++)
      failed.add({ ...guess, address: `192.0.2.${count % 200}`, token_key: String(count) });
    expect(made).toBeLessThanOrEqual(21);
  }
  expect(made).toBeLessThanOrEqual(42);
});

test("a name that fails after another one has its own entry at once", async () => {
  await using node = await testNode({ logging: 'memory_log_filter = "audit=info"' });
  const failWith = (name: string) =>
    fetch(`${node.url}/node/static-webdav/site/`, {
      headers: { authorization: `Basic ${btoa(`${name}:wrong`)}` },
    });
  for (let count = 0; count < 3; count++) await failWith("nobody");
  await failWith("somebody");
  expect(node.node.ring.entries().map(({ fields }) => [fields.username, fields.count])).toEqual([
    ["nobody", 1],
    ["somebody", 1],
  ]);
});

test("failed sign-ins are told by all transports, with their reason", async () => {
  await using node = await testNode({ logging: 'memory_log_filter = "audit=info"' });
  const fields = () =>
    node.node.ring.entries().flatMap(({ fields }) => (fields.event === "sign_in.failed" ? [fields] : []));
  const past = Date.now() - 1000;
  const expired = await node.newToken([], { timestamp_to: past });
  await node.refused("token_get", [expired]);
  expect(fields()).toEqual([
    {
      event: "sign_in.failed",
      token_key: expired.split(":")[0],
      address: "127.0.0.1",
      reason: "expired",
      count: 1,
    },
  ]);
  await using other = await testNode({ logging: 'memory_log_filter = "audit=info"' });
  const authorization = `Basic ${btoa("nobody:wrong")}`;
  const refused = await fetch(`${other.url}/node/static-webdav/site/`, { headers: { authorization } });
  expect(refused.status).toBe(401);
  expect(other.node.ring.entries().map(({ fields }) => fields)).toEqual([
    {
      event: "sign_in.failed",
      username: "nobody",
      address: "127.0.0.1",
      reason: "invalid_credentials",
      count: 1,
    },
  ]);
});

const writing: ReadonlyArray<[sql: string, verbs: string[]]> = [
  ["SELECT 1", []],
  ["select * from a where b = 'delete' -- drop", []],
  ["VALUES (1); SELECT 2;", []],
  ["WITH x AS (SELECT 1) SELECT * FROM x", []],
  ["PRAGMA journal_mode", []],
  ["PRAGMA table_info(token)", []],
  ["EXPLAIN QUERY PLAN SELECT 1", []],
  ["SHOW server_version", []],
  ["UPDATE a SET b = 1", ["UPDATE"]],
  ["/* x */ insert into a values (1)", ["INSERT"]],
  ["SELECT 1; DELETE FROM a", ["SELECT", "DELETE"]],
  ["WITH x AS (DELETE FROM a RETURNING *) SELECT * FROM x", ["WITH"]],
  ["EXPLAIN ANALYZE DELETE FROM a", ["EXPLAIN"]],
  ["SELECT * INTO b FROM a", ["SELECT"]],
  ["SELECT setval('s', 1)", ["SELECT"]],
  ["SELECT pg_terminate_backend(1)", ["SELECT"]],
  ['SELECT "pg_terminate_backend"(1)', ["SELECT"]],
  ['SELECT U&"\\0070g_terminate_backend"(1)', ["SELECT"]],
  ["SELECT pg_terminate_backend/* x */ (1)", ["SELECT"]],
  ["SELECT E'\\'', pg_terminate_backend(1), '", ["SELECT"]],
  ["SELECT $$'$$, pg_terminate_backend(1), $$'$$", ["SELECT"]],
  ["SELECT 1 /* /* */ ' */, pg_terminate_backend(1) /* ' */", ["SELECT"]],
  ["SELECT $x$ a $x$, 'drop', 1 /* update */ FROM a", []],
  ["PRAGMA journal_mode = DELETE", ["PRAGMA"]],
  ["PRAGMA writable_schema(1)", ["PRAGMA"]],
  ["ATTACH 'x' AS y", ["ATTACH"]],
  ["VACUUM INTO 'x'", ["VACUUM"]],
  ["DO $$ begin delete from a; end $$", ["DO"]],
];

test.each(writing)("%j is audited as %j", (sql, verbs) => {
  expect(writingStatements(sql)).toEqual(verbs);
});

test("a text of many statements is audited by the first of them, also if they only read", () => {
  const verbs = [...Array<string>(10).fill("SELECT"), "…"];
  expect(writingStatements("SELECT 1;".repeat(20_000))).toEqual(verbs);
});
