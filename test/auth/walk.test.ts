import { expect } from "bun:test";
import { z } from "zod";
import { isOpen, type Need } from "../../src/auth/need.ts";
import { method } from "../../src/methods/declare.ts";
import { methods } from "../../src/methods/index.ts";
import type { Method } from "../../src/rpc/method.ts";
import type { Services } from "../../src/services.ts";
import { eachDatabase, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";

const sharedNode = sharedNodes();

type Values = Record<string, unknown>;

const table: ReadonlyArray<readonly [name: string, method: Method<Services>]> =
  Object.entries<Method<Services>>(methods);

/** Texts that pass for a name, a path, a version, a number, an address, a filter, … of one method or another. */
const texts = [
  "sample",
  "v1.2.3",
  "7c9e6679-7425-40de-944b-e07fc1f90ae7",
  "1",
  "https://example.org/",
  "c2FtcGxl",
  "global",
];

/** Some value that the schema accepts. */
function sampleOf(schema: z.ZodType, where: string): unknown {
  const candidates = [
    ...texts,
    1,
    true,
    null,
    [],
    {},
    fromJsonSchema(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" })),
  ];
  const found = candidates.find((candidate) => schema.safeParse(candidate).success);
  if (found === undefined && !schema.safeParse(undefined).success)
    throw new Error(`this test knows no value for ${where}: add one to \`texts\``);
  return found;
}

function fromJsonSchema(schema: z.core.JSONSchema._JSONSchema, root = schema): unknown {
  if (typeof schema === "boolean") return undefined;
  if (schema.$ref !== undefined && typeof root === "object")
    return fromJsonSchema(root.$defs?.[schema.$ref.split("/").at(-1) ?? ""] ?? true, root);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.anyOf?.[0] !== undefined) return fromJsonSchema(schema.anyOf[0], root);
  if (schema.type === "object")
    return Object.fromEntries(
      (schema.required ?? []).map((name) => [name, fromJsonSchema(schema.properties?.[name] ?? true, root)]),
    );
  if (schema.type === "array" && (schema.minItems ?? 0) > 0)
    return [fromJsonSchema(schema.items as z.core.JSONSchema._JSONSchema, root)];
  return (
    { array: [], string: "sample text", integer: 1, number: 1, boolean: true }[String(schema.type)] ?? null
  );
}

/** Params that pass validation: the least there can be, and all there can be. */
function paramsOf(name: string, { accepts }: Method<Services>): Values[] {
  const fields = Object.entries(accepts.shape).map(([field, type]) => {
    const schema = type as z.ZodType;
    const needed = schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : schema;
    return {
      field,
      optional: schema.safeParse(undefined).success,
      value: sampleOf(needed, `${name}.${field}`),
    };
  });
  const write = (chosen: typeof fields) =>
    Object.fromEntries(chosen.map(({ field, value }) => [field, value]));
  return [write(fields.filter(({ optional }) => !optional)), write(fields)];
}

interface Call {
  readonly name: string;
  readonly need: Need;
  /** The params with this text where the method looks for its caller's token. */
  as(token: string): Values;
}

function callsOf(name: string, method: Method<Services>): Call[] {
  return paramsOf(name, method).map((params) => ({
    name,
    need: method.needFor(method.accepts.parse(params)),
    as(token) {
      const fields = Object.keys(params);
      const field = fields.find(
        (field) =>
          method.tokenIn(method.accepts.parse({ ...params, [field]: probe(params[field]) })) === mark,
      );
      if (field === undefined) throw new Error(`${name} takes its token from none of ${fields.join(", ")}`);
      return { ...params, [field]: token };
    },
  }));
}

const mark = "who:calls";
const probe = (value: unknown) => (typeof value === "string" ? mark : value);

const guarded = table.flatMap(([name, method]) => callsOf(name, method)).filter(({ need }) => !isOpen(need));

test("the walk reaches every method that is not open", () => {
  const open = table
    .filter(([name, method]) => paramsOf(name, method).every((params) => isOpen(method.needFor(params))))
    .map(([name]) => name);
  expect(new Set([...guarded.map(({ name }) => name), ...open]).size).toBe(table.length);
  expect(guarded.map(({ name }) => name)).toContainValues([
    "token_create",
    "token_get",
    "node-server_exec_sql",
    "node-server_stream_log",
  ]);
  for (const name of open) expect(methods).toHaveProperty([name]);
});

test("only these methods are open to everybody", () => {
  const open = table.filter(([name]) => !guarded.some((call) => call.name === name)).map(([name]) => name);
  expect(open.sort()).toEqual([
    "log_unsubscribe_stream",
    "node-server_hello",
    "node-server_unsubscribe_stream_log",
    "node-server_uuid",
    "node-server_version",
    "rpc.discover",
    "sql_close",
    "static-bucket_unwatch",
  ]);
});

eachDatabase("every method that is not open refuses a token that holds nothing", async (database) => {
  await using node = await sharedNode({ database });
  const empty = [
    await node.newToken([]),
    await node.newToken([{ scopes: ["global"], permissions: [] }]),
    await node.newToken([{ scopes: [], permissions: [{ node: "exec_sql" }] }]),
  ];
  for (const token of empty)
    for (const { name, as } of guarded.filter(({ need }) => need.kind !== "token")) {
      const { error } = await node.send(name, as(token));
      expect({ name, code: error?.code, data: error?.data }).toMatchObject({
        name,
        code: 102,
        data: { reason: "missing_permission" },
      });
    }
});

eachDatabase(
  "a method for any token answers one that holds nothing about itself at the most",
  async (database) => {
    await using node = await sharedNode({ database });
    const token = await node.newToken([]);
    // These refuse a token without a password.
    const ofPeople = ["create", "change_password", "totp_begin", "totp_confirm", "totp_remove"].map(
      (name) => `session_${name}`,
    );
    const open = guarded.filter(({ name, need }) => need.kind === "token" && !ofPeople.includes(name));
    for (const { name, as } of guarded.filter(({ name }) => ofPeople.includes(name)))
      expect((await node.refused(name, as(token))).code).toBe(108);
    const answers: Values = {};
    for (const { name, as } of open) answers[name] = await node.call(name, as(token));
    expect(answers).toEqual({
      "node-server_uptime": expect.any(Number),
      session_list: [],
      session_end: 0,
      session_totp: { on: false, recovery_codes: 0 },
      token_get: expect.objectContaining({ token_key: token.split(":")[0] }),
      token_explain: expect.objectContaining({ token_key: token.split(":")[0], allowed: false }),
      token_s3_credentials: {
        access_key_id: token.split(":")[0],
        secret_access_key: expect.any(String),
        host: null,
        listener: null,
      },
    });
  },
);

eachDatabase("every method that is not open refuses a wrong token and an unknown user", async (database) => {
  await using node = await testNode({ database, top: "jsonrpc_max_connections = 1000\n" });
  const [key] = node.superToken.split(":");
  const replies = await Promise.all(
    [`${key}:wrong`, "unknownKey123456:wrong", "nobody|any-word"].flatMap((token) =>
      guarded.map(async ({ name, as }) => ({
        name,
        error: (await node.send(name, as(token))).error,
      })),
    ),
  );
  for (const { name, error } of replies)
    expect({ name, code: error?.code, data: error?.data }).toMatchObject({
      name,
      code: 102,
      data: { reason: "invalid_credentials" },
    });
});

eachDatabase(
  "every method that is not open refuses a caller without a token before it looks at anything else",
  async (database) => {
    await using node = await sharedNode({ database });
    for (const { name, as } of guarded) {
      const { error } = await node.send(name, as("no token"));
      expect({ name, code: error?.code }).toEqual({ name, code: 101 });
    }
  },
);

const open = { kind: "anyone" } as const;
const declaration = {
  doc: "Says yes.",
  effect: "reads" as const,
  params: {},
  result: z.literal("yes"),
  run: () => "yes" as const,
};

test("a method declared without an effect does not compile", () => {
  const { effect: _, ...incomplete } = declaration;
  // @ts-expect-error: the effect is missing; `npm run check` fails if this compiles.
  expect(method({ ...incomplete, need: open }).effect).toBeUndefined();
});

test("a method declared without a need does not compile, and would refuse everybody", async () => {
  // @ts-expect-error: the need is missing; `npm run check` fails if this compiles.
  const without = method(declaration);
  const withOne = method({ ...declaration, need: open });
  await using node = await testNode({ methods: { probe_without: without, probe_with: withOne } });
  expect(await node.call("probe_with")).toBe("yes");
  for (const token of [node.superToken, await node.newToken([])])
    expect((await node.send("probe_without", { token })).result).toBeUndefined();
});
