import { expect } from "bun:test";
import { eachDatabase } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";

const sharedNode = sharedNodes();

const scopes = [
  "global",
  { global: null },
  { static_bucket: "site" },
  { static_bucket: "site-*" },
  { global_static_bucket: "site" },
  { agent_uuid: "7C9E6679-7425-40de-944b-e07fc1f90ae7" },
  { kv_namespace: "n" },
  { js_worker: "w" },
  { db: "shop_*" },
];

const ownPermissions = {
  static_bucket_file: ["read", "write", "delete", "list"],
  static_bucket: ["read", "write", "delete"],
  node: ["exec_sql", "get_database_type", "list_all_agent_uuid", "get_rt_pool", "delete_agent_uuid"],
  monitoring_uuid: ["list", "delete"],
  token: ["create"],
  db: ["list", "read", "create", "update", "delete", "exec_sql"],
};

const otherFamilies = [
  "kv",
  "task",
  "crontab",
  "crontab_result",
  "terminal",
  "js_worker",
  "js_result",
  "static_monitoring",
  "dynamic_monitoring",
  "dynamic_monitoring_summary",
];

const permissions = [
  ...Object.entries(ownPermissions).flatMap(([family, actions]) =>
    actions.map((action) => ({ [family]: action })),
  ),
  ...otherFamilies.flatMap((family) => [{ [family]: "some_action" }, { [family]: { read: "pattern*" } }]),
];

eachDatabase("every scope and every permission is accepted, and stored as it was given", async (database) => {
  await using node = await sharedNode({ database });
  const anna = node.own("anna");
  const limits = [
    { scopes, permissions },
    { scopes: [], permissions: [] },
    ...scopes.map((scope) => ({ scopes: [scope], permissions: [] })),
  ];
  const token = await node.newToken(limits);
  expect(await node.call("token_get", { token })).toMatchObject({ token_limit: limits });
  const other = await node.newToken([], { username: anna });
  await node.call("token_edit", { token: node.superToken, target_token: anna, limit: limits });
  expect(await node.call("token_get", { token: other })).toMatchObject({ token_limit: limits });
});

const noScopes: readonly unknown[] = [
  "GLOBAL",
  "",
  "static_bucket",
  {},
  { global: "x" },
  { planet: "x" },
  { static_bucket: "" },
  { static_bucket: 5 },
  { db: "x".repeat(513) },
  { db: "a", js_worker: "b" },
  ["global"],
  null,
  5,
];
const noPermissions: readonly unknown[] = [
  "node",
  "node.exec_sql",
  {},
  { node: "fly" },
  { node: "Exec_Sql" },
  { node: "exec_sql", token: "create" },
  { node: { exec_sql: "*" } },
  { planet: "read" },
  { kv: "" },
  { kv: 5 },
  { kv: {} },
  { kv: { read: "a", write: "b" } },
  { kv: { read: 5 } },
  { toString: "read" },
  null,
  [],
];

eachDatabase(
  "a scope or permission that does not exist is refused, and its place is named",
  async (database) => {
    await using node = await sharedNode({ database });
    const { superToken: token } = node;
    const anna = node.own("anna");
    await node.newToken([], { username: anna });
    const refuse = async (limit: unknown, place: string) => {
      const created = await node.refused("token_create", [token, { token_limit: limit }]);
      const edited = await node.refused("token_edit", { token, target_token: anna, limit });
      expect({ limit, code: created.code, kind: created.data.kind }).toEqual({
        limit,
        code: -32602,
        kind: "InvalidParams",
      });
      expect(String(created.data.field)).toStartWith(`token_creation.token_limit.${place}`);
      expect(String(edited.data.field)).toStartWith(`limit.${place}`);
    };
    for (const scope of noScopes)
      await refuse([{ scopes: ["global", scope], permissions: [] }], "0.scopes.1");
    for (const permission of noPermissions)
      await refuse(
        [
          { scopes: [], permissions: [] },
          { scopes: ["global"], permissions: [permission] },
        ],
        "1.permissions.0",
      );
    expect(await node.call("token_get", { token: anna, supertoken: token })).toMatchObject({
      token_limit: [],
    });
  },
);

eachDatabase(
  "text that one of the databases cannot hold is refused by both, and its place is named",
  async (database) => {
    await using node = await sharedNode({ database });
    for (const text of ["a\0b", "\ud800"]) {
      for (const [limit, place] of [
        [{ scopes: [{ db: text }], permissions: [] }, "scopes"],
        [{ scopes: [], permissions: [{ kv: text }] }, "permissions"],
        [{ scopes: [], permissions: [{ kv: { read: text } }] }, "permissions"],
      ] as const) {
        const error = await node.refused("token_create", [node.superToken, { token_limit: [limit] }]);
        expect({ limit, code: error.code }).toEqual({ limit, code: -32602 });
        expect(String(error.data.field)).toStartWith(`token_creation.token_limit.0.${place}.0`);
      }
    }
  },
);

eachDatabase("a user name may be any text without `|` and invisible characters", async (database) => {
  await using node = await sharedNode({ database });
  for (const username of [
    "anna",
    "Berta",
    "with space",
    "ünï-çødé",
    "日本",
    "😀",
    "a".repeat(128),
    "o'brien",
    '"',
    "%",
    "\\",
    "a:b",
    ":",
    "[agent]:7c9e6679-7425-40de-944b-e07fc1f90ae7",
  ]) {
    await node.newToken([], { username, password: "right-word" });
    expect(await node.call("token_get", { token: `${username}|right-word` })).toMatchObject({ username });
  }
});

eachDatabase(
  "a user name that holds a control character, or that reads like a whole token, is refused",
  async (database) => {
    await using node = await sharedNode({ database });
    const list = () => node.call("token_list_all_tokens", { token: node.superToken });
    const before = await list();
    const names = [
      "",
      `${"k".repeat(16)}:${"s".repeat(32)}`,
      "a\0",
      "a\nb",
      "\tb",
      "a\x1b[2J",
      "a\x7f",
      "a\x85b",
      "a\x9b2J",
      "x".repeat(129),
      5,
    ];
    for (const username of names) {
      const error = await node.send("token_create", [node.superToken, { token_limit: [], username }]);
      expect({ username, code: error.error?.code, field: error.error?.data.field }).toEqual({
        username,
        code: -32602,
        field: "token_creation.username",
      });
    }
    expect(await list()).toEqual(before);
  },
);

eachDatabase("a password may hold separators and anything else", async (database) => {
  await using node = await sharedNode({ database });
  const passwords = [
    "a:b:c:d",
    "a|b|c|d",
    ":|:|:|",
    "|||||||",
    "pass word",
    "pässwörd",
    "\0\0\0\0\0\0",
    "x".repeat(1024),
  ];
  for (const [n, password] of passwords.entries()) {
    const username = `user${n}`;
    await node.newToken([], { username, password });
    expect(await node.call("token_get", { token: `${username}|${password}` })).toMatchObject({ username });
    expect(await node.refused("token_get", { token: `${username}|${password.slice(0, -1)}` })).toMatchObject({
      code: 102,
    });
  }
});

eachDatabase(
  "a user name is taken once, root's included, also by two at the same moment",
  async (database) => {
    await using node = await sharedNode({ database });
    const mia = node.own("mia");
    const anna = node.own("anna");
    const create = (username: string) =>
      node.send("token_create", [node.superToken, { token_limit: [], username }]);
    const taken = {
      code: 108,
      data: { kind: "InvalidInput", field: "username", reason: "taken", detail: expect.any(String) },
    };
    expect((await create(anna)).error).toBeUndefined();
    expect((await create(anna)).error).toMatchObject(taken);
    expect((await create("root")).error).toMatchObject(taken);
    const race = await Promise.all(Array.from({ length: 8 }, () => create(mia)));
    expect(race.filter(({ error }) => error === undefined)).toHaveLength(1);
    for (const { error } of race.filter(({ error }) => error !== undefined))
      expect(error).toMatchObject(taken);
    await node.call("token_delete", { token: node.superToken, target_token: anna });
    expect((await create(anna)).error).toBeUndefined();
  },
);

eachDatabase("a password without a user name, or for a token without one, is refused", async (database) => {
  await using node = await sharedNode({ database });
  const { superToken: token } = node;
  expect(
    await node.refused("token_create", [token, { token_limit: [], password: "right-word" }]),
  ).toMatchObject({
    code: 108,
    data: { kind: "InvalidInput", field: "username", detail: expect.any(String) },
  });
  const nameless = await node.newToken([]);
  const change = { token, target_token: nameless.split(":")[0], new_password: "right-word" };
  expect(await node.refused("token_change_password", change)).toMatchObject({
    code: 108,
    data: { kind: "InvalidInput", field: "target_token", detail: expect.any(String) },
  });
});

eachDatabase("a user name without a password lets nobody in until a password is set", async (database) => {
  await using node = await sharedNode({ database });
  const anna = node.own("anna");
  await node.newToken([], { username: anna });
  for (const word of ["x", "null", "undefined", anna])
    expect(await node.refused("token_get", { token: `${anna}|${word}` })).toMatchObject({ code: 102 });
  await node.call("token_change_password", {
    token: node.superToken,
    target_token: anna,
    new_password: "right-word",
  });
  expect(await node.call("token_get", { token: `${anna}|right-word` })).toMatchObject({ username: anna });
});

eachDatabase("a lifetime that ends before it begins is refused", async (database) => {
  await using node = await sharedNode({ database });
  for (const [timestamp_from, timestamp_to] of [
    [5, 5],
    [6, 5],
  ])
    expect(
      await node.refused("token_create", [
        node.superToken,
        { token_limit: [], timestamp_from, timestamp_to },
      ]),
    ).toMatchObject({
      code: 108,
      data: { kind: "InvalidInput", field: "timestamp_to", detail: expect.any(String) },
    });
});
