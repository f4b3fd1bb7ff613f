import type { Param } from "./param.ts";

/** What stands in the field of a param. */
export interface Entry {
  readonly text: string;
  /** Null is sent, whatever the text. */
  readonly isNull: boolean;
}

export type Entries = Readonly<Record<string, Entry>>;

export const emptyEntry: Entry = { text: "", isNull: false };

export interface Filled {
  /** In the order of the declaration; what is not sent is missing. */
  readonly params: Readonly<Record<string, unknown>>;
  /** By param, what keeps the request from being sent. */
  readonly problems: Readonly<Record<string, string>>;
}

/** The params of a request, from what was typed. A credential that was not typed is left to the client. */
export function fillIn(declared: readonly Param[], entries: Entries): Filled {
  const params: Record<string, unknown> = {};
  const problems: Record<string, string> = {};
  for (const param of declared) {
    const entry = entries[param.name] ?? emptyEntry;
    if (isLeftOut(param, entry)) continue;
    try {
      params[param.name] = entry.isNull ? null : toValue(param, entry.text);
    } catch (error) {
      problems[param.name] = error instanceof Error ? error.message : String(error);
    }
  }
  return { params, problems };
}

function isLeftOut({ required, isCredential }: Param, { text, isNull }: Entry): boolean {
  return !isNull && text === "" && (!required || isCredential);
}

function toValue({ kind, choices }: Param, text: string): unknown {
  switch (kind) {
    case "text":
      return text;
    case "integer":
      if (!/^-?\d+$/.test(text.trim())) throw new Error("It must be a whole number.");
      return toNumber(text);
    case "number":
      return toNumber(text);
    case "boolean":
      if (text !== "true" && text !== "false") throw new Error("Choose true or false.");
      return text === "true";
    case "choice":
      if (!choices.includes(text)) throw new Error("Choose one.");
      return text;
    case "json":
      return toJson(text);
  }
}

function toNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) throw new Error("It must be a number.");
  // The next one up could not be told from it, so another number than the typed one would be sent.
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new Error("It is too large to be exact.");
  return value;
}

function toJson(text: string): unknown {
  if (text.trim() === "") throw new Error('It must be JSON: a text needs quotes, such as "text".');
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(
      `This is no JSON: ${error instanceof Error ? error.message : String(error)}. A text needs quotes.`,
    );
  }
}
