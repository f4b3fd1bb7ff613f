import { z } from "zod";

/** Where a permission holds. */
export type Scope = { readonly in: "global" } | { readonly in: ScopeName; readonly name: string };

const scopeNames = ["static_bucket", "agent_uuid", "kv_namespace", "js_worker", "db"] as const;
type ScopeName = (typeof scopeNames)[number];

/** Scopes whose name may end in one `*`, which then stands for any ending. */
const wildcardScopes: ReadonlySet<string> = new Set(["static_bucket", "db"]);

const noScope =
  'is no scope; use "global", {"static_bucket": name}, {"agent_uuid": uuid}, {"kv_namespace": s}, {"js_worker": s} or {"db": s}; in the name of a bucket or db one `*` may stand at the end';
const noPermission =
  'is no permission; write {"family": "action"}, for example {"static_bucket_file": "read"}';

const scopeName = z.string().min(1).max(512);

const scopeJson = z
  .union(
    [
      z.literal("global"),
      z.strictObject({ global: z.null() }),
      z.strictObject({ static_bucket: scopeName }),
      z.strictObject({ global_static_bucket: scopeName }),
      z.strictObject({ agent_uuid: scopeName }),
      z.strictObject({ kv_namespace: scopeName }),
      z.strictObject({ js_worker: scopeName }),
      z.strictObject({ db: scopeName }),
    ],
    { error: noScope },
  )
  .meta({ id: "Scope" });

/** The permissions that methods here ask for, with the names they have in messages and documents. */
export const permissionNames = {
  "static_bucket_file.read": "StaticBucketFile::Read",
  "static_bucket_file.write": "StaticBucketFile::Write",
  "static_bucket_file.delete": "StaticBucketFile::Delete",
  "static_bucket_file.list": "StaticBucketFile::List",
  "static_bucket.read": "StaticBucket::Read",
  "static_bucket.write": "StaticBucket::Write",
  "static_bucket.delete": "StaticBucket::Delete",
  "node.exec_sql": "Node::ExecSql",
  "node.get_database_type": "Node::GetDatabaseType",
  "node.list_all_agent_uuid": "Node::ListAllAgentUuid",
  "monitoring_uuid.list": "MonitoringUuid::List",
  "monitoring_uuid.delete": "MonitoringUuid::Delete",
  "token.create": "Token::Create",
  "db.list": "Db::List",
  "db.read": "Db::Read",
  "db.create": "Db::Create",
  "db.update": "Db::Update",
  "db.delete": "Db::Delete",
  "db.exec_sql": "Db::ExecSql",
} as const;

/** `family.action`. */
export type Permission = keyof typeof permissionNames;

/** Actions of the wider system in a family of ours: stored and handed out, but no method here asks for them. */
const otherActions = ["node.get_rt_pool", "node.delete_agent_uuid"];

/** Families of the wider system: kept and handed out, but nothing here asks for them. */
const otherFamilies = [
  "kv",
  "task",
  "crontab",
  "crontab_result",
  "terminal",
  "js_worker",
  "js_result",
  "static_monitoring",
  "dynamic_monitoring",
  "dynamic_monitoring_summary",
] as const;

const storedNames: ReadonlySet<string> = new Set([...Object.keys(permissionNames), ...otherActions]);
const ownFamilies = Map.groupBy(storedNames, (name) => name.split(".", 1)[0] ?? "");

const permissionJson = z
  .union(
    [
      ...[...ownFamilies].map(([family, names]) =>
        z.strictObject({ [family]: z.enum(names.map((name) => name.slice(family.length + 1))) }),
      ),
      ...otherFamilies.map((family) =>
        z.strictObject({
          [family]: z.union([
            z.string().min(1),
            z
              .record(z.string().min(1), z.string())
              .refine((value) => Object.keys(value).length === 1, "must name one action"),
          ]),
        }),
      ),
    ],
    { error: noPermission },
  )
  .meta({ id: "Permission" });

/** A token has few; more would be a way to keep the server busy with checking them. */
const maxLimits = 100;
const maxEntries = 2000;

/** A token's rights as they travel and are stored. */
export const tokenLimit = z.preprocess(
  (json, context) => {
    const problem = firstProblem(json);
    if (problem === undefined) return json;
    context.issues.push({ code: "custom", input: json, ...problem });
    return z.NEVER;
  },
  z.array(
    z.object({ scopes: z.array(scopeJson), permissions: z.array(permissionJson) }).meta({ id: "Limit" }),
  ),
);

interface Problem {
  readonly path: Array<string | number>;
  readonly message: string;
}

/**
 * Anybody may send limits, and a schema tries every form on every entry before it says no: a million wrong ones took it a
 * minute. This stops at the first; what passes is few and right, and the schema is quick with it.
 */
function firstProblem(json: unknown): Problem | undefined {
  if (!Array.isArray(json)) return undefined;
  if (json.length > maxLimits) return { path: [], message: `holds more than ${maxLimits} limits` };
  let entries = 0;
  for (const [at, limit] of json.entries()) {
    for (const [name, read, error] of [
      ["scopes", toScope, noScope],
      ["permissions", toGrant, noPermission],
    ] as const) {
      const list = listOf(memberOf(limit, name));
      entries += list.length;
      if (entries > maxEntries)
        return { path: [], message: `holds more than ${maxEntries} scopes and permissions` };
      const wrong = list.findIndex((entry) => !isStorable(entry) || read(entry).length === 0);
      if (wrong >= 0) return { path: [at, name, wrong], message: error };
    }
  }
  return undefined;
}

/** PostgreSQL keeps neither NUL nor half a character, so neither database does. */
function isStorable(entry: unknown): boolean {
  const texts = [entry, ...onlyMember(entry), ...onlyMember(onlyMember(entry)[1])];
  return texts.every(
    (text) => typeof text !== "string" || (text.length <= 512 && text.isWellFormed() && !text.includes("\0")),
  );
}

/** What a limit grants: `family.action`, in other families possibly for names of one pattern only. */
export interface Grant {
  readonly permission: string;
  readonly pattern?: string;
}

/** One line of a token's rights: every grant holds in every scope of the same limit. */
export interface Limit {
  readonly scopes: readonly Scope[];
  readonly permissions: readonly Grant[];
}

/** Reads stored rights. Whatever is not understood grants nothing: a row may have been written by hand. */
export function toLimits(json: unknown): Limit[] {
  return listOf(json).map((limit) => ({
    scopes: listOf(memberOf(limit, "scopes")).flatMap(toScope),
    permissions: listOf(memberOf(limit, "permissions")).flatMap(toGrant),
  }));
}

function toScope(json: unknown): Scope[] {
  if (json === "global") return [{ in: "global" }];
  const [kind, name] = onlyMember(json);
  if (kind === "global" && name === null) return [{ in: "global" }];
  if (typeof name !== "string") return [];
  const known = kind === "global_static_bucket" ? "static_bucket" : scopeNames.find((one) => one === kind);
  // A `*` elsewhere could only be part of a name, and no bucket or database has one.
  if (known === undefined || (wildcardScopes.has(known) && /\*./.test(name))) return [];
  return [{ in: known, name: known === "agent_uuid" ? name.toLowerCase() : name }];
}

function toGrant(json: unknown): Grant[] {
  const [family, what] = onlyMember(json);
  if (typeof what === "string" && storedNames.has(`${family}.${what}`))
    return [{ permission: `${family}.${what}` }];
  if (what === "" || !otherFamilies.some((other) => other === family)) return [];
  if (typeof what === "string") return [{ permission: `${family}.${what}` }];
  const [action, pattern] = onlyMember(what);
  return typeof pattern === "string" ? [{ permission: `${family}.${action}`, pattern }] : [];
}

function listOf(json: unknown): readonly unknown[] {
  return Array.isArray(json) ? json : [];
}

function memberOf(json: unknown, name: string): unknown {
  return typeof json === "object" && json !== null && Object.hasOwn(json, name)
    ? Reflect.get(json, name)
    : undefined;
}

function onlyMember(json: unknown): readonly [name: string, value: unknown] {
  if (typeof json !== "object" || json === null) return ["", undefined];
  let only: string | undefined;
  for (const name in json) {
    if (only !== undefined) return ["", undefined];
    only = name;
  }
  return only === undefined ? ["", undefined] : [only, Reflect.get(json, only)];
}

/** Whether some single limit grants the permission in the scope. No action implies another. */
export function holds(limits: readonly Limit[], permission: string, wanted: Scope): boolean {
  return limits.some(
    (limit) =>
      limit.permissions.some((grant) => grant.permission === permission && grant.pattern === undefined) &&
      limit.scopes.some((scope) => scopeCovers(scope, wanted)),
  );
}

/** Whether everything in `inner` is granted by `outer` as well. */
export function limitsCover(outer: readonly Limit[], inner: readonly Limit[]): boolean {
  return inner.every(({ scopes, permissions }) =>
    scopes.every((wanted) =>
      permissions.every((grant) =>
        outer.some(
          (limit) =>
            limit.permissions.some((held) => grantCovers(held, grant)) &&
            limit.scopes.some((scope) => scopeCovers(scope, wanted)),
        ),
      ),
    ),
  );
}

export function scopeCovers(held: Scope, wanted: Scope): boolean {
  if (held.in === "global") return true;
  if (wanted.in !== held.in) return false;
  return wildcardScopes.has(held.in) ? patternCovers(held.name, wanted.name) : held.name === wanted.name;
}

function grantCovers(held: Grant, wanted: Grant): boolean {
  if (held.permission !== wanted.permission) return false;
  if (held.pattern === undefined) return true;
  return wanted.pattern !== undefined && patternCovers(held.pattern, wanted.pattern);
}

/**
 * One trailing `*` is a prefix wildcard; nothing else is. `wanted` may be a pattern too, and then every name that it stands for must
 * be covered, so the prefixes are compared.
 */
function patternCovers(held: string, wanted: string): boolean {
  if (!held.endsWith("*")) return held === wanted;
  const prefix = wanted.endsWith("*") ? wanted.slice(0, -1) : wanted;
  return prefix.startsWith(held.slice(0, -1));
}
