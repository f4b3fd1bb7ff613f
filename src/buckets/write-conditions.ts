import { Fault } from "../base/fault.ts";
import { covers, type LockHolder } from "./metadata/locks.ts";
import type { TreePath } from "./path.ts";
import type { BucketView, FileEntry, ResolvedPath } from "./ports.ts";

/**
 * WriteConditions are what a change must satisfy. A transport reads them from a request, once; they are checked in the turn of the change,
 * so that nothing can change between the check and the write.
 */
export interface WriteConditions extends HttpConditions {
  /** The right to make the change. */
  readonly grant: Grant;
  /** Who submits lock tokens, where a transport knows locks. */
  readonly holder?: LockHolder | undefined;
  /** The `If` header of RFC 4918 §10.4: one of these lists must hold. */
  readonly lists?: readonly ConditionList<TreePath | null>[] | undefined;
}

/** Grant is the right to make a change, which may end while the change waits for its turn. */
export interface Grant {
  /** Who makes the change, for those who are told of it: a user name, or the key of a token. */
  readonly by?: string | undefined;
  /** Throws unless the change may be made now, by what the database says. What it throws is the answer to the caller. */
  assertStillValid(): Promise<void>;
}

/** HttpConditions are the conditions of RFC 9110 §13.1 for a method that writes. */
export interface HttpConditions {
  /** If-Match. */
  readonly match?: EntityTags | undefined;
  /** If-None-Match. `*` is: nothing may exist. */
  readonly noneMatch?: EntityTags | undefined;
  /** If-Unmodified-Since, in Unix milliseconds. */
  readonly unmodifiedSinceMs?: number | undefined;
}

/** EntityTags is a list of entity tags; `*` stands for whatever exists. */
export type EntityTags = "*" | readonly EntityTag[];

interface EntityTag {
  /** With its quotes. */
  readonly tag: string;
  readonly isWeak: boolean;
}

interface StateCondition {
  readonly negated: boolean;
  readonly state: { readonly token: string } | { readonly etag: string };
}

/** ConditionList holds if all of its conditions hold, about the request's own resource or about `resource`. */
export interface ConditionList<Resource> {
  /** Null is a resource outside of the bucket, which has no state. */
  readonly resource: Resource | undefined;
  readonly conditions: readonly StateCondition[];
}

/** ConditionFault is thrown when a condition of a request is not met; nothing was changed. HTTP answers 412. */
export class ConditionFault extends Fault {
  constructor(detail: string) {
    super("Other", detail);
  }
}

/**
 * assertConditions throws unless conditions are met. `current` is the path of the change, or the source of a COPY or MOVE, as it is in
 * this turn; everything else about the bucket is read through `view`.
 */
export async function assertConditions(
  { grant, lists, ...http }: WriteConditions,
  current: ResolvedPath,
  view: BucketView,
): Promise<void> {
  await grant.assertStillValid();
  if (!mayWrite(http, current.entry))
    throw new ConditionFault("a condition of the request (If-Match, If-None-Match, …) is not met");
  if (lists !== undefined) await assertLists(lists, current, view);
}

/** mayWrite evaluates RFC 9110 §13.1. A folder has no entity tag, so nothing but `*` matches it. */
function mayWrite(
  { match, noneMatch, unmodifiedSinceMs }: HttpConditions,
  entry: FileEntry | undefined,
): boolean {
  if (match !== undefined && !matches(match, entry, { weakly: false })) return false;
  // Whole seconds are the resolution of the header.
  const modifiedMs = entry && Math.floor(entry.stats.modifiedMs / 1000) * 1000;
  const isLater =
    unmodifiedSinceMs !== undefined && modifiedMs !== undefined && modifiedMs > unmodifiedSinceMs;
  if (match === undefined && isLater) return false;
  return noneMatch === undefined || !matches(noneMatch, entry, { weakly: true });
}

function matches(
  tags: EntityTags,
  entry: FileEntry | undefined,
  { weakly }: { readonly weakly: boolean },
): boolean {
  if (tags === "*") return entry !== undefined;
  if (entry?.kind !== "file") return false;
  return tags.some(({ tag, isWeak }) => tag === entry.stats.etag && (weakly || !isWeak));
}

/** assertLists throws unless one of the lists holds. `own` is the request's own resource, as it is now or to be resolved. */
export async function assertLists(
  lists: readonly ConditionList<TreePath | null>[],
  own: ResolvedPath | TreePath,
  view: BucketView,
): Promise<void> {
  for (const { resource = own, conditions } of lists) {
    const state = typeof resource === "string" ? await view.reader.resolve(resource) : resource;
    if (await holds(conditions, state, view)) return;
  }
  throw new ConditionFault("no list of the If header matches");
}

async function holds(
  conditions: readonly StateCondition[],
  resource: ResolvedPath | null,
  { metadata }: BucketView,
): Promise<boolean> {
  const etag = resource?.entry?.kind === "file" ? resource.entry.stats.etag : undefined;
  const around = resource === null ? [] : await metadata.locks.around(resource.path);
  const locks = around.filter((lock) => resource !== null && covers(lock, resource.path));
  return conditions.every(({ negated, state }) => {
    const found = "etag" in state ? state.etag === etag : locks.some((lock) => lock.token === state.token);
    return found !== negated;
  });
}
