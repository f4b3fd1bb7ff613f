import { z } from "zod";
import { permissionJson } from "../auth/limit.ts";
import { describeNeed, isOpen, type Need } from "../auth/need.ts";
import { type Permission, scopeNames } from "../auth/permission.ts";
import { type FaultKind, faultKinds } from "../base/fault.ts";
import { credentialParam, type Effect, effects, type Method, type MethodTable } from "./method.ts";

const inScope = {
  permissions: z.array(permissionJson),
  scope: z.union([
    z.object({ kind: z.literal("global") }),
    z.object({ kind: z.enum(scopeNames), param: z.string() }),
  ]),
};

const requirement = z
  .union([
    z.object({ kind: z.enum(["anyone", "owner", "super", "token"]) }),
    z.object({ kind: z.literal("all"), ...inScope }),
    z.object({ kind: z.literal("some"), ...inScope }),
    z.object({ kind: z.literal("anywhere"), permissions: z.array(permissionJson) }),
  ])
  .meta({ id: "Requirement" });

/** Requirement is a `Need` as it travels: `param` names the param whose value is the name of the scope. */
type Requirement = z.infer<typeof requirement>;

const methodDescription = z
  .object({
    name: z.string(),
    tags: z.array(z.object({ name: z.string() })),
    summary: z.string(),
    description: z.string().optional(),
    deprecated: z.literal(true).optional(),
    paramStructure: z.literal("either"),
    params: z.array(
      z.object({
        name: z.string(),
        required: z.boolean(),
        schema: z.record(z.string(), z.unknown()),
        "x-credential": z.literal(true).optional(),
      }),
    ),
    result: z.object({ name: z.string(), schema: z.record(z.string(), z.unknown()) }),
    errors: z.array(z.object({ code: z.int(), message: z.string() })),
    "x-event": z.record(z.string(), z.unknown()).optional(),
    "x-need": z.string(),
    "x-authorization": z.array(requirement),
    "x-effect": z.enum(Object.keys(effects) as [Effect, ...Effect[]]).meta({ id: "Effect" }),
    "x-warning": z.string().optional(),
  })
  .meta({ id: "MethodDescription" });

type MethodDescription = z.infer<typeof methodDescription>;

/** openRpcDocument describes the result of `rpc.discover`: OpenRPC with fields of its own, which begin with `x-`. */
export const openRpcDocument = z
  .object({
    openrpc: z.string(),
    info: z.object({
      title: z.string(),
      version: z.string(),
      license: z.object({ name: z.string() }),
    }),
    methods: z.array(methodDescription),
  })
  .meta({ id: "OpenRpcDocument" });

/**
 * An OpenRPC document from the declarations that validate the calls. It names no servers: their addresses have to be absolute, and a
 * server behind a proxy does not know its own.
 */
export function discover<S>(methods: MethodTable<S>, version: string): z.infer<typeof openRpcDocument> {
  return {
    openrpc: "1.4.1",
    info: { title: "node-server", version, license: { name: "MIT" } },
    methods: Object.entries(methods).map(([name, method]) => describeMethod(name, method)),
  };
}

function describeMethod<S>(name: string, method: Method<S>): MethodDescription {
  const credential = credentialParam(method);
  return {
    name,
    tags: [{ name: name.split(/[_.]/, 1)[0] ?? "" }],
    summary: method.doc,
    paramStructure: "either",
    params: Object.entries(method.accepts.shape).map(([param, type]) => ({
      name: param,
      required: isRequired(type),
      schema: jsonSchema(type, "input"),
      ...(param === credential ? { "x-credential": true } : {}),
    })),
    result: { name: "result", schema: jsonSchema(method.result, "output") },
    errors: errorsOf(method),
    ...(method.replacedBy === undefined
      ? {}
      : { deprecated: true, description: `Use ${method.replacedBy} instead.` }),
    ...(method.event === undefined ? {} : { "x-event": jsonSchema(method.event, "output") }),
    "x-need": needWords(method),
    "x-authorization": requirementsOf(method),
    "x-effect": method.effect,
    ...(method.warning === undefined ? {} : { "x-warning": method.warning }),
  };
}

/** failuresOf lists how a method can fail; each can also fail with `Internal`. */
export function failuresOf<S>({ names, needFor, fails }: Method<S>): FaultKind[] {
  const ofParams: readonly FaultKind[] = names.length > 0 ? ["InvalidParams"] : [];
  const ofNeed: readonly FaultKind[] = isOpen(needFor({})) ? [] : ["ParseError", "PermissionDenied"];
  return [...new Set([...ofParams, ...ofNeed, ...fails])];
}

/** OpenRPC has one error for a code, and several kinds may have the same one. */
function errorsOf<S>(method: Method<S>): MethodDescription["errors"] {
  const titles = new Map<number, string[]>();
  for (const { code, title } of failuresOf(method).map((kind) => faultKinds[kind]))
    titles.set(code, [...(titles.get(code) ?? []), title]);
  return [...titles].map(([code, all]) => ({ code, message: all.join(" or ") }));
}

function jsonSchema(type: z.core.$ZodType, io: "input" | "output"): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(type, { io, unrepresentable: "any" });
  return schema;
}

function isRequired(type: z.core.$ZodType): boolean {
  return !z.safeParse(type, undefined).success;
}

/** What a method asks for, in words; a param that decides stands as `<name>`. */
export function needWords<S>(method: Method<S>): string {
  return needsOf(method).map(describeNeed).join(", or ");
}

/** Every need that a method can have, depending on its params; for most methods there is one. */
export function requirementsOf<S>(method: Method<S>): Requirement[] {
  return needsOf(method).map((need) => toRequirement(need, method.names));
}

/** Asks with the required params, then with each of the others, then with all of them; each has its placeholder for a value. */
function needsOf<S>({ needFor, accepts }: Method<S>): Need[] {
  const params = Object.entries(accepts.shape);
  const ask = (given: typeof params) =>
    needFor(Object.fromEntries(given.map(([name]) => [name, placeholder(name)])));
  const required = params.filter(([, type]) => isRequired(type));
  const others = params.filter(([, type]) => !isRequired(type));
  const asked = [required, ...others.map((one) => [...required, one]), params].map(ask);
  return asked.filter((need, at) => asked.findIndex((other) => Bun.deepEquals(need, other)) === at);
}

function toRequirement(need: Need, params: readonly string[]): Requirement {
  if (need.kind === "anywhere") return { kind: need.kind, permissions: need.permissions.map(toJson) };
  if (need.kind !== "all" && need.kind !== "some") return { kind: need.kind };
  const { scope } = need;
  const permissions = need.permissions.map(toJson);
  if (scope.in === "global") return { kind: need.kind, permissions, scope: { kind: "global" } };
  const param = params.find((name) => placeholder(name) === scope.name);
  if (param === undefined) throw new Error(`the scope ${scope.in} ${scope.name} is named by no param`);
  return { kind: need.kind, permissions, scope: { kind: scope.in, param } };
}

/** `static_bucket_file.read` as it stands in a token's limits. */
function toJson(permission: Permission): z.infer<typeof permissionJson> {
  const [family = "", action = ""] = permission.split(".", 2);
  return { [family]: action };
}

function placeholder(param: string): string {
  return `<${param}>`;
}

type Schema = z.core.JSONSchema.BaseSchema;

/** Types with a name of their own (`.meta({ id })`), collected while pages are printed. */
export type NamedTypes = Map<string, string>;

/** A schema as people write types: `{ token: string; limit?: TokenLimit[] }`. */
export function typeText(type: z.core.$ZodType, io: "input" | "output", named: NamedTypes): string {
  const { $defs = {}, ...schema } = z.toJSONSchema(type, { io, unrepresentable: "any" });
  for (const [name, definition] of Object.entries($defs)) {
    if (!named.has(name)) named.set(name, print(definition as Schema));
  }
  const { id } = schema as { id?: string };
  if (id === undefined) return print(schema);
  named.set(id, print(schema));
  return id;
}

function print(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.split("/").at(-1) ?? "";
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choices.map((choice) => print(choice as Schema)).join(" | ");
  switch (schema.type) {
    case "array": {
      const item = print((schema.items ?? {}) as Schema);
      return item.includes(" | ") && !item.startsWith("{") ? `(${item})[]` : `${item}[]`;
    }
    case "object":
      return printObject(schema);
    case "integer":
      return "integer";
    default:
      return schema.type === undefined ? "any" : [schema.type].flat().join(" | ");
  }
}

function printObject(schema: Schema): string {
  const members = Object.entries(schema.properties ?? {}).map(([name, member]) => {
    const mark = schema.required?.includes(name) ? "" : "?";
    return `${/^\w+$/.test(name) ? name : JSON.stringify(name)}${mark}: ${print(member as Schema)}`;
  });
  if (members.length === 0) return `{ [name]: ${print((schema.additionalProperties || {}) as Schema)} }`;
  return `{ ${members.join("; ")} }`;
}
