import { expect, test } from "bun:test";
import fc from "fast-check";
import { openDatabase } from "../../src/db/database.ts";
import { type KvRows, maxKeyBytes } from "../../src/db/rows/kv-rows.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "../support/database-settings.ts";
import { bothDatabases, type DatabaseKind, migratedDatabase, tempFolder } from "../support/node.ts";

async function openRows(kind: DatabaseKind): Promise<{ rows: KvRows } & AsyncDisposable> {
  const folder = await tempFolder();
  const { url, drop } = await migratedDatabase(kind, folder.path);
  const settings = {
    ...settingsFor(url),
    timeout_ms: 10_000,
    max_connections: 4,
  };
  const database = await openDatabase(settings, new LogHub(), { create: true });
  return {
    rows: database.kv,
    async [Symbol.asyncDispose]() {
      await database.close();
      await drop();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const put = (rows: KvRows, namespace: string, values: Record<string, unknown>) =>
  rows.change(namespace, { keys: [] }, () => ({ write: new Map(Object.entries(values)), result: undefined }));

const sorted = (found: ReadonlyArray<{ key: string }>) => found.map(({ key }) => key).sort();
const everything = async (rows: KvRows, namespace: string) => sorted(await rows.subtree(namespace, "/"));

/** Names that mean something to a pattern, to quoting, to a sorting or to somebody who counts in bytes. */
const oddNames = [
  "a",
  "A",
  "ab",
  "a b",
  "%",
  "a%",
  "_",
  "a_",
  "\\",
  "a\\",
  "'",
  "''",
  '"',
  "?",
  "$1",
  ":a",
  "[a]",
  "*",
  "é",
  "e\u0301",
  "日本",
  "😀",
  "😀b",
  "ß",
  "SS",
  "İ",
  "i",
  "\u{10ffff}",
  "\u200b",
  " ",
  "\n",
  "-- ",
  "0",
  "00",
];

bothDatabases("a key and what is below it are found by whole names, whatever they hold", async (kind) => {
  await using database = await openRows(kind);
  const { rows } = database;
  const keys = oddNames.flatMap((name) => [`/${name}`, `/${name}/x`, `/${name}/x/${name}`]);
  await put(rows, "n", Object.fromEntries(keys.map((key) => [key, { key }])));
  await put(rows, "other", Object.fromEntries(keys.map((key) => [key, "other"])));
  for (const name of oddNames) {
    const found = await rows.subtree("n", `/${name}`);
    expect(sorted(found)).toEqual([`/${name}`, `/${name}/x`, `/${name}/x/${name}`].sort());
    expect(found.every(({ key, value }) => Bun.deepEquals(value, { key }))).toBe(true);
  }
  expect(await everything(rows, "n")).toEqual(keys.sort());
  expect(await rows.subtree("n", "/nope")).toEqual([]);
  expect(await rows.subtree("N", "/")).toEqual([]);
});

bothDatabases(
  "a key moves with all below it, takes the other's place and touches nothing else",
  async (kind) => {
    await using database = await openRows(kind);
    const { rows } = database;
    for (const from of oddNames) {
      const to = `${from}%to😀`;
      const moved = [`/${from}`, `/${from}/x`, `/${from}/é/😀`];
      const stay = [`/${from}~`, `/x/${from}`, `/${to}~`, `/${to}~/x`];
      const replaced = [`/${to}`, `/${to}/x`, `/${to}/gone`];
      const values = [...moved, ...stay, ...replaced].map((key) => [key, key]);
      await put(rows, "n", Object.fromEntries(values));
      await rows.move("n", `/${from}`, `/${to}`);
      const expected = [
        ...moved.map((key) => [`/${to}${key.slice(from.length + 1)}`, key]),
        ...stay.map((key) => [key, key]),
      ];
      const found = (await rows.subtree("n", "/")).map(({ key, value }) => [key, value]);
      expect(found.sort()).toEqual(expected.sort());
      await rows.remove("n", "/", { includingKey: true });
    }
  },
);

bothDatabases(
  "removing a key removes all below it, the key itself as wished, and nothing beside it",
  async (kind) => {
    await using database = await openRows(kind);
    const { rows } = database;
    const keys = oddNames.flatMap((name) => [`/${name}`, `/${name}/x`]);
    await put(rows, "n", Object.fromEntries(keys.map((key) => [key, {}])));
    await put(rows, "other", { "/a": {} });
    for (const [at, name] of oddNames.entries()) {
      await rows.remove("n", `/${name}`, { includingKey: false });
      expect(await everything(rows, "n")).toEqual([`/${name}`, ...keys.slice((at + 1) * 2)].sort());
      await rows.remove("n", `/${name}`, { includingKey: true });
      expect(await everything(rows, "n")).toEqual(keys.slice((at + 1) * 2).sort());
    }
    expect([await rows.isEmpty("n"), await rows.isEmpty("other")]).toEqual([true, false]);
    await put(rows, "third", { "/a": {} });
    await rows.removeAll(["n", "other"]);
    expect([await rows.isEmpty("other"), await rows.isEmpty("third")]).toEqual([true, false]);
  },
);

bothDatabases("a change sees what it asked for, writes all of its answer or nothing", async (kind) => {
  await using database = await openRows(kind);
  const { rows } = database;
  await put(rows, "n", { "/a": [1], "/b": { deep: { null: null } }, "/b/c": "ü'\"", "/z": [] });
  const seen = await rows.change("n", { keys: ["/a", "/nope"], subtree: "/b" }, (found) => ({
    write: new Map<string, unknown>([
      ["/a", undefined],
      ["/b", {}],
      ["/new", "n"],
    ]),
    result: [...found].sort(),
  }));
  expect(seen).toEqual([
    ["/a", [1]],
    ["/b", { deep: { null: null } }],
    ["/b/c", "ü'\""],
  ]);
  const now = async () =>
    Object.fromEntries((await rows.subtree("n", "/")).map(({ key, value }) => [key, value]));
  const after = { "/b": {}, "/b/c": "ü'\"", "/new": "n", "/z": [] };
  expect(await now()).toEqual(after);
  const failing = rows.change("n", { keys: ["/z"] }, () => {
    throw new RangeError("changed my mind");
  });
  await expect(failing).rejects.toThrow(new RangeError("changed my mind"));
  expect(await now()).toEqual(after);
  expect(await rows.getMany("n", [])).toEqual([]);
  expect(sorted(await rows.getMany("n", ["/b", "/b", "/nope", "/z"]))).toEqual(["/b", "/z"]);
});

bothDatabases("a hundred changes of one key at once lose nothing", async (kind) => {
  await using database = await openRows(kind);
  const { rows } = database;
  const add = (n: number) =>
    rows.change("n", { keys: ["/list"] }, (found) => ({
      write: new Map([["/list", [...((found.get("/list") as number[] | undefined) ?? []), n]]]),
      result: n,
    }));
  await Promise.all(Array.from({ length: 100 }, (_, n) => add(n)));
  const [list] = await rows.getMany("n", ["/list"]);
  const kept = list?.value as number[] | undefined;
  expect(kept?.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, n) => n));
});

bothDatabases("every JSON value comes back as it was kept", async (kind) => {
  await using database = await openRows(kind);
  const { rows } = database;
  const values = {
    text: "1",
    number: 1,
    half: 0.5,
    yes: true,
    no: false,
    list: [null, "ü"],
    deep: { "": {} },
  };
  for (const [name, value] of Object.entries(values)) {
    await put(rows, "n", { [`/${name}`]: value });
    expect(await rows.subtree("n", `/${name}`)).toEqual([{ key: `/${name}`, value }]);
  }
});

bothDatabases("a key may be as long as it says, and what a move would make longer is gone", async (kind) => {
  await using database = await openRows(kind);
  const { rows } = database;
  // Random, so that no compression makes it short.
  const name = () => Buffer.from(crypto.getRandomValues(new Uint8Array(120))).toString("hex");
  const key = `/${Array.from({ length: 16 }, name).join("/")}`.slice(0, maxKeyBytes);
  await put(rows, "n", { [key]: "here" });
  const top = key.slice(0, key.indexOf("/", 1));
  expect(await rows.subtree("n", top)).toEqual([{ key, value: "here" }]);
  await put(rows, "n", { [top]: "top" });
  await rows.move("n", top, `${top}x`);
  expect(await rows.subtree("n", "/")).toEqual([{ key: `${top}x`, value: "top" }]);
});

test("on SQLite, as many keys as a folder has files are asked for at once", async () => {
  await using database = await openRows("sqlite");
  const { rows } = database;
  await put(rows, "n", { "/5": [5] });
  const keys = Array.from({ length: 5000 }, (_, n) => `/${n}`);
  expect(await rows.getMany("n", keys)).toEqual([{ key: "/5", value: [5] }]);
});

bothDatabases("both databases agree with a plain map on what is below and what moves", async (kind) => {
  await using database = await openRows(kind);
  const { rows } = database;
  const name = fc.oneof(
    fc.constantFrom(...oddNames),
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 4 }),
  );
  const key = fc
    .array(
      name.filter((text) => !/[/\0]/.test(text) && text.isWellFormed()),
      { minLength: 1, maxLength: 3 },
    )
    .map((names) => `/${names.join("/")}`);
  const isWithin = (one: string, folder: string) => one === folder || one.startsWith(`${folder}/`);
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(key, { minLength: 1, maxLength: 12 }), key, async (keys, target) => {
      const from = keys[0] ?? "";
      fc.pre(!isWithin(target, from) && !isWithin(from, target));
      await put(rows, "n", Object.fromEntries(keys.map((one) => [one, one])));
      expect(sorted(await rows.subtree("n", from))).toEqual(keys.filter((one) => isWithin(one, from)).sort());
      await rows.move("n", from, target);
      const expected = keys
        .filter((one) => isWithin(one, from) || !isWithin(one, target))
        .map((one) => (isWithin(one, from) ? target + one.slice(from.length) : one));
      expect(await everything(rows, "n")).toEqual(expected.sort());
      await rows.remove("n", "/", { includingKey: true });
    }),
    { numRuns: 60 },
  );
});
