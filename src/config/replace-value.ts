import { parse, type TomlTable } from "smol-toml";
import { Fault } from "../base/fault.ts";
import { KeyIndex } from "./locate.ts";

/** A TOML string on one line: basic or literal. */
const stringForm = /^(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*')/;

/**
 * `replaceUrl` returns the text of a configuration in which a key of a table has another URL, or, without one, is missing.
 * Comments and everything else stay.
 */
export function replaceUrl(
  text: string,
  [table, key]: readonly [table: string, key: string],
  url: string | undefined,
): string {
  const replaced = edited(text, [table, key], url);
  const [was, is] = [parse(text), replaced === undefined ? undefined : parse(replaced)];
  const { [key]: _, ...others } = (was[table] ?? {}) as TomlTable;
  const expected = { ...was, [table]: url === undefined ? others : { ...others, [key]: url } };
  if (replaced === undefined || !Bun.deepEquals(is, expected)) throw cannotReplace(key);
  return replaced;
}

/** The text with the change; undefined where the value is not a string on one line. */
function edited(text: string, [table, key]: readonly [string, string], url: string | undefined) {
  const { value } = new KeyIndex(text).locate([table, key]);
  const lines = text.split("\n");
  if (value === undefined)
    return url === undefined ? text : withNewKey(lines, table, `${key} = ${JSON.stringify(url)}`);
  const line = lines[value.line - 1] ?? "";
  const [before, after] = [line.slice(0, value.column - 1), line.slice(value.column - 1)];
  const [old] = stringForm.exec(after) ?? [];
  if (old === undefined || old === '""' || old === "''") return undefined;
  if (url === undefined) lines.splice(value.line - 1, 1);
  else lines[value.line - 1] = `${before}${JSON.stringify(url)}${after.slice(old.length)}`;
  return lines.join("\n");
}

/** Puts a line below the header of its table, or both at the end. */
function withNewKey(lines: readonly string[], table: string, line: string): string {
  const header = lines.findIndex((other) => other.replace(/#.*/, "").trim() === `[${table}]`);
  if (header !== -1) return lines.toSpliced(header + 1, 0, line).join("\n");
  return `${lines.join("\n").trimEnd()}\n\n[${table}]\n${line}\n`;
}

function cannotReplace(key: string): Fault {
  return new Fault(
    "Other",
    `${key} could not be replaced in the configuration; edit it by hand. The copied data stays`,
  );
}
