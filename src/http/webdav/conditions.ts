import { etagOf } from "../../buckets/etag.ts";
import type { Warrant } from "../../buckets/files.ts";
import { covers, type Lock } from "../../buckets/locks.ts";
import { type TreePath, treeRoot } from "../../buckets/path.ts";
import { mayWrite, toValidators } from "../content/conditions.ts";
import { parsePlace, pathOfAddress } from "./dav-path.ts";
import type { Visit } from "./dav-request.ts";
import { Refused } from "./http-error.ts";
import { type ConditionList, parseIf } from "./if-header.ts";

/** What a request shows and what it asks for: its lock tokens, and all of its conditions. */
export function warrantOf(visit: Visit): Warrant & { readonly tokens: ReadonlySet<string> } {
  const lists = parseIf(visit.request.headers.get("if"));
  const tokens = new Set(
    (lists ?? []).flatMap(({ conditions }) =>
      conditions.flatMap(({ negated, state }) => (!negated && "token" in state ? [state.token] : [])),
    ),
  );
  // RFC 4918 §6.4: a token is good in the hands of who took the lock. The operator's opens all.
  const shows = (lock: Lock) =>
    tokens.has(lock.token) && (lock.holder === visit.caller.key || visit.caller.isSuper);
  return { tokens, shows, check: () => check(visit, lists) };
}

/** The token and the bucket are read again first: a long body, or earlier work on the same paths, may have come in between. */
async function check(visit: Visit, lists: readonly ConditionList[] | undefined): Promise<void> {
  const { request, files, path } = visit;
  await visit.assertStillAdmitted();
  const entry = await files.tree.find(path);
  if (!mayWrite(request.headers, entry && { kind: entry.kind, ...toValidators(entry.stats) }))
    throw new Refused(412, "the file is not what the request's conditions say");
  await checkLists(visit, lists);
}

/** The If header alone, which counts for reading as well. */
export async function checkIf(visit: Visit): Promise<void> {
  await checkLists(visit, parseIf(visit.request.headers.get("if")));
}

async function checkLists(
  { files, path, bucket }: Visit,
  lists: readonly ConditionList[] | undefined,
): Promise<void> {
  if (lists === undefined) return;
  for (const list of lists) {
    const resource = list.resource === undefined ? path : toPath(list.resource, bucket.name);
    if (await holds(files, resource, list)) return;
  }
  throw new Refused(412, "no list of the If header holds");
}

async function holds(
  files: Visit["files"],
  resource: TreePath | undefined,
  { conditions }: ConditionList,
): Promise<boolean> {
  const entry = resource === undefined ? undefined : await files.tree.find(resource);
  const etag = entry?.kind === "file" ? etagOf(entry.stats) : undefined;
  const at = resource === undefined ? undefined : await files.canonical(resource);
  const locks = at === undefined ? [] : await files.locks.around(at, false);
  return conditions.every(({ negated, state }) => {
    const found =
      "etag" in state
        ? state.etag === etag
        : locks.some((lock) => lock.token === state.token && covers(lock, at ?? treeRoot));
    return found !== negated;
  });
}

/** Undefined for what is not in the bucket: it has no state that is known here. */
function toPath(address: string, bucket: string): TreePath | undefined {
  const place = parsePlace(pathOfAddress(address));
  return place?.bucket === bucket ? place.path : undefined;
}
