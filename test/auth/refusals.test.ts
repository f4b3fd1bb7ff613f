import { expect } from "bun:test";
import { ManualClock } from "../support/manual-clock.ts";
import { eachDatabase, type TestNode, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";

const sharedNode = sharedNodes();

const everything = [
  {
    scopes: ["global"],
    permissions: [
      { token: "create" },
      { node: "exec_sql" },
      { node: "get_database_type" },
      { node: "list_all_agent_uuid" },
      { monitoring_uuid: "list" },
    ],
  },
];
const farAway = 32_503_680_000_000;

const denied = (reason: string, message: string) => ({
  code: 102,
  message: `Permission Denied: ${message}`,
  data: { kind: "PermissionDenied", reason, detail: expect.any(String) },
});
/** The message is the same for every token; that only the Super Token may is told to tokens that were proven. */
function superRefusal(reason: string) {
  const { data, ...refusal } = denied(reason, "Super token required");
  return { ...refusal, data: { ...data, ...(reason === "missing_permission" && { super_token: true }) } };
}

const invalid = denied("invalid_credentials", "Invalid credentials");

/** Credentials that are wrong in every way there is. */
async function wrongCredentials(node: TestNode): Promise<string[]> {
  const [anna, wordless] = [node.own("anna"), node.own("wordless")];
  const [key] = (await node.newToken(everything, { username: anna, password: "right-word" })).split(":");
  await node.newToken(everything, { username: wordless });
  return [
    `${key}:wrong`,
    `${key}:`.padEnd(49, "x"),
    "unknownKey123456:wrong",
    `${anna}|wrong-word`,
    `${wordless}|any-word`,
    "nobody|any-word",
    `${node.superToken}x`,
    `root|${node.rootPassword}x`,
    `${node.superToken.split(":")[1]}:${node.superToken.split(":")[0]}`,
  ];
}

const superOnly: ReadonlyArray<readonly [method: string, more: Record<string, unknown>]> = [
  ["token_list_all_tokens", {}],
  ["token_edit", { target_token: "anna", limit: [] }],
  ["token_delete", { target_token: "anna" }],
  ["token_change_password", { target_token: "anna", new_password: "another-word" }],
  ["token_roll_token_secret", { target_token: "anna" }],
];

eachDatabase(
  "a Super Token method answers every other token, right or wrong, with the same message; data.reason tells which it was",
  async (database) => {
    await using node = await testNode({ database, top: "jsonrpc_max_connections = 1000\n" });
    const expired = await node.newToken(everything, {
      timestamp_to: 1,
      username: "old",
      password: "old-word",
    });
    const tokens: ReadonlyArray<readonly [token: string, reason: string]> = [
      ...(await wrongCredentials(node)).map((token) => [token, "invalid_credentials"] as const),
      [`${expired}x`, "invalid_credentials"],
      ["old|wrong-word", "invalid_credentials"],
      [expired, "expired"],
      ["old|old-word", "expired"],
      [await node.newToken(everything, { timestamp_from: farAway }), "not_yet_valid"],
      [await node.newToken([]), "missing_permission"],
      [await node.newToken(everything), "missing_permission"],
      ["anna|right-word", "missing_permission"],
    ];
    const before = await node.call("token_list_all_tokens", { token: node.superToken });
    const refusals = await Promise.all(
      tokens.flatMap(([token, reason]) =>
        [
          ...superOnly.map(([method, more]) => node.refused(method, { token, ...more })),
          node.refused("token_get", { token: "anna", supertoken: token }),
        ].map(async (refusal) => ({ refusal: await refusal, reason })),
      ),
    );
    for (const { refusal, reason } of refusals) expect(refusal).toEqual(superRefusal(reason));
    expect(await node.call("token_list_all_tokens", { token: node.superToken })).toEqual(before);
    expect(await node.call("token_get", { token: "anna|right-word" })).toMatchObject({ username: "anna" });
  },
);

eachDatabase(
  "everywhere else wrong credentials get one text, whatever is wrong with them",
  async (database) => {
    await using node = await sharedNode({ database });
    const refusals = await Promise.all(
      (await wrongCredentials(node)).flatMap((token) => [
        node.refused("token_get", { token }),
        node.refused("token_create", [token, { token_limit: [] }]),
        node.refused("agent-uuid_list_all", { token }),
      ]),
    );
    for (const refusal of refusals) expect(refusal).toEqual(invalid);
  },
);

eachDatabase("names that no token can have are wrong credentials too", async (database) => {
  await using node = await sharedNode({ database });
  for (const token of [
    "a\0b:secret",
    "a\0b|password",
    "\ud800:secret",
    "'; DROP TABLE token; --:x",
    "%:x",
    "*|x",
  ])
    expect({ token, ...(await node.refused("token_get", { token })) }).toEqual({ token, ...invalid });
  for (const method of ["token_delete", "token_roll_token_secret"])
    expect(await node.refused(method, { token: node.superToken, target_token: "a\0b" })).toMatchObject({
      code: 105,
    });
});

eachDatabase("a missing permission is named, with its scope", async (database) => {
  await using node = await sharedNode({ database });
  const token = await node.newToken([
    { scopes: [{ static_bucket: "*" }], permissions: everything[0]?.permissions },
  ]);
  const missing: ReadonlyArray<readonly [method: string, params: unknown, permission: object]> = [
    ["token_create", [token, { token_limit: [] }], { token: "create" }],
    ["node-server_exec_sql", { token, sql: "SELECT 1" }, { node: "exec_sql" }],
    ["node-server_get_database_type", { token }, { node: "get_database_type" }],
  ];
  for (const [method, params, permission] of missing)
    expect(await node.refused(method, params)).toEqual({
      code: 102,
      message: expect.any(String),
      data: {
        kind: "PermissionDenied",
        reason: "missing_permission",
        permissions: [permission],
        scope: "global",
        detail: expect.any(String),
      },
    });
  const nothing = await node.newToken([]);
  for (const method of ["agent-uuid_list_all", "node-server_list_all_agent_uuid"])
    expect((await node.refused(method, { token: nothing })).data).toEqual({
      kind: "PermissionDenied",
      reason: "missing_permission",
      permissions: [{ node: "list_all_agent_uuid" }, { monitoring_uuid: "list" }],
      detail: expect.any(String),
    });
});

eachDatabase("a token outside its lifetime is refused with the reason, inside it works", async (database) => {
  await using node = await sharedNode({ database });
  const now = Date.now();
  const expired = await node.newToken(everything, { timestamp_to: now - 1 });
  const early = await node.newToken(everything, { timestamp_from: now + 3_600_000 });
  const current = await node.newToken(everything, { timestamp_from: now - 1, timestamp_to: now + 3_600_000 });
  for (const [method, more] of [
    ["token_get", {}],
    ["agent-uuid_list_all", {}],
    ["node-server_get_database_type", {}],
  ] as const) {
    expect(await node.refused(method, { token: expired, ...more })).toEqual(
      denied("expired", "Token has expired"),
    );
    expect(await node.refused(method, { token: early, ...more })).toEqual(
      denied("not_yet_valid", "Token is not yet valid"),
    );
    await node.call(method, { token: current, ...more });
  }
  expect(await node.refused("token_get", { token: `${expired}x` })).toEqual(invalid);
});

eachDatabase(
  "every refusal has a reason: in a batch, for a subscription, over both transports",
  async (database) => {
    await using node = await sharedNode({ database });
    const plain = await node.newToken([]);
    const expired = await node.newToken([], { timestamp_to: 1 });
    const tokens = {
      [`${plain}x`]: "invalid_credentials",
      [expired]: "expired",
      [plain]: "missing_permission",
    };
    const calls = Object.keys(tokens).map((token, id) => ({
      jsonrpc: "2.0",
      method: "node-server_stream_log",
      params: { token, log_filter: "info" },
      id,
    }));
    const expected = Object.values(tokens).map((reason, id) => ({
      jsonrpc: "2.0",
      error: superRefusal(reason),
      id,
    }));
    expect(await (await node.post(JSON.stringify(calls))).json()).toEqual(expected);
    await using socket = await node.socket();
    socket.send(JSON.stringify(calls));
    expect(await socket.next()).toEqual(expected);
    for (const { method, params } of calls)
      expect((await socket.call(method, params)).error).toEqual(superRefusal(tokens[params.token] ?? ""));
  },
);

eachDatabase(
  "what the Super Token alone is spared, and what nobody may do, has a reason too",
  async (database) => {
    await using node = await sharedNode({ database });
    const creator = await node.newToken([{ scopes: ["global"], permissions: [{ token: "create" }] }], {
      timestamp_to: Date.now() + 3_600_000,
    });
    const refusals = [
      await node.refused("token_create", [creator, { token_limit: everything, timestamp_to: Date.now() }]),
      await node.refused("token_create", [creator, { token_limit: [] }]),
      await node.refused("token_delete", { token: node.superToken, target_token: "root" }),
      await node.refused("token_edit", { token: node.superToken, target_token: "root", limit: [] }),
    ];
    for (const { code, data } of refusals)
      expect({ code, reason: data.reason }).toEqual({ code: 102, reason: "missing_permission" });
  },
);

eachDatabase("a token that ends while it is in use is refused from then on", async (database) => {
  const clock = new ManualClock();
  await using node = await testNode({ database, clock });
  await using socket = await node.socket();
  const end = clock.now() + 3_600_000;
  const token = await node.newToken([], { timestamp_to: end });
  await clock.jump(3_599_999);
  expect((await socket.call("token_get", { token })).result).toMatchObject({ timestamp_to: end });
  await clock.advance(1);
  const expired = { code: 102, data: { reason: "expired" } };
  expect((await socket.call("token_get", { token })).error).toMatchObject(expired);
  expect(await node.refused("token_get", { token })).toMatchObject(expired);
});

eachDatabase("a text that is no token is a ParseError, on every kind of method", async (database) => {
  await using node = await sharedNode({ database });
  const texts = [
    "no-separator",
    ":secret",
    "|password",
    "key:",
    "user|",
    ":",
    "|",
    `key:${"x".repeat(5000)}`,
  ];
  for (const token of texts) {
    const errors = await Promise.all([
      node.refused("token_get", { token }),
      node.refused("token_list_all_tokens", { token }),
      node.refused("token_create", [token, { token_limit: [] }]),
      node.refused("agent-uuid_list_all", { token }),
      node.refused("token_get", { token: "root", supertoken: token }),
    ]);
    for (const error of errors) {
      expect({ token: token.slice(0, 20), code: error.code, kind: error.data.kind }).toEqual({
        token: token.slice(0, 20),
        code: 101,
        kind: "ParseError",
      });
    }
  }
  expect(await node.refused("token_list_all_tokens", { token: "" })).toMatchObject({ code: 101 });
});

eachDatabase("no answer ever holds a hash", async (database) => {
  await using node = await sharedNode({ database });
  const anna = node.own("anna");
  const token = await node.newToken(everything, { username: anna, password: "right-word" });
  const { superToken } = node;
  const answers = await Promise.all([
    node.send("token_get", { token }),
    node.send("token_get", { token: anna, supertoken: superToken }),
    node.send("token_list_all_tokens", { token: superToken }),
    node.send("token_edit", { token: superToken, target_token: anna, limit: everything }),
    node.send("token_create", [superToken, { token_limit: [], username: anna }]),
    node.send("token_change_password", {
      token: superToken,
      target_token: anna,
      new_password: "right-word",
    }),
    node.send("token_roll_token_secret", { token: superToken, target_token: anna }),
    node.send("token_delete", { token: superToken, target_token: anna }),
  ]);
  expect(JSON.stringify(answers)).not.toMatch(/hash|argon2|\b[0-9a-f]{64}\b/i);
});
