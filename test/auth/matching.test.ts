import { expect } from "bun:test";
import { z } from "zod";
import type { Need } from "../../src/auth/need.ts";
import type { Permission, Scope } from "../../src/auth/permission.ts";
import { method } from "../../src/methods/declare.ts";
import { eachDatabase, type TestNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";

const sharedNode = sharedNodes();

/** A method that needs whatever its caller names, so that the rules can be tried one by one. */
const methods = {
  probe_enter: method({
    effect: "reads",
    doc: "Lets a caller in that holds the permissions in the scope.",
    need: ({ scope, permissions }): Need => ({ kind: "all", scope, permissions }),
    params: {
      scope: z.custom<Scope>((value) => typeof value === "object"),
      permissions: z.custom<Permission[]>((value) => Array.isArray(value)),
    },
    result: z.literal("welcome"),
    run: () => "welcome" as const,
  }),
};

const global: Scope = { in: "global" };
const inBucket = (name: string): Scope => ({ in: "static_bucket", name });
const inDb = (name: string): Scope => ({ in: "db", name });
const ofAgent = (name: string): Scope => ({ in: "agent_uuid", name });

async function enters(
  node: TestNode,
  token: string,
  scope: Scope,
  ...permissions: Permission[]
): Promise<boolean> {
  const { result, error } = await node.send("probe_enter", { token, scope, permissions });
  if (error !== undefined) expect(error.code).toBe(102);
  return result === "welcome";
}

/** Which of the scopes a token enters with one permission. */
async function entered(
  node: TestNode,
  limits: unknown,
  permission: Permission,
  scopes: Scope[],
): Promise<string[]> {
  const token = await node.newToken(limits);
  const names: string[] = [];
  for (const scope of scopes)
    if (await enters(node, token, scope, permission)) names.push("name" in scope ? scope.name : "global");
  return names;
}

const readIn = (...scopes: unknown[]) => [{ scopes, permissions: [{ static_bucket_file: "read" }] }];
const buckets = ["a", "ab", "abc", "b", "A", "a*", ""].map(inBucket);

eachDatabase("a bucket scope names one bucket, and one trailing star any ending", async (database) => {
  await using node = await sharedNode({ database, methods });
  const seen = (...scopes: unknown[]) =>
    entered(node, readIn(...scopes), "static_bucket_file.read", [global, ...buckets]);
  expect(await seen({ static_bucket: "ab" })).toEqual(["ab"]);
  expect(await seen({ global_static_bucket: "ab" })).toEqual(["ab"]);
  expect(await seen({ static_bucket: "ab*" })).toEqual(["ab", "abc"]);
  expect(await seen({ static_bucket: "*" })).toEqual(["a", "ab", "abc", "b", "A", "a*", ""]);
  expect(await seen({ static_bucket: "a?" })).toEqual([]);
  expect(await seen({ static_bucket: "b" }, { static_bucket: "abc" })).toEqual(["abc", "b"]);
});

eachDatabase("global covers everything, and no named scope covers global", async (database) => {
  await using node = await sharedNode({ database, methods });
  const scopes = [global, inBucket("a"), inDb("x"), ofAgent("u")];
  const seen = (...held: unknown[]) => entered(node, readIn(...held), "static_bucket_file.read", scopes);
  expect(await seen("global")).toEqual(["global", "a", "x", "u"]);
  expect(await seen({ global: null })).toEqual(["global", "a", "x", "u"]);
  expect(await seen({ static_bucket: "*" }, { db: "*" })).toEqual(["a", "x"]);
  expect(await seen({ static_bucket: "global" }, { agent_uuid: "*" })).toEqual([]);
});

eachDatabase("a database scope has the star too, the other kinds take it as a letter", async (database) => {
  await using node = await sharedNode({ database, methods });
  const names = ["shop_1", "shop_", "shop", "n", "nx", "n*"];
  const kinds = ["db", "kv_namespace", "js_worker", "agent_uuid"] as const;
  const seen = async (kind: (typeof kinds)[number], held: string) =>
    entered(
      node,
      readIn({ [kind]: held }),
      "static_bucket_file.read",
      names.map((name) => ({ in: kind, name })),
    );
  expect(await seen("db", "shop_*")).toEqual(["shop_1", "shop_"]);
  expect(await seen("db", "*")).toEqual(names);
  for (const kind of kinds.slice(1)) {
    expect(await seen(kind, "n*")).toEqual(["n*"]);
    expect(await seen(kind, "*")).toEqual([]);
    expect(await seen(kind, "n")).toEqual(["n"]);
  }
});

eachDatabase("a scope of one kind never covers a scope of another", async (database) => {
  await using node = await sharedNode({ database, methods });
  expect(
    await entered(node, readIn({ db: "a" }, { js_worker: "a" }), "static_bucket_file.read", [
      inBucket("a"),
      ofAgent("a"),
    ]),
  ).toEqual([]);
});

eachDatabase("an agent's UUID is the same in upper and in lower case", async (database) => {
  await using node = await sharedNode({ database, methods });
  const uuid = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
  expect(
    await entered(node, readIn({ agent_uuid: uuid.toUpperCase() }), "static_bucket_file.read", [
      ofAgent(uuid),
    ]),
  ).toEqual([uuid]);
});

eachDatabase("no action implies another", async (database) => {
  await using node = await sharedNode({ database, methods });
  const actions: Permission[] = [
    "static_bucket_file.read",
    "static_bucket_file.write",
    "static_bucket_file.delete",
    "static_bucket_file.list",
    "static_bucket.read",
    "static_bucket.write",
    "node.exec_sql",
    "node.get_database_type",
    "db.exec_sql",
    "db.read",
  ];
  for (const held of actions) {
    const [family = "", action = ""] = held.split(".");
    const token = await node.newToken([{ scopes: ["global"], permissions: [{ [family]: action }] }]);
    for (const wanted of actions)
      expect({ held, wanted, enters: await enters(node, token, global, wanted) }).toEqual({
        held,
        wanted,
        enters: held === wanted,
      });
  }
});

eachDatabase("scope and permission must stand in one and the same limit", async (database) => {
  await using node = await sharedNode({ database, methods });
  const split = await node.newToken([
    { scopes: [{ static_bucket: "a" }], permissions: [{ static_bucket_file: "read" }] },
    { scopes: [{ static_bucket: "b" }], permissions: [{ static_bucket_file: "write" }] },
    { scopes: ["global"], permissions: [] },
    { scopes: [], permissions: [{ static_bucket_file: "delete" }] },
  ]);
  expect(await enters(node, split, inBucket("a"), "static_bucket_file.read")).toBe(true);
  expect(await enters(node, split, inBucket("b"), "static_bucket_file.write")).toBe(true);
  expect(await enters(node, split, inBucket("a"), "static_bucket_file.write")).toBe(false);
  expect(await enters(node, split, inBucket("b"), "static_bucket_file.read")).toBe(false);
  expect(await enters(node, split, inBucket("a"), "static_bucket_file.delete")).toBe(false);
  expect(await enters(node, split, global, "static_bucket_file.read")).toBe(false);
});

eachDatabase(
  "several permissions may come from several limits, each covering the scope",
  async (database) => {
    await using node = await sharedNode({ database, methods });
    const token = await node.newToken([
      { scopes: [{ static_bucket: "a*" }], permissions: [{ static_bucket_file: "read" }] },
      { scopes: [{ static_bucket: "ab" }], permissions: [{ static_bucket_file: "write" }] },
    ]);
    expect(
      await enters(node, token, inBucket("ab"), "static_bucket_file.read", "static_bucket_file.write"),
    ).toBe(true);
    expect(
      await enters(node, token, inBucket("ac"), "static_bucket_file.read", "static_bucket_file.write"),
    ).toBe(false);
    const { error } = await node.send("probe_enter", {
      token,
      scope: inBucket("ac"),
      permissions: ["static_bucket_file.read", "static_bucket_file.write"],
    });
    expect(error?.message).toBe(
      "Permission Denied: StaticBucketFile::Write required in scope static_bucket ac",
    );
  },
);

eachDatabase("the Super Token needs no limit", async (database) => {
  await using node = await sharedNode({ database, methods });
  for (const scope of [global, inBucket("a")])
    expect(await enters(node, node.superToken, scope, "node.exec_sql", "token.create")).toBe(true);
});
