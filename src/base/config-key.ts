import { z } from "zod";
import { parseDatabaseUrl, withSqlitePath } from "./database-url.ts";
import { Fault } from "./fault.ts";

/** Key is one key of the configuration: its type, its documentation, and its value in a new file. */
export interface Key<T extends z.ZodType = z.ZodType> {
  readonly type: T;
  readonly description: string;
  /** The name of the type in the docs. A `path` is made absolute when a configuration is parsed. */
  readonly typeLabel: string;
  /** Where the file path is in a value; undefined for keys that name no file. */
  readonly file?: FilePart;
  /** What the server does with the path: it creates or changes a file there (the default), writes into a folder, or only reads. */
  readonly fileUse?: "write" | "folder" | "read";
  /** Whether the value is a secret, which only the user of the server may read. */
  readonly isSecret?: boolean;
  /** The value in a new file. A key without it is written commented out, with its default. */
  readonly initial?: string | number;
  /** A valid value for error messages, for keys whose `initial` or default is none or would not help. */
  readonly example?: string | number;
}

/** FilePart reads and replaces the file path in the value of a key: the whole value, or a part of a URL. */
export interface FilePart {
  /** Returns undefined for a value that names no file. */
  read(value: string): string | undefined;
  replace(value: string, path: string): string;
}

const wholeValue: FilePart = { read: (value) => value, replace: (_, path) => path };

/** `sqliteFilePart` is the path in a `sqlite:` URL. */
export const sqliteFilePart: FilePart = {
  read(url) {
    const location = parseDatabaseUrl(url);
    return "sqlite" in location ? location.sqlite.path : undefined;
  },
  replace: withSqlitePath,
};

export function key<T extends z.ZodType>(
  typeLabel: string,
  type: T,
  description: string,
  more: Pick<Key, "initial" | "example" | "file" | "fileUse" | "isSecret"> = {},
): Key<T> {
  const file = typeLabel === "path" ? { file: wholeValue } : {};
  return { type, description, typeLabel, ...file, ...more };
}

/** `readBy` returns a string that `parse` reads; the detail of the Fault that it throws is the error message. */
export function readBy<T>(parse: (text: string) => T) {
  return z.string().transform((value, context): T => {
    try {
      return parse(value);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      context.addIssue(error.detail);
      return z.NEVER;
    }
  });
}

/** `defaultOf` returns the default of a key as it would be written in the file; undefined if it has none. */
export function defaultOf({ type }: Key): unknown {
  return type instanceof z.ZodDefault ? type.def.defaultValue : undefined;
}

/** `innerType` returns the type of a written value: without its default, and before a text is read. */
export function innerType(type: unknown): unknown {
  if (type instanceof z.ZodDefault || type instanceof z.ZodOptional || type instanceof z.ZodPrefault)
    return innerType(type.def.innerType);
  return type instanceof z.ZodPipe ? innerType(type.def.in) : type;
}

/** `choicesOf` returns all values that a key can have, if they are few; else none. */
export function choicesOf({ type }: Key): readonly (string | number | boolean)[] {
  const inner = innerType(type);
  if (inner instanceof z.ZodBoolean) return [true, false];
  return inner instanceof z.ZodEnum ? inner.options : [];
}

/** `boundsOf` returns the least and the greatest number that a key can have, as far as it has bounds. */
export function boundsOf({ type }: Key): { readonly minimum?: number; readonly maximum?: number } {
  const inner = innerType(type);
  if (!(inner instanceof z.ZodNumber)) return {};
  // All numbers of the configuration are whole.
  const { minimum: least, exclusiveMinimum: above, maximum } = z.toJSONSchema(inner);
  const minimum = typeof above === "number" ? above + 1 : least;
  return {
    ...(minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER && { minimum }),
    ...(maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER && { maximum }),
  };
}
