import type { LockHolder } from "../../buckets/metadata/locks.ts";
import type { TreePath } from "../../buckets/path.ts";
import { assertLists, type ConditionList, type WriteConditions } from "../../buckets/write-conditions.ts";
import { writeConditionsIn } from "../content/conditions.ts";
import { HttpError } from "../request/http-error.ts";
import { parseDavPath, pathOfUrl } from "./dav-path.ts";
import type { DavRequest } from "./dav-request.ts";

/**
 * writeConditions reads the preconditions of a request and the lock tokens that it submits, for a write to check. `headers` may be
 * others than its own.
 */
export function writeConditions(
  { request, bucket, caller, grant }: DavRequest,
  headers = request.headers,
): WriteConditions & { readonly holder: LockHolder } {
  const lists = listsIn(headers, bucket.name);
  const submitted = (lists ?? []).flatMap(({ conditions }) =>
    conditions.flatMap(({ negated, state }) => (!negated && "token" in state ? [state.token] : [])),
  );
  const holder = { tokens: new Set(submitted), key: caller.isSuper ? undefined : caller.key };
  return { grant, holder, lists, ...writeConditionsIn(headers) };
}

/**
 * assertIf checks the If header of a method that reads. One that names lock tokens alone is not judged: nothing is changed, and some
 * clients send the token of a file with every request about the folders above it.
 */
export async function assertIf({ request, bucket, path, files }: DavRequest): Promise<void> {
  const lists = listsIn(request.headers, bucket.name);
  const hasTag = lists?.some(({ conditions }) => conditions.some(({ state }) => "etag" in state));
  if (lists !== undefined && hasTag) await assertLists(lists, path, files);
}

/** The If header, its resources as paths of the bucket. */
function listsIn(headers: Headers, bucket: string): ConditionList<TreePath | null>[] | undefined {
  return parseIf(headers.get("if"))?.map(({ resource, conditions }) => ({
    resource: resource === undefined ? undefined : toPath(resource, bucket),
    conditions,
  }));
}

/** Null for a resource outside the bucket. */
function toPath(url: string, bucket: string): TreePath | null {
  const target = parseDavPath(pathOfUrl(url));
  return target?.bucket === bucket ? target.path : null;
}

/** parseIf reads an If header, RFC 4918 §10.4: lists of which one must hold. Undefined without the header. */
export function parseIf(header: string | null): readonly ConditionList<string>[] | undefined {
  if (header === null) return undefined;
  const reader = new Reader(header);
  const lists: ConditionList<string>[] = [];
  const tagged = reader.sees("<");
  while (!reader.done()) {
    const resource = tagged ? reader.between("<", ">") : undefined;
    do lists.push({ resource, conditions: parseList(reader) });
    while (reader.sees("("));
  }
  if (lists.length === 0) throw malformed();
  return lists;
}

function parseList(reader: Reader): ConditionList<string>["conditions"] {
  reader.take("(");
  const conditions: ConditionList<string>["conditions"][number][] = [];
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
