import { mayActFor } from "../../auth/authorise.ts";
import { covers } from "../../buckets/metadata/locks.ts";
import type { TreePath } from "../../buckets/path.ts";
import type { BucketView, ResolvedPath, WriteConditions } from "../../buckets/ports.ts";
import { mayWrite, toValidators } from "../content/conditions.ts";
import { HttpError } from "../request/http-error.ts";
import { parseDavPath, pathOfUrl } from "./dav-path.ts";
import type { DavRequest } from "./dav-request.ts";

/**
 * writeConditions returns the lock tokens that a request submits, and its preconditions, for a write to check. `headers` may be
 * others than its own.
 */
export function writeConditions(
  dav: DavRequest,
  headers = dav.request.headers,
): WriteConditions & { readonly tokens: ReadonlySet<string> } {
  const lists = parseIf(headers.get("if"));
  const tokens = new Set(
    (lists ?? []).flatMap(({ conditions }) =>
      conditions.flatMap(({ negated, state }) => (!negated && "token" in state ? [state.token] : [])),
    ),
  );
  return {
    tokens,
    // RFC 4918 §6.4: a lock token is valid only if the holder of the lock submits it.
    holdsLock: (lock) => tokens.has(lock.token) && mayActFor(dav.caller, lock.holder),
    assertPreconditions: async (current, view) => {
      await assertHeaders(dav, headers, current);
      await assertLists(dav, lists, { view, current });
    },
  };
}

/** Reads the token and the bucket again first: a long body, or earlier work on the same paths, may have come in between. */
async function assertHeaders(dav: DavRequest, headers: Headers, { entry }: ResolvedPath): Promise<void> {
  await dav.grant.assertStillValid();
  if (!mayWrite(headers, entry && { kind: entry.kind, ...toValidators(entry.stats) }))
    throw new HttpError(412, "a condition of the request (If-Match, If-None-Match, …) is not met");
}

/**
 * assertIf checks the If header of a method that reads. One that names lock tokens alone is not judged: nothing is changed, and some
 * clients send the token of a file with every request about the folders above it.
 */
export async function assertIf(dav: DavRequest): Promise<void> {
  const lists = parseIf(dav.request.headers.get("if"));
  const hasTag = lists?.some(({ conditions }) => conditions.some(({ state }) => "etag" in state));
  if (hasTag) await assertLists(dav, lists, { view: dav.files });
}

/** `current` is the request's own resource, if it was resolved already. */
async function assertLists(
  { path, bucket }: DavRequest,
  lists: readonly ConditionList[] | undefined,
  { view, current }: { readonly view: BucketView; readonly current?: ResolvedPath },
): Promise<void> {
  if (lists === undefined) return;
  for (const list of lists) {
    const resource = list.resource === undefined ? path : toPath(list.resource, bucket.name);
    const isCurrent = list.resource === undefined && current !== undefined;
    const state = isCurrent ? current : await stateOf(view, resource);
    if (await holds(view, state, list)) return;
  }
  throw new HttpError(412, "no list of the If header matches");
}

async function stateOf(
  { reader }: BucketView,
  resource: TreePath | undefined,
): Promise<ResolvedPath | undefined> {
  return resource === undefined ? undefined : reader.resolve(resource);
}

async function holds(
  { metadata }: BucketView,
  resource: ResolvedPath | undefined,
  { conditions }: ConditionList,
): Promise<boolean> {
  const etag = resource?.entry?.kind === "file" ? resource.entry.stats.etag : undefined;
  const around = resource === undefined ? [] : await metadata.locks.around(resource.path);
  const locks = around.filter((lock) => resource !== undefined && covers(lock, resource.path));
  return conditions.every(({ negated, state }) => {
    const found = "etag" in state ? state.etag === etag : locks.some((lock) => lock.token === state.token);
    return found !== negated;
  });
}

/** Undefined for a resource outside the bucket, which has no state here. */
function toPath(url: string, bucket: string): TreePath | undefined {
  const target = parseDavPath(pathOfUrl(url));
  return target?.bucket === bucket ? target.path : undefined;
}

interface Condition {
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
