import { z } from "zod";
import { describeNeed } from "../auth/need.ts";
import type { Method, MethodTable } from "./method.ts";

/** An OpenRPC document from the declarations that validate the calls. */
export function discover<S>(methods: MethodTable<S>, version: string): Record<string, unknown> {
  return {
    openrpc: "1.4.1",
    info: { title: "node-server", version, license: { name: "MIT" } },
    methods: Object.entries(methods).map(([name, method]) => describeMethod(name, method)),
  };
}

function describeMethod<S>(name: string, method: Method<S>): Record<string, unknown> {
  return {
    name,
    summary: method.doc,
    paramStructure: "either",
    params: Object.entries(method.accepts.shape).map(([param, type]) => ({
      name: param,
      required: isRequired(type),
      schema: jsonSchema(type, "input"),
    })),
    result: { name: "result", schema: jsonSchema(method.result, "output") },
    ...(method.replacedBy === undefined
      ? {}
      : { deprecated: true, description: `Use ${method.replacedBy} instead.` }),
    ...(method.event === undefined ? {} : { "x-event": jsonSchema(method.event, "output") }),
    "x-need": needWords(method),
  };
}

function jsonSchema(type: z.core.$ZodType, io: "input" | "output"): unknown {
  const { $schema: _, ...schema } = z.toJSONSchema(type, { io, unrepresentable: "any" });
  return schema;
}

function isRequired(type: z.core.$ZodType): boolean {
  return !z.safeParse(type, undefined).success;
}

/** What a method asks for, in words; a param that decides stands as `<name>`. */
export function needWords<S>({ needFor, accepts }: Method<S>): string {
  const params = Object.entries(accepts.shape);
  const words = (given: typeof params) =>
    describeNeed(needFor(Object.fromEntries(given.map(([name]) => [name, `<${name}>`]))));
  const fewest = words(params.filter(([, type]) => isRequired(type)));
  const all = words(params);
  return all === fewest ? all : `${fewest}, or ${all}`;
}
