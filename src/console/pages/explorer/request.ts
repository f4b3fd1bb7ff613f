import { t } from "../../text/text.ts";
import type { Param } from "./openrpc.ts";

/** Content of a param's field. */
export interface Entry {
  readonly text: string;
  /** Sends null instead of the text. */
  readonly isNull: boolean;
}

export type Entries = Readonly<Record<string, Entry>>;

export const emptyEntry: Entry = { text: "", isNull: false };

export interface ParsedEntries {
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
export interface Variable {
  readonly variable: string;
}

export interface CurlLine {
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
