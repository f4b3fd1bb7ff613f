import { parse, type TomlTable } from "smol-toml";
import { Fault } from "../base/fault.ts";
import { KeyIndex } from "./locate.ts";

/** A TOML string on one line: basic or literal. */
const stringForm = /^(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*')/;

/** `replaceDatabaseUrl` returns the text of a configuration with another `database_url`; comments and everything else stay. */
export function replaceDatabaseUrl(text: string, url: string): string {
  const value = new KeyIndex(text).locate(["database", "database_url"]).value;
  const lines = text.split("\n");
  const line = value === undefined ? undefined : lines[value.line - 1];
  if (value === undefined || line === undefined) throw cannotReplace();
  const [before, after] = [line.slice(0, value.column - 1), line.slice(value.column - 1)];
  const [old] = stringForm.exec(after) ?? [];
  if (old === undefined || old === '""' || old === "''") throw cannotReplace();
  lines[value.line - 1] = `${before}${JSON.stringify(url)}${after.slice(old.length)}`;
  const replaced = lines.join("\n");
  const [was, is] = [parse(text), parse(replaced)];
  const expected = { ...was, database: { ...(was.database as TomlTable), database_url: url } };
  if (!Bun.deepEquals(is, expected)) throw cannotReplace();
  return replaced;
}

function cannotReplace(): Fault {
  return new Fault(
    "Other",
    "database_url could not be replaced in the configuration; write it there by hand. The database was copied",
  );
}
