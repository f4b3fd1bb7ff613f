import { expect } from "bun:test";
import { ensureSuperToken } from "../../src/auth/super-token.ts";
import { skeletonOf } from "../../src/base/visible-text.ts";
import { openDatabase } from "../../src/db/database.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "../support/database-settings.ts";
import { eachDatabase, type TestNode, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";

const sharedNode = sharedNodes();

const mayCreate = [{ scopes: ["global"], permissions: [{ token: "create" }] }];

const create = (node: TestNode, username: string, by = node.superToken) =>
  node.send("token_create", [by, { token_limit: [], username }]);
const keyOf = (token: string) => token.split(":")[0] ?? "";

eachDatabase(
  "a name with invisible or unknown characters, padding, mixed writing systems, or in the form of a key, is refused",
  async (database) => {
    await using node = await sharedNode({ database });
    for (const username of [
      "root ",
      " root",
      "root\u00a0",
      "r\u200boot",
      "\ufeffroot",
      "ro\u00adot",
      "\u202etoor",
      "a\u2066b",
      "a\u2028b",
      "r\u034foot",
      "\u3164",
      "a\ufe0fb",
      "a\u{e0041}b",
      "a\u2800b",
      "c3vRzqVb0Ytn1cUa",
      "a\ue000b",
      "a\u{10ffff}b",
      "a\u0378b",
      "rооt",
      "ROΟT",
      "АNNА ВО",
      "miа",
      "\u{1d42b}оо\u{1d42d}",
      "rօօt",
      "rᎪt",
      "rⲟt",
      "rꓳt",
      "анна μ",
      "かな Анна",
    ]) {
      const { error } = await create(node, username);
      expect({ username, code: error?.code, field: error?.data.field }).toEqual({
        username,
        code: -32602,
        field: "token_creation.username",
      });
    }
  },
);

eachDatabase(
  "a name that a reader takes for an existing one is refused, also at the same moment",
  async (database) => {
    await using node = await sharedNode({ database });
    await node.newToken([], { username: "Anna Bo" });
    await node.newToken([], { username: "coco" });
    await node.newToken([], { username: "Οδος" });
    await node.newToken([], { username: "admin" });
    await node.newToken([], { username: "zebra" });
    await node.newToken([], { username: "hugo" });
    for (const username of [
      ...["Root", "ｒｏｏｔ", "anna bo", "Anna\u3000Bo", "сосо", "СОСО", "ΟΔΟΣ", "οδοσ"],
      ...["ꓮꓓꓟꓲꓠ", "ꓣꓳꓳꓔ", "ᏃᎬᏴᎡᎪ", "ꮓꭼᏼꭱꭺ", "հսցօ", "ՀՍՑՕ"],
    ]) {
      const { error } = await create(node, username);
      expect({ username, code: error?.code, data: error?.data }).toEqual({
        username,
        code: 108,
        data: { kind: "InvalidInput", field: "username", reason: "confusable", detail: expect.any(String) },
      });
    }
    const race = await Promise.all(["mia", "Mia", "MIA", "ｍia"].map((name) => create(node, name)));
    expect(race.filter(({ error }) => error === undefined)).toHaveLength(1);
    for (const username of [
      "анна",
      "root1",
      "rootl",
      "r00t",
      "o'root",
      "Ольга 2",
      "Ελένη",
      "José-María",
      "Jose\u0301 2",
      "田中 さくら カー",
      "東京 node 1",
      "서울 node",
      "ᎠᎡᎢ",
      "ⵣⵉⵔⵉ",
      "أحمد",
      "रवि",
      "😀 team",
    ])
      expect([username, (await create(node, username)).error]).toEqual([username, undefined]);
  },
);

eachDatabase("a name cannot be another token's key, whatever form the key has", async (database) => {
  await using node = await sharedNode({ database });
  await node.sql("INSERT INTO token (token_key, token_hash, token_limit) VALUES ('deploy-key', '', '[]')");
  expect((await create(node, "deploy-key")).error).toMatchObject({ code: 108, data: { reason: "taken" } });
  const victim = await node.newToken([]);
  expect((await create(node, keyOf(victim))).error).toMatchObject({ code: -32602 });
});

eachDatabase(
  "a text that is one token's key and another's name is refused as ambiguous",
  async (database) => {
    await using node = await sharedNode({ database });
    const { superToken: token } = node;
    const victim = await node.newToken([]);
    const other = await node.newToken([], { username: "impostor", password: "right-word" });
    // A name from before such names were refused.
    await node.sql(`UPDATE token SET username = '${keyOf(victim)}' WHERE username = 'impostor'`);
    const target_token = keyOf(victim);
    for (const [method, params] of [
      ["token_delete", { token, target_token }],
      ["token_edit", { token, target_token, limit: [] }],
      ["token_change_password", { token, target_token, new_password: "new-word" }],
      ["token_roll_token_secret", { token, target_token }],
      ["token_get", { token: target_token, supertoken: token }],
    ] as const) {
      const { code, data } = await node.refused(method, params);
      expect({ method, code, data }).toEqual({
        method,
        code: 108,
        data: {
          kind: "InvalidInput",
          field: "target_token",
          reason: "ambiguous",
          username_of: keyOf(other),
          detail: expect.any(String),
        },
      });
    }
    // Both still work, each by its own credentials, and the older name is not locked out.
    expect(await node.call("token_get", { token: victim })).toMatchObject({ username: null });
    expect(await node.call("token_get", { token: `${target_token}|right-word` })).toMatchObject({
      token_key: keyOf(other),
    });
    await node.call("token_delete", { token, target_token: keyOf(other) });
    expect(await node.call("token_delete", { token, target_token })).toMatchObject({
      matched_by: "token_key",
    });
  },
);

eachDatabase("a named token is made without reading the names of the others", async (database) => {
  await using node = await testNode({ database, logging: 'memory_log_filter = "off,sqlx=trace"\n' });
  const values = Array.from({ length: 300 }, (_, at) => `('key-${at}', '', '[]', 'name ${at}')`);
  await node.sql(`INSERT INTO token (token_key, token_hash, token_limit, username) VALUES ${values.join()}`);
  const refusals = ["Berta", "berta", "name 7"].map(
    async (name) => (await create(node, name)).error?.data.reason,
  );
  expect((await Promise.all(refusals)).sort()).toEqual(["confusable", "taken", undefined]);
  const rows = node.node.ring.entries().map(({ fields }) => Number(fields.rows ?? 0));
  expect(rows.length).toBeGreaterThan(10);
  expect(Math.max(...rows)).toBeLessThan(10);
});

eachDatabase("a Super Token is made although another token has an alike name", async (database) => {
  await using node = await testNode({ database });
  await node.sql("DELETE FROM token");
  await node.sql(
    "INSERT INTO token (id, token_key, token_hash, token_limit, username, username_skeleton) VALUES (7, 'old', '', '[]', 'Root', 'root')",
  );
  const credentials: string[] = [];
  const opened = await openDatabase(settingsFor(node.databaseUrl), new LogHub(), { create: false });
  await ensureSuperToken(
    opened,
    {},
    { show: ({ token }) => void credentials.push(token), log: new LogHub().logger("x") },
  );
  await opened.close();
  expect(await node.call("token_get", { token: credentials[0] })).toMatchObject({ username: "root" });
});

eachDatabase("a token names its maker, and deleting the maker counts what it leaves", async (database) => {
  await using node = await testNode({ database });
  const maker = await node.newToken(mayCreate, { username: "maker", password: "right-word" });
  for (const [username, by] of [
    ["one", maker],
    ["two", "maker|right-word"],
  ] as const)
    expect((await create(node, username, by)).error).toBeUndefined();
  const { tokens } = (await node.call("token_list_all_tokens", { token: node.superToken })) as {
    tokens: Array<{ username: string | null; created_by: string | null }>;
  };
  expect(tokens.map(({ username, created_by }) => [username, created_by])).toEqual([
    ["root", null],
    ["maker", null],
    ["one", keyOf(maker)],
    ["two", keyOf(maker)],
  ]);
  const remove = (target_token: string) =>
    node.call("token_delete", { token: node.superToken, target_token });
  expect(await remove("one")).toMatchObject({ created_tokens_left: 0 });
  expect(await remove("maker")).toMatchObject({ created_tokens_left: 1 });
  expect(await node.call("token_get", { token: "two", supertoken: node.superToken })).toMatchObject({
    created_by: keyOf(maker),
  });
});

test("a skeleton fits into an index, however long its name becomes", () => {
  const long = "\ufdfa".repeat(127);
  expect(skeletonOf(`${long}\ufdfa`).length).toBeLessThan(100);
  expect(skeletonOf(`${long}\ufdfa`)).not.toBe(skeletonOf(`${long}\ufdfb`));
  expect(skeletonOf(`${long}\ufdfa`)).toBe(skeletonOf(`${long}\u200b\ufdfa`));
});

test("two names have one skeleton only if they look alike", () => {
  const same = (a: string, b: string) => skeletonOf(a) === skeletonOf(b);
  for (const [a, b] of [
    ["раураl", "paypal"],
    ["ΑΒΕ", "abe"],
    ["ﬁn", "fin"],
    ["İan", "ian"],
    ["a  b", "A B"],
    ["Ｂ", "В"],
    ["ΟΔΟΣ", "οδοσ"],
    ["οδος", "οδοσ"],
    ["ꓮꓓꓟꓲꓠ", "admin"],
    ["ꓣꓳꓳꓔ", "root"],
    ["ᎪᏴ", "ab"],
    ["ꭺᏼ", "AB"],
    ["ᏕᎬᎡᏙᎬᎡ", "server"],
    ["ꮁ", "r"],
    ["օսո", "oun"],
    ["ՕՍՈ", "OUN"],
  ] as const)
    expect([a, b, same(a, b)]).toEqual([a, b, true]);
  for (const [a, b] of [
    ["anna", "änna"],
    ["node1", "nodel"],
    ["日本", "日木"],
    ["борис", "boris"],
    ["[agent]:7c9e6679-7425-40de-944b-e07fc1f90ae7", "[agent]:7c9e6679-7425-40de-944b-e07fc1f90ae8"],
  ] as const)
    expect([a, b, same(a, b)]).toEqual([a, b, false]);
});
