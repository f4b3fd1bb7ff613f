import { HttpError } from "../request/http-error.ts";

export interface Condition {
  readonly negated: boolean;
  readonly state: { readonly token: string } | { readonly etag: string };
}

/** ConditionList holds if all of its conditions hold, about the request's own resource or about `resource`. */
export interface ConditionList {
  readonly resource: string | undefined;
  readonly conditions: readonly Condition[];
}

/** parseIf reads an If header, RFC 4918 §10.4: lists of which one must hold. Undefined without the header. */
export function parseIf(header: string | null): readonly ConditionList[] | undefined {
  if (header === null) return undefined;
  const reader = new Reader(header);
  const lists: ConditionList[] = [];
  const tagged = reader.sees("<");
  while (!reader.done()) {
    const resource = tagged ? reader.between("<", ">") : undefined;
    do lists.push({ resource, conditions: parseList(reader) });
    while (reader.sees("("));
  }
  if (lists.length === 0) throw malformed();
  return lists;
}

function parseList(reader: Reader): Condition[] {
  reader.take("(");
  const conditions: Condition[] = [];
  while (!reader.sees(")")) {
    const negated = reader.takeNot();
    if (reader.sees("<")) conditions.push({ negated, state: { token: reader.between("<", ">") } });
    else conditions.push({ negated, state: { etag: reader.tag() } });
  }
  reader.take(")");
  if (conditions.length === 0) throw malformed();
  return conditions;
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    this.#space();
  }

  done(): boolean {
    return this.#at >= this.#text.length;
  }

  sees(word: string): boolean {
    return this.#text.startsWith(word, this.#at);
  }

  take(word: string): void {
    if (!this.sees(word)) throw malformed();
    this.#at += word.length;
    this.#space();
  }

  takeNot(): boolean {
    if (this.#text.slice(this.#at, this.#at + 3).toLowerCase() !== "not") return false;
    this.#at += 3;
    this.#space();
    return true;
  }

  between(open: string, close: string): string {
    if (!this.sees(open)) throw malformed();
    const end = this.#text.indexOf(close, this.#at);
    if (end === -1) throw malformed();
    const inside = this.#text.slice(this.#at + open.length, end);
    this.#at = end + close.length;
    this.#space();
    return inside.trim();
  }

  /** An entity tag in brackets; its quotes allow brackets in it. */
  tag(): string {
    this.take("[");
    const found = /^(?:W\/)?"[^"]*"/.exec(this.#text.slice(this.#at))?.[0];
    if (found === undefined) throw malformed();
    this.#at += found.length;
    this.#space();
    this.take("]");
    return found;
  }

  #space(): void {
    while (this.#text[this.#at] === " " || this.#text[this.#at] === "\t") this.#at += 1;
  }
}

function malformed(): HttpError {
  return new HttpError(400, "the If header is malformed");
}
