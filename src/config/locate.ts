import { parse } from "smol-toml";

export interface Position {
  /** Both count from 1. */
  readonly line: number;
  readonly column: number;
}

/**
 * Where a key stands in a TOML text that is known to be valid. The TOML parser gives positions for broken
 * syntax only, and an operator wants them for a wrong value too. A key inside an inline table is found at
 * the key that holds the table; a key that is absent is found at its table's header, or at the start.
 */
export function locate(toml: string, path: readonly string[]): Position {
  let best: Position = { line: 1, column: 1 };
  let bestDepth = 0;
  const consider = (found: readonly string[], offset: number) => {
    const depth = found.length;
    if (depth > bestDepth && depth <= path.length && found.every((part, i) => part === path[i])) {
      bestDepth = depth;
      best = positionAt(toml, offset);
    }
  };
  let table: string[] = [];
  for (const { header, keys, offset } of statements(toml)) {
    if (header) table = keys;
    consider(header ? table : [...table, ...keys], offset);
  }
  return best;
}

function positionAt(text: string, offset: number): Position {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

interface Statement {
  readonly header: boolean;
  readonly keys: string[];
  readonly offset: number;
}

const keyPart = `(?:[A-Za-z0-9_-]+|"(?:[^"\\\\]|\\\\.)*"|'[^']*')`;
const dottedKey = new RegExp(`${keyPart}(?:[ \\t]*\\.[ \\t]*${keyPart})*`, "y");
const blank = /(?:[ \t\r\n]|#[^\n]*)+/y;
/** A string of any of the four kinds, else one character. */
const valuePiece =
  /"""(?:[^\\]|\\[\s\S])*?"{3,5}|'''[\s\S]*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*|[\s\S]/y;

function* statements(toml: string): Generator<Statement> {
  let at = 0;
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const found = pattern.exec(toml)?.[0] ?? "";
    at += found.length;
    return found;
  };
  while (at < toml.length) {
    take(blank);
    if (at >= toml.length) return;
    const offset = at;
    const header = toml[at] === "[";
    while (header && /[[ \t]/.test(toml[at] ?? "")) at += 1;
    yield { header, keys: splitKey(take(dottedKey)), offset };
    let depth = 0;
    for (
      let piece = take(valuePiece);
      piece !== "" && !(piece === "\n" && depth <= 0);
      piece = take(valuePiece)
    ) {
      if (piece === "[" || piece === "{") depth += 1;
      if (piece === "]" || piece === "}") depth -= 1;
    }
  }
}

function splitKey(dotted: string): string[] {
  return (dotted.match(new RegExp(keyPart, "g")) ?? []).map(
    (part) => Object.keys(parse(`${part} = 0`))[0] ?? part,
  );
}
