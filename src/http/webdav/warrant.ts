import type { ResolvedPath } from "../../buckets/file-store.ts";
import { covers, type Lock } from "../../buckets/metadata/locks.ts";
import type { TreePath } from "../../buckets/path.ts";
import type { WriteConditions } from "../../buckets/write-conditions.ts";
import { judgeWrite, toValidators } from "../conditions.ts";
import { parsePlace, pathOfAddress } from "./address.ts";
import { type ConditionList, parseIf } from "./if-header.ts";
import { Refused } from "./refused.ts";
import type { Visit } from "./visit.ts";

/** conditionsOf reads the lock tokens and all preconditions of a request from its headers. */
export function conditionsOf(visit: Visit): WriteConditions & { readonly tokens: ReadonlySet<string> } {
  const lists = parseIf(visit.request.headers.get("if"));
  const tokens = new Set(
    (lists ?? []).flatMap(({ conditions }) =>
      conditions.flatMap(({ negated, state }) => (!negated && "token" in state ? [state.token] : [])),
    ),
  );
  // RFC 4918 §6.4: a token is good in the hands of who took the lock. The operator's opens all.
  const holdsLock = (lock: Lock) =>
    tokens.has(lock.token) && (lock.holder === visit.caller.key || visit.caller.isSuper);
  return { tokens, holdsLock, assertPreconditions: (current) => check(visit, lists, current) };
}

/** The token and the bucket are read again first: a long body, or earlier work on the same paths, may have come in between. */
async function check(
  visit: Visit,
  lists: readonly ConditionList[] | undefined,
  current: ResolvedPath,
): Promise<void> {
  await visit.assertStillAdmitted();
  const { entry } = current;
  if (!judgeWrite(visit.request.headers, entry && { kind: entry.kind, ...toValidators(entry.stats) }))
    throw new Refused(412, "the file is not what the request's conditions say");
  await checkLists(visit, lists, current);
}

/** The If header alone, which counts for reading as well. */
export async function checkIf(visit: Visit): Promise<void> {
  await checkLists(visit, parseIf(visit.request.headers.get("if")));
}

/** `current` is the request's own resource, if it was resolved already. */
async function checkLists(
  { files, path, bucket }: Visit,
  lists: readonly ConditionList[] | undefined,
  current?: ResolvedPath,
): Promise<void> {
  if (lists === undefined) return;
  for (const list of lists) {
    const resource = list.resource === undefined ? path : toPath(list.resource, bucket.name);
    const isCurrent = list.resource === undefined && current !== undefined;
    const state = isCurrent ? current : await stateOf(files, resource);
    if (await holds(files, state, list)) return;
  }
  throw new Refused(412, "no list of the If header holds");
}

async function stateOf(
  files: Visit["files"],
  resource: TreePath | undefined,
): Promise<ResolvedPath | undefined> {
  return resource === undefined ? undefined : files.reader.resolve(resource);
}

async function holds(
  files: Visit["files"],
  resource: ResolvedPath | undefined,
  { conditions }: ConditionList,
): Promise<boolean> {
  const etag = resource?.entry?.kind === "file" ? resource.entry.stats.etag : undefined;
  const around = resource === undefined ? [] : await files.locks.around(resource.path);
  const locks = around.filter((lock) => resource !== undefined && covers(lock, resource.path));
  return conditions.every(({ negated, state }) => {
    const found = "etag" in state ? state.etag === etag : locks.some((lock) => lock.token === state.token);
    return found !== negated;
  });
}

/** Undefined for what is not in the bucket: it has no state that is known here. */
function toPath(address: string, bucket: string): TreePath | undefined {
  const place = parsePlace(pathOfAddress(address));
  return place?.bucket === bucket ? place.path : undefined;
}
