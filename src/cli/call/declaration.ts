import { readFile } from "node:fs/promises";
import { z } from "zod";
import { codeOf, messageOf } from "../../base/fault.ts";
import { nearest, toValidationIssue } from "../../base/validation-issue.ts";
import { credentialParams, parseExactly } from "../../client/index.ts";
import { methods } from "../../methods/index.ts";
import type { Method, MethodTable } from "../../rpc/method.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";

/** MethodDeclaration is a method as the command line needs it: its declaration, which cannot be run here. */
type MethodDeclaration = Method<never>;

const table: MethodTable<never> = methods;

export const methodNames: readonly string[] = Object.keys(table);

export function findMethod(name: string): MethodDeclaration {
  const found = Object.hasOwn(table, name) ? table[name] : undefined;
  if (found !== undefined) return found;
  const near = nearest(name, methodNames);
  const hint =
    near.length === 0 ? "`node-server call --help` lists them" : `did you mean ${near.join(" or ")}?`;
  throw new WrongUsage(`there is no method ${name}; ${hint}`);
}

/** The name of the param that takes the caller's token; undefined when the method has none. */
export function credentialOf(name: string): string | undefined {
  return Object.hasOwn(credentialParams, name) ? credentialParams[name] : undefined;
}

interface DeclaredParam {
  readonly name: string;
  readonly type: z.core.$ZodType;
  readonly required: boolean;
  readonly description: string;
}

/** Lists the params of a method, without the one of the caller's token. */
export function paramsOf(name: string): DeclaredParam[] {
  const credential = credentialOf(name);
  return Object.entries(findMethod(name).accepts.shape).flatMap(([param, type]) =>
    param === credential
      ? []
      : [
          {
            name: param,
            type,
            required: !z.safeParse(type, undefined).success,
            description: z.globalRegistry.get(type)?.description ?? "",
          },
        ],
  );
}

type Values = Record<string, unknown>;

/** Reads the params of a call from one JSON text or from `key=value` arguments, and checks them against the declaration. */
export async function parseParams(ctx: Context, method: string, args: readonly string[]): Promise<Values> {
  const declared = paramsOf(method);
  const values = /^\s*[{[]/.test(args[0] ?? "")
    ? parseObject(args)
    : await parsePairs(ctx, method, args, declared);
  const names = [...declared.map(({ name }) => name), credentialOf(method)];
  for (const name of Object.keys(values))
    if (!names.includes(name)) throw unknownParam(method, name, declared);
  const missing = declared.filter(({ name, required }) => required && values[name] === undefined);
  if (missing.length > 0)
    throw new WrongUsage(`${method} needs ${missing.map(({ name }) => name).join(", ")}`);
  for (const { name, type } of declared) checkType(name, type, values[name]);
  return values;
}

/** Checks a value as the server will. The message does not show it: it may be a secret. */
function checkType(name: string, type: z.core.$ZodType, value: unknown): void {
  const read = z.safeParse(type, value);
  const [issue] = read.error?.issues ?? [];
  if (issue === undefined) return;
  const { path, why } = toValidationIssue(issue, value);
  throw new WrongUsage(`${[name, ...path].join(".")} ${why}`);
}

function parseObject(args: readonly string[]): Values {
  if (args.length > 1) throw new WrongUsage("write the params as one JSON text or as key=value, not both");
  let value: unknown;
  try {
    value = parseExactly(args[0] ?? "");
  } catch (error) {
    throw new WrongUsage(`the params are not JSON: ${messageOf(error)}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new WrongUsage("the params must be a JSON object with the params by name, without the token");
  return value as Values;
}

async function parsePairs(
  ctx: Context,
  method: string,
  args: readonly string[],
  declared: readonly DeclaredParam[],
): Promise<Values> {
  const values: Values = Object.create(null);
  for (const arg of args) {
    const [, name, text] = /^([^=]+)=(.*)$/s.exec(arg) ?? [];
    // The message does not repeat the argument: it may hold a secret.
    if (name === undefined || text === undefined)
      throw new WrongUsage(`write the params of ${method} as key=value, or as one JSON text`);
    if (name in values) throw new WrongUsage(`${name} is given twice`);
    const param = declared.find((other) => other.name === name);
    if (param === undefined && name !== credentialOf(method)) throw unknownParam(method, name, declared);
    const given = text.startsWith("@") ? await readText(ctx, text.slice(1)) : text;
    values[name] = param === undefined || isText(param.type) ? given : parseValue(given);
  }
  return { ...values };
}

/** Reads JSON, with every digit of whole numbers; what is not JSON is the text itself. */
export function parseValue(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return text;
  }
}

/** Reads a file of UTF-8; `-` is standard input. */
export async function readText(ctx: Context, path: string): Promise<string> {
  try {
    const bytes = path === "-" ? await new Response(ctx.input()).bytes() : await readFile(ctx.path(path));
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) throw new WrongUsage(`${path} is not text (UTF-8)`);
    throw new WrongUsage(codeOf(error) === "ENOENT" ? `there is no file ${path}` : messageOf(error));
  }
}

/** `isText` returns whether a param takes only strings, so that `5` and `true` are strings too. */
function isText(type: z.core.$ZodType): boolean {
  const { anyOf, ...schema } = z.toJSONSchema(type, { io: "input", unrepresentable: "any" });
  const choices = (anyOf ?? [schema]) as readonly z.core.JSONSchema.BaseSchema[];
  const solid = choices.filter((choice) => choice.type !== "null");
  return solid.length > 0 && solid.every((choice) => choice.type === "string");
}

function unknownParam(method: string, name: string, declared: readonly DeclaredParam[]): WrongUsage {
  const names = declared.map((param) => param.name);
  const [near] = nearest(name, names, 1);
  const takes = names.length === 0 ? "it takes none" : `it takes ${names.join(", ")}`;
  return new WrongUsage(
    `${method} has no param ${name}; ${near === undefined ? takes : `did you mean ${near}? ${takes}`}`,
  );
}
