import type { MethodDescription } from "../../../client/index.ts";

/** What of a JSON Schema decides how a value is asked for. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  /** The value is a secret. */
  readonly writeOnly?: boolean;
}

/** `json` is for everything that has no field of its own: objects, lists, anything. */
export type ParamKind = "text" | "integer" | "number" | "boolean" | "choice" | "json";

/** One param of a method, as a form asks for it. */
export interface Param {
  readonly name: string;
  readonly kind: ParamKind;
  readonly required: boolean;
  readonly nullable: boolean;
  readonly choices: readonly string[];
  readonly description: string;
  /** The caller's token, which the console fills in. */
  readonly isCredential: boolean;
  /** Hidden on the screen, and a variable in the line for the shell. */
  readonly isSecret: boolean;
  /** As the server tells it, for what has to be written as JSON; undefined when it says nothing. */
  readonly schema: Schema | undefined;
}

export function toParam(described: MethodDescription["params"][number]): Param {
  const { name, required } = described;
  const schema: Schema = described.schema;
  const { core, nullable } = withoutNull(schema);
  const description = schema.description ?? core.description ?? "";
  const kind = kindOf(core);
  const tellsMore = Object.keys(schema).some((key) => key !== "description");
  const isCredential = described["x-credential"] === true;
  return {
    name,
    kind,
    required,
    nullable,
    choices: choicesOf(core),
    description,
    isCredential,
    isSecret: isCredential || core.writeOnly === true || schema.writeOnly === true,
    schema: kind === "json" && tellsMore ? schema : undefined,
  };
}

/** A schema that also takes null, and what it takes besides. */
function withoutNull(schema: Schema): { readonly core: Schema; readonly nullable: boolean } {
  const { anyOf, type } = schema;
  if (anyOf !== undefined) {
    const others = anyOf.filter((one) => one.type !== "null");
    const [only] = others;
    const nullable = others.length < anyOf.length;
    return only !== undefined && others.length === 1 ? { core: only, nullable } : { core: {}, nullable };
  }
  if (!Array.isArray(type) || !type.includes("null")) return { core: schema, nullable: type === "null" };
  const left = type.filter((one) => one !== "null");
  const [only] = left;
  const { type: _, ...rest } = schema;
  return { core: left.length === 1 && only !== undefined ? { ...rest, type: only } : {}, nullable: true };
}

function kindOf(schema: Schema): ParamKind {
  if (choicesOf(schema).length > 0) return "choice";
  switch (schema.type) {
    case "string":
      return "text";
    case "integer":
    case "number":
    case "boolean":
      return schema.type;
    default:
      return "json";
  }
}

function choicesOf(schema: Schema): readonly string[] {
  const all = schema.const === undefined ? (schema.enum ?? []) : [schema.const];
  return all.every((one) => typeof one === "string") ? all : [];
}
