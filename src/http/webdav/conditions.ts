import { mayActFor } from "../../auth/authorise.ts";
import { etagOf } from "../../buckets/etag.ts";
import type { Warrant } from "../../buckets/files.ts";
import { covers } from "../../buckets/locks.ts";
import { type TreePath, treeRoot } from "../../buckets/path.ts";
import { mayWrite, toValidators } from "../content/conditions.ts";
import { parseDavPath, pathOfUrl } from "./dav-path.ts";
import type { DavRequest } from "./dav-request.ts";
import { HttpError } from "./http-error.ts";
import { type ConditionList, parseIf } from "./if-header.ts";

/** writeConditions returns the lock tokens that a request submits, and its preconditions, for a write to check. */
export function writeConditions(dav: DavRequest): Warrant & { readonly tokens: ReadonlySet<string> } {
  const lists = parseIf(dav.request.headers.get("if"));
  const tokens = new Set(
    (lists ?? []).flatMap(({ conditions }) =>
      conditions.flatMap(({ negated, state }) => (!negated && "token" in state ? [state.token] : [])),
    ),
  );
  return {
    tokens,
    // RFC 4918 §6.4: a lock token is valid only if the holder of the lock submits it.
    shows: (lock) => tokens.has(lock.token) && mayActFor(dav.caller, lock.holder),
    check: () => assertPreconditions(dav, lists),
  };
}

/** Reads the token and the bucket again first: a long body, or earlier work on the same paths, may have come in between. */
async function assertPreconditions(
  dav: DavRequest,
  lists: readonly ConditionList[] | undefined,
): Promise<void> {
  const { request, files, path } = dav;
  await dav.assertStillAdmitted();
  const entry = await files.tree.find(path);
  if (!mayWrite(request.headers, entry && { kind: entry.kind, ...toValidators(entry.stats) }))
    throw new HttpError(412, "a condition of the request (If-Match, If-None-Match, …) does not hold");
  await assertLists(dav, lists);
}

/** assertIf checks the If header alone, which applies to methods that read as well. */
export async function assertIf(dav: DavRequest): Promise<void> {
  await assertLists(dav, parseIf(dav.request.headers.get("if")));
}

async function assertLists(
  { files, path, bucket }: DavRequest,
  lists: readonly ConditionList[] | undefined,
): Promise<void> {
  if (lists === undefined) return;
  for (const list of lists) {
    const resource = list.resource === undefined ? path : toPath(list.resource, bucket.name);
    if (await holds(files, resource, list)) return;
  }
  throw new HttpError(412, "no list of the If header holds");
}

async function holds(
  files: DavRequest["files"],
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

/** Undefined for a resource outside the bucket, which has no state here. */
function toPath(url: string, bucket: string): TreePath | undefined {
  const target = parseDavPath(pathOfUrl(url));
  return target?.bucket === bucket ? target.path : undefined;
}
