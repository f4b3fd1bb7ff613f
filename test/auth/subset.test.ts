import { expect } from "bun:test";
import { eachDatabase } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";

const sharedNode = sharedNodes();

const mayCreate = { scopes: ["global"], permissions: [{ token: "create" }] };
const read = { static_bucket_file: "read" };
const write = { static_bucket_file: "write" };

interface Creator {
  readonly holds: unknown[];
  readonly may: readonly unknown[][];
  readonly mayNot: readonly unknown[][];
}

const bucket = (name: string, ...permissions: unknown[]) => ({
  scopes: [{ static_bucket: name }],
  permissions,
});

const creators: Readonly<Record<string, Creator>> = {
  "that holds nothing but token create": {
    holds: [],
    may: [[], [mayCreate], [{ scopes: [], permissions: [read] }], [{ scopes: ["global"], permissions: [] }]],
    mayNot: [[bucket("a", read)], [{ scopes: ["global"], permissions: [read] }]],
  },
  "that holds buckets by prefix": {
    holds: [bucket("a*", read)],
    may: [
      [bucket("a", read)],
      [bucket("ab", read)],
      [bucket("a*", read)],
      [bucket("ab*", read)],
      [{ scopes: [{ global_static_bucket: "ab" }], permissions: [read] }],
    ],
    mayNot: [
      [bucket("b", read)],
      [bucket("*", read)],
      [bucket("ba*", read)],
      [bucket("ab", write)],
      [bucket("ab", read, write)],
      [{ scopes: [{ static_bucket: "ab" }, { static_bucket: "b" }], permissions: [read] }],
      [{ scopes: ["global"], permissions: [read] }],
      [{ scopes: [{ global: null }], permissions: [read] }],
      [{ scopes: [{ db: "ab" }], permissions: [read] }],
      [bucket("ab", read), bucket("b", read)],
    ],
  },
  "that holds one bucket by name": {
    holds: [{ scopes: [{ global_static_bucket: "a" }], permissions: [read, write] }],
    may: [[bucket("a", read)], [bucket("a", write, read)]],
    mayNot: [[bucket("a*", read)], [bucket("ab", read)], [bucket("A", read)], [bucket("*", read)]],
  },
  "whose limits hold different things": {
    holds: [bucket("a", read), bucket("b", write)],
    may: [[bucket("a", read), bucket("b", write)]],
    mayNot: [
      [bucket("a", write)],
      [bucket("b", read)],
      [{ scopes: [{ static_bucket: "a" }, { static_bucket: "b" }], permissions: [read] }],
    ],
  },
  "that holds a permission globally": {
    holds: [{ scopes: [{ global: null }], permissions: [read, { monitoring_uuid: "list" }] }],
    may: [
      [bucket("any", read)],
      [bucket("*", read)],
      [{ scopes: ["global"], permissions: [read] }],
      [{ scopes: [{ agent_uuid: "x" }], permissions: [{ monitoring_uuid: "list" }] }],
    ],
    mayNot: [
      [{ scopes: ["global"], permissions: [write] }],
      [{ scopes: ["global"], permissions: [{ monitoring_uuid: "delete" }] }],
    ],
  },
  "that holds patterns": {
    holds: [
      {
        scopes: ["global"],
        permissions: [
          { kv: { read: "x*" } },
          { kv: { write: "x**" } },
          { kv: { delete: "one" } },
          { task: "run" },
        ],
      },
    ],
    may: [
      [
        {
          scopes: ["global"],
          permissions: [{ kv: { read: "x*" } }, { kv: { read: "xy" } }, { kv: { read: "xy*" } }],
        },
      ],
      [{ scopes: ["global"], permissions: [{ kv: { delete: "one" } }] }],
      [{ scopes: ["global"], permissions: [{ task: "run" }, { task: { run: "anything" } }] }],
    ],
    mayNot: [
      [{ scopes: ["global"], permissions: [{ kv: "read" }] }],
      [{ scopes: ["global"], permissions: [{ kv: { read: "y" } }] }],
      [{ scopes: ["global"], permissions: [{ kv: { read: "*" } }] }],
      [{ scopes: ["global"], permissions: [{ kv: { write: "xy" } }] }],
      [{ scopes: ["global"], permissions: [{ kv: { write: "x*" } }] }],
      [{ scopes: ["global"], permissions: [{ kv: { delete: "one*" } }] }],
      [{ scopes: ["global"], permissions: [{ crontab: { read: "xy" } }] }],
      [{ scopes: ["global"], permissions: [{ task: "stop" }] }],
    ],
  },
  "whose star stands in a scope that has no wildcards": {
    holds: [
      {
        scopes: [{ kv_namespace: "n*" }, { js_worker: "w*" }, { agent_uuid: "AB*" }],
        permissions: [{ kv: "read" }],
      },
      { scopes: [{ db: "shop_*" }], permissions: [{ db: "read" }] },
    ],
    may: [
      [{ scopes: [{ kv_namespace: "n*" }], permissions: [{ kv: "read" }] }],
      [{ scopes: [{ agent_uuid: "ab*" }], permissions: [{ kv: "read" }] }],
      [{ scopes: [{ db: "shop_1" }], permissions: [{ db: "read" }] }],
    ],
    mayNot: [
      [{ scopes: [{ kv_namespace: "nx" }], permissions: [{ kv: "read" }] }],
      [{ scopes: [{ js_worker: "wx" }], permissions: [{ kv: "read" }] }],
      [{ scopes: [{ agent_uuid: "abc" }], permissions: [{ kv: "read" }] }],
      [{ scopes: [{ db: "shop" }], permissions: [{ db: "read" }] }],
    ],
  },
};

const refusal = {
  code: 102,
  data: {
    kind: "PermissionDenied",
    reason: "missing_permission",
    field: "token_limit",
    detail: expect.any(String),
  },
};

for (const [who, { holds, may, mayNot }] of Object.entries(creators)) {
  eachDatabase(`a creator ${who} hands out that and no more`, async (database) => {
    await using node = await sharedNode({ database });
    const creator = await node.newToken([mayCreate, ...holds]);
    for (const token_limit of may)
      expect({ token_limit, ...(await node.send("token_create", [creator, { token_limit }])) }).toMatchObject(
        {
          token_limit,
          result: { key: expect.any(String) },
        },
      );
    for (const token_limit of mayNot)
      expect({ token_limit, ...(await node.send("token_create", [creator, { token_limit }])) }).toMatchObject(
        {
          token_limit,
          error: refusal,
        },
      );
  });
}

eachDatabase("the Super Token hands out anything", async (database) => {
  await using node = await sharedNode({ database });
  const token_limit = [{ scopes: ["global"], permissions: [{ node: "exec_sql" }, { kv: "anything" }] }];
  const token = await node.newToken(token_limit);
  expect(await node.call("token_get", { token })).toMatchObject({ token_limit });
});

eachDatabase("a token never outlives its creator", async (database) => {
  await using node = await sharedNode({ database });
  const end = Date.now() + 3_600_000;
  const creator = await node.newToken([mayCreate], { timestamp_to: end });
  const create = (lifetime: Record<string, unknown>) =>
    node.send("token_create", [creator, { token_limit: [], ...lifetime }]);
  for (const lifetime of [{}, { timestamp_to: null }, { timestamp_to: end + 1 }])
    expect((await create(lifetime)).error).toMatchObject({
      code: 102,
      data: {
        kind: "PermissionDenied",
        reason: "missing_permission",
        field: "timestamp_to",
        limit: end,
      },
    });
  for (const lifetime of [{ timestamp_to: end }, { timestamp_from: 1, timestamp_to: end - 1 }])
    expect((await create(lifetime)).error).toBeUndefined();
});

eachDatabase("what was handed down can be handed on, and no more", async (database) => {
  await using node = await sharedNode({ database });
  const parent = await node.newToken([mayCreate, bucket("a*", read, write)]);
  const child = (await node.call("token_create", [
    parent,
    { token_limit: [mayCreate, bucket("ab*", read)] },
  ])) as {
    key: string;
    secret: string;
  };
  const token = `${child.key}:${child.secret}`;
  expect(
    (await node.send("token_create", [token, { token_limit: [bucket("abc", read)] }])).error,
  ).toBeUndefined();
  for (const limit of [bucket("a", read), bucket("abc", write)])
    expect((await node.send("token_create", [token, { token_limit: [limit] }])).error).toMatchObject(refusal);
});

eachDatabase(
  "the WebDAV token of the specification is made by a creator that is not super",
  async (database) => {
    await using node = await sharedNode({ database });
    const actions = ["read", "write", "delete", "list"];
    const four = actions.map((action) => ({ static_bucket_file: action }));
    const creator = await node.newToken([mayCreate, { scopes: [{ static_bucket: "*" }], permissions: four }]);
    const token_limit = [{ scopes: [{ static_bucket: node.bucket }], permissions: four }];
    const made = (await node.call("token_create", [creator, { token_limit }])) as {
      key: string;
      secret: string;
    };
    expect(await node.call("token_get", [`${made.key}:${made.secret}`])).toMatchObject({ token_limit });
  },
);

eachDatabase("a star stands at the end of a scope, or the scope is refused", async (database) => {
  await using node = await sharedNode({ database });
  const create = (scope: unknown) =>
    node.send("token_create", [node.superToken, { token_limit: [{ scopes: [scope], permissions: [read] }] }]);
  for (const scope of [{ static_bucket: "x**" }, { global_static_bucket: "*x" }, { db: "a*b" }])
    expect({ scope, ...(await create(scope)) }).toMatchObject({
      scope,
      error: {
        code: -32602,
        data: { field: expect.stringContaining("token_creation.token_limit.0.scopes.0") },
      },
    });
  for (const scope of [{ static_bucket: "*" }, { db: "a*" }, { kv_namespace: "n**" }])
    expect((await create(scope)).error).toBeUndefined();
});
