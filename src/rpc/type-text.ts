import { z } from "zod";

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
