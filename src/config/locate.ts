import { parse } from "smol-toml";

/** Position is a place in a text; line and column start at 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface Location {
  /** The start of the key; for an absent key that of the header of its table, or of the text. */
  readonly key: Position;
  /** The start of the value; undefined for an absent key and for a table with a header. */
  readonly value: Position | undefined;
}

/** Node holds the first entries of a text that have this path, or begin with it. */
interface Node {
  exact: Entry | undefined;
  /** The first entry below this path: `[a.b]` alone creates the table `a`, too. */
  below: Entry | undefined;
  readonly children: Map<string, Node>;
}

/**
 * KeyIndex finds keys and their values in a TOML text that is known to be valid. The TOML parser gives positions for broken
 * syntax only, and an operator needs them for a wrong value too. The text is scanned once, however many keys are looked up.
 */
export class KeyIndex {
  readonly #root = newNode({ path: [], key: 0, value: undefined });
  readonly #lines: LineIndex;

  constructor(toml: string) {
    const text = withoutMark(toml);
    this.#lines = new LineIndex(text);
    for (const entry of new Scanner(text).entries()) {
      let node = this.#root;
      for (const part of entry.path) {
        const child = node.children.get(part) ?? newNode();
        node.children.set(part, child);
        child.below ??= entry;
        node = child;
      }
      node.exact ??= entry;
    }
  }

  locate(path: readonly string[]): Location {
    let best: Entry | undefined = this.#root.exact;
    let node: Node | undefined = this.#root;
    for (const part of path) {
      node = node?.children.get(part);
      best = node?.exact ?? best;
    }
    const { key, value } = node?.exact ?? node?.below ?? best ?? { key: 0 };
    return {
      key: this.#lines.positionAt(key),
      value: node?.exact === undefined || value === undefined ? undefined : this.#lines.positionAt(value),
    };
  }
}

function newNode(exact?: Entry): Node {
  return { exact, below: undefined, children: new Map() };
}

/** `withoutMark` removes a byte order mark, which is not part of the first line. */
function withoutMark(toml: string): string {
  return toml.replace(/^\ufeff/, "");
}

/** LineIndex turns offsets of a text into lines and columns without reading the text again for each. */
class LineIndex {
  readonly #starts = [0];

  constructor(text: string) {
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) this.#starts.push(at + 1);
  }

  positionAt(offset: number): Position {
    let [first, last] = [0, this.#starts.length - 1];
    while (first < last) {
      const middle = Math.ceil((first + last) / 2);
      if ((this.#starts[middle] ?? 0) <= offset) first = middle;
      else last = middle - 1;
    }
    return { line: first + 1, column: offset - (this.#starts[first] ?? 0) + 1 };
  }
}

/** `positionAt` returns the line and column of an offset. */
export function positionAt(text: string, offset: number): Position {
  return new LineIndex(text).positionAt(offset);
}

interface Entry {
  readonly path: readonly string[];
  /** Offset of the key; `value` is that of its value. */
  readonly key: number;
  readonly value: number | undefined;
  /** Whether it is in one of a list of tables; the same entry with the number of the table in its path follows. */
  readonly isInList?: boolean;
}

/** numbered yields an entry of a list of tables twice: also with the number of its table in the path. */
function* numbered(entry: Entry, depth: number, index: number | undefined): Generator<Entry> {
  if (index === undefined) return yield entry;
  yield { ...entry, isInList: true };
  const { path } = entry;
  yield { ...entry, path: [...path.slice(0, depth), String(index), ...path.slice(depth)] };
}

const keyPart = `(?:[A-Za-z0-9_-]+|"(?:[^"\\\\]|\\\\.)*"|'[^']*')`;
const dottedKey = new RegExp(`${keyPart}(?:[ \\t]*\\.[ \\t]*${keyPart})*`, "y");
const blank = /(?:[ \t\r\n]|#[^\n]*)+/y;
const space = /[ \t]+/y;
/** A string of any of TOML's four kinds. */
const quoted = /"""(?:[^\\]|\\[\s\S])*?"{3,5}|'''[\s\S]*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'/y;
const bare = /[^,\]}#\r\n]+/y;

class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  *entries(): Generator<Entry> {
    let table: string[] = [];
    /** How many tables each list of tables has so far, by its path. */
    const counts = new Map<string, number>();
    let index: number | undefined;
    for (this.#take(blank); this.#at < this.#text.length; this.#take(blank)) {
      const key = this.#at;
      if (this.#next() === "[") {
        const isList = this.#text.startsWith("[[", key);
        while (/[[ \t]/.test(this.#next())) this.#at += 1;
        table = splitKey(this.#take(dottedKey));
        const list = JSON.stringify(table);
        index = isList ? (counts.get(list) ?? 0) : undefined;
        if (index !== undefined) counts.set(list, index + 1);
        this.#take(space);
        while (this.#next() === "]") this.#at += 1;
        yield* numbered({ path: table, key, value: undefined }, table.length, index);
      } else for (const entry of this.#pair(table)) yield* numbered(entry, table.length, index);
    }
  }

  /** Reads `key = value`, and the pairs inside an inline table. */
  *#pair(table: readonly string[]): Generator<Entry> {
    const key = this.#at;
    const own = splitKey(this.#take(dottedKey));
    const path = [...table, ...own];
    this.#take(space);
    // Past the `=`. In an invalid text this is what keeps the scan moving.
    this.#at += 1;
    this.#take(space);
    // Only an invalid text has no key here; the path would be that of the table.
    if (own.length > 0) yield { path, key, value: this.#at };
    yield* this.#value(path);
  }

  *#value(path: readonly string[]): Generator<Entry> {
    const opening = this.#next();
    if (opening !== "{" && opening !== "[") {
      if (this.#take(quoted) === "") this.#take(bare);
      return;
    }
    this.#at += 1;
    for (this.#take(blank); !/^[\]}]?$/.test(this.#next()); this.#take(blank)) {
      if (this.#next() === ",") this.#at += 1;
      else if (opening === "{") yield* this.#pair(path);
      // Elements of arrays have no key, so no path leads to them.
      else for (const _ of this.#value([]));
    }
    this.#at += 1;
  }

  #next(): string {
    return this.#text[this.#at] ?? "";
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += found.length;
    return found;
  }
}

function splitKey(dotted: string): string[] {
  return (dotted.match(new RegExp(keyPart, "g")) ?? []).map((part) =>
    /^["']/.test(part) ? (Object.keys(parse(`${part} = 0`))[0] ?? part) : part,
  );
}

/** Duplicate is a key that is set a second time. */
interface Duplicate {
  readonly path: readonly string[];
  readonly first: Position;
}

/** `duplicateOn` finds the key or table on this line that an earlier line has already; undefined if there is none. */
export function duplicateOn(toml: string, line: number): Duplicate | undefined {
  const text = withoutMark(toml);
  const lines = new LineIndex(text);
  const seen = new Map<string, Position>();
  for (const { path, key, isInList } of new Scanner(text).entries()) {
    const position = lines.positionAt(key);
    if (position.line > line) return undefined;
    if (isInList) continue;
    const name = JSON.stringify(path);
    const first = seen.get(name);
    if (first !== undefined && position.line === line) return { path, first };
    seen.set(name, position);
  }
  return undefined;
}

/**
 * `unclosedQuote` returns the offset of a string that is not closed on its line or, with three quotes, anywhere below; undefined if
 * there is none.
 */
export function unclosedQuote(toml: string): number | undefined {
  const piece = new RegExp(`${quoted.source}|#[^\\n]*|[\\s\\S]`, "y");
  for (let found = piece.exec(toml); found !== null; found = piece.exec(toml))
    // Of three quotes that are never closed, the first two are read as an empty string.
    if (/^["']$/.test(found[0]))
      return toml.startsWith(found[0].repeat(2), found.index - 2) ? found.index - 2 : found.index;
  return undefined;
}

/** `nestedDeeper` returns the offset of the first bracket that is inside of `max` others; undefined if there is none. */
export function nestedDeeper(toml: string, max: number): number | undefined {
  let depth = 0;
  for (const { 0: piece, index } of toml.matchAll(new RegExp(`${quoted.source}|#[^\\n]*|[[\\]{}]`, "g"))) {
    if (piece === "[" || piece === "{") depth += 1;
    else if (piece === "]" || piece === "}") depth = Math.max(depth - 1, 0);
    if (depth > max) return index;
  }
  return undefined;
}
