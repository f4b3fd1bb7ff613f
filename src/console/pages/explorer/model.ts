import type { Effect, MethodDescription, OpenRpcDocument, Requirement } from "../../../client/index.ts";
import { t } from "../../text/text.ts";

/** Method as the server describes it. */
export interface MethodInfo {
  readonly name: string;
  readonly namespace: string;
  readonly doc: string;
  /** What it asks of its caller, in words. */
  readonly need: string;
  /** Requirements as data, of which one is enough; more than one when they depend on the params. */
  readonly requirements: readonly Requirement[];
  readonly effect: Effect;
  /** Warning to confirm before the call. */
  readonly warning: string | undefined;
  /** Advice what to use instead; undefined when it is not deprecated. */
  readonly deprecated: string | undefined;
  readonly params: readonly Param[];
  /** Whether it is a subscription. */
  readonly isStream: boolean;
}

/** Reads the methods of an OpenRPC document from `rpc.discover`. */
export function readMethods({ methods }: OpenRpcDocument): MethodInfo[] {
  return methods.map((method) => ({
    name: method.name,
    namespace: method.name.split(/[_.]/, 1)[0] ?? "",
    doc: method.summary,
    need: method["x-need"],
    requirements: method["x-authorization"],
    effect: method["x-effect"],
    warning: method["x-warning"],
    deprecated: method.deprecated ? (method.description ?? t.api.deprecated) : undefined,
    params: method.params.map(toParam),
    isStream: method["x-event"] !== undefined,
  }));
}

/** Methods by namespace whose name or doc contains every word of `wanted`. */
export function findMethods(methods: readonly MethodInfo[], wanted: string): Map<string, MethodInfo[]> {
  const terms = wanted.toLowerCase().split(/\s+/);
  const found = methods.filter(({ name, doc }) => {
    const text = `${name} ${doc}`.toLowerCase();
    return terms.every((term) => text.includes(term));
  });
  return Map.groupBy(found, ({ namespace }) => namespace);
}

/** Parts of a JSON Schema that decide on the input for a value. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  /** Whether the value is a secret. */
  readonly writeOnly?: boolean;
}

/** Kind of input. `json` is for objects, arrays and everything else without an input of its own. */
type ParamKind = "text" | "integer" | "number" | "boolean" | "choice" | "json";

/** Param of a method, as the form shows it. */
export interface Param {
  readonly name: string;
  readonly kind: ParamKind;
  readonly required: boolean;
  readonly nullable: boolean;
  readonly choices: readonly string[];
  readonly description: string;
  /** Whether it is the caller's token, which the console fills in. */
  readonly isCredential: boolean;
  /** Masked on the screen, and a variable in the curl command. */
  readonly isSecret: boolean;
  /** Schema to show beside a JSON input; undefined when the server gives no details. */
  readonly schema: Schema | undefined;
}

export function toParam(described: MethodDescription["params"][number]): Param {
  const { name, required } = described;
  const schema: Schema = described.schema;
  const { core, nullable } = withoutNull(schema);
  const description = schema.description ?? core.description ?? "";
  const kind = kindOf(core);
  const hasDetails = Object.keys(schema).some((key) => key !== "description");
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
    schema: kind === "json" && hasDetails ? schema : undefined,
  };
}

/** Splits a schema into what it accepts besides null and whether it accepts null. */
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

/** Content of a param's field. */
export interface Entry {
  readonly text: string;
  /** Sends null instead of the text. */
  readonly isNull: boolean;
}

export type Entries = Readonly<Record<string, Entry>>;

export const emptyEntry: Entry = { text: "", isNull: false };

interface ParsedEntries {
  /** Params to send, in declared order. */
  readonly params: Readonly<Record<string, unknown>>;
  /** Problems that prevent sending, by param. */
  readonly problems: Readonly<Record<string, string>>;
}

/** Converts the typed entries to params. An empty credential is left to the client. */
export function parseEntries(declared: readonly Param[], entries: Entries): ParsedEntries {
  const params: Record<string, unknown> = {};
  const problems: Record<string, string> = {};
  for (const param of declared) {
    const entry = entries[param.name] ?? emptyEntry;
    if (isOmitted(param, entry)) continue;
    try {
      params[param.name] = entry.isNull ? null : toValue(param, entry.text);
    } catch (error) {
      problems[param.name] = error instanceof Error ? error.message : String(error);
    }
  }
  return { params, problems };
}

function isOmitted({ required, isCredential }: Param, { text, isNull }: Entry): boolean {
  return !isNull && text === "" && (!required || isCredential);
}

function toValue({ kind, choices }: Param, text: string): unknown {
  switch (kind) {
    case "text":
      return text;
    case "integer":
      if (!/^-?\d+$/.test(text.trim())) throw new Error(t.api.mustBeInteger);
      return toNumber(text);
    case "number":
      return toNumber(text);
    case "boolean":
      if (text !== "true" && text !== "false") throw new Error(t.api.chooseBoolean);
      return text === "true";
    case "choice":
      if (!choices.includes(text)) throw new Error(t.api.chooseAny);
      return text;
    case "json":
      return toJson(text);
  }
}

function toNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) throw new Error(t.api.mustBeNumber);
  // Beyond 2^53 a double may differ from the typed number.
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw new Error(t.api.tooLarge);
  return value;
}

function toJson(text: string): unknown {
  if (text.trim() === "") throw new Error(t.api.mustBeJson);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(t.api.badJson(error instanceof Error ? error.message : String(error)));
  }
}

/** Shown instead of a secret. */
const hidden = "••••••";

/** Request with its secrets masked. It always includes the credential, even if not typed. */
export function maskedRequest(
  method: string,
  declared: readonly Param[],
  params: Readonly<Record<string, unknown>>,
): object {
  const shown = Object.fromEntries(
    declared
      .filter(({ name, isCredential }) => isCredential || name in params)
      .map(({ name, isSecret }) => [name, isSecret && params[name] !== null ? hidden : params[name]]),
  );
  return { jsonrpc: "2.0", id: 1, method, params: shown };
}

/** Shell variable in place of a secret. */
interface Variable {
  readonly variable: string;
}

interface CurlLine {
  readonly line: string;
  /** Variables to set before running the line. */
  readonly variables: readonly string[];
}

/** Request as a curl command. Secrets are shell variables, so that they stay out of the shell's history. */
export function curlLine(
  url: string,
  method: string,
  declared: readonly Param[],
  params: Readonly<Record<string, unknown>>,
): CurlLine {
  const body: Array<string | Variable> = [
    `{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method)},"params":{`,
  ];
  const sent = declared.filter(({ name, isCredential }) => isCredential || name in params);
  for (const [at, param] of sent.entries()) {
    body.push(`${at === 0 ? "" : ","}${JSON.stringify(param.name)}:`);
    if (param.isSecret && params[param.name] !== null) body.push('"', { variable: variableOf(param) }, '"');
    else body.push(JSON.stringify(params[param.name]));
  }
  body.push("}}");
  const variables = body.flatMap((part) => (typeof part === "string" ? [] : [part.variable]));
  return {
    line: `curl -sS ${shellWord([`${url}/jsonrpc`])} -H 'content-type: application/json' --data-raw ${shellWord(body)}`,
    variables,
  };
}

function variableOf({ isCredential, name }: Param): string {
  return isCredential ? "TOKEN" : name.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_");
}

/** One word for `sh`: texts in single quotes, variables in double quotes. */
function shellWord(parts: ReadonlyArray<string | Variable>): string {
  const texts = parts.map((part) =>
    typeof part === "string" ? part.replaceAll("'", "'\\''") : `'"$${part.variable}"'`,
  );
  return `'${texts.join("")}'`;
}
