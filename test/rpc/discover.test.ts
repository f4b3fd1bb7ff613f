import { expect, test } from "bun:test";
import type { MethodDescription, OpenRpcDocument } from "../../src/client/index.ts";
import { effects } from "../../src/rpc/method.ts";
import { testNode } from "../support/node.ts";

async function discovered(): Promise<readonly MethodDescription[]> {
  await using node = await testNode();
  const { methods } = (await node.call("rpc.discover")) as OpenRpcDocument;
  return methods;
}

const methods = await discovered();

function described(name: string): MethodDescription {
  const found = methods.find((method) => method.name === name);
  if (found === undefined) throw new Error(`rpc.discover does not list ${name}`);
  return found;
}

test("OpenRPC says what a caller needs as data, and the name of a scope comes from a param", () => {
  const needs = (name: string) => described(name)["x-authorization"];
  expect(needs("node-server_hello")).toEqual([{ kind: "anyone" }]);
  expect(needs("node-server_unsubscribe_stream_log")).toEqual([{ kind: "owner" }]);
  expect(needs("node-server_read_config")).toEqual([{ kind: "super" }]);
  expect(needs("node-server_exec_sql")).toEqual([
    { kind: "all", permissions: [{ node: "exec_sql" }], scope: { kind: "global" } },
  ]);
  expect(needs("static-bucket-file_rename")).toEqual([
    {
      kind: "all",
      permissions: [{ static_bucket_file: "write" }, { static_bucket_file: "delete" }],
      scope: { kind: "static_bucket", param: "name" },
    },
  ]);
  expect(needs("agent-uuid_list_all")).toEqual([
    { kind: "anywhere", permissions: [{ node: "list_all_agent_uuid" }, { monitoring_uuid: "list" }] },
  ]);
  // A download, a drop box (`upload`) and an archive (`zip`) each need something else.
  expect(needs("static-bucket-file_link")).toMatchObject([
    { permissions: [{ static_bucket_file: "read" }] },
    { permissions: [{ static_bucket_file: "write" }] },
    { permissions: [{ static_bucket_file: "read" }, { static_bucket_file: "list" }] },
  ]);
  // With `supertoken` it shows any token, without it the caller's own.
  expect(needs("token_get")).toEqual([{ kind: "token" }, { kind: "super" }]);
  expect(described("token_get")["x-need"]).toBe("any valid token, or Super Token");
});

test("OpenRPC says how a method can fail", () => {
  const { tags, errors } = described("static-bucket-file_upload");
  expect(tags).toEqual([{ name: "static-bucket-file" }]);
  // ParseError and IoError have the same number.
  expect(errors).toContainEqual({ code: 101, message: "ParseError or IoError" });
  expect(errors).toContainEqual({ code: -32602, message: "Invalid params" });
  expect(described("node-server_hello").errors).toEqual([]);
  for (const { name, errors } of methods) {
    const codes = errors.map(({ code }) => code);
    expect({ name, codes: [...new Set(codes)] }).toEqual({ name, codes });
  }
});

test("every method has an effect, and whatever destroys something has a warning", () => {
  for (const { name, ...method } of methods) {
    expect({ name, known: Object.keys(effects).includes(method["x-effect"]) }).toEqual({ name, known: true });
    if (method["x-effect"] === "destroys")
      expect({ name, warning: method["x-warning"] }).toHaveProperty("warning", expect.stringMatching(/\.$/));
    if (method["x-effect"] === "reads")
      expect({ name, warning: method["x-warning"] }).toEqual({ name, warning: undefined });
  }
  expect(described("static-bucket-file_delete")["x-effect"]).toBe("destroys");
  expect(described("static-bucket_create")["x-effect"]).toBe("changes");
  expect(described("static-bucket-file_list")["x-effect"]).toBe("reads");
});

test("the caller's token and every other secret are marked among the params", () => {
  const marks = (name: string) =>
    described(name).params.map((param) => [
      param.name,
      param["x-credential"] === true,
      hasSecret(param.schema),
    ]);
  expect(marks("token_change_password")).toEqual([
    ["token", true, true],
    ["target_token", false, false],
    ["new_password", false, true],
  ]);
  expect(marks("token_create")).toEqual([
    ["father_token", true, true],
    ["token_creation", false, false],
  ]);
  expect(marks("token_get")).toEqual([
    ["token", true, false],
    ["supertoken", false, true],
  ]);
  expect(marks("node-server_hello")).toEqual([]);
});

function hasSecret(schema: Readonly<Record<string, unknown>>): boolean {
  const choices = (schema.anyOf ?? []) as ReadonlyArray<Record<string, unknown>>;
  return schema.writeOnly === true || choices.some(({ writeOnly }) => writeOnly === true);
}
