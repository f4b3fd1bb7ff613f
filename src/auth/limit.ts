import { z } from "zod";
import {
  otherFamilies,
  ownFamilies,
  type Scope,
  scopeNames,
  storedNames,
  wildcardScopes,
} from "./permission.ts";

/** Grant is one permission of a limit, `family.action`; in other families possibly only for names that match a pattern. */
export interface Grant {
  readonly permission: string;
  readonly pattern?: string;
}

/** Limit is one line of a token's rights: every grant applies in every scope of the same limit. */
export interface Limit {
  readonly scopes: readonly Scope[];
  readonly permissions: readonly Grant[];
}

/**
 * `toLimits` reads stored rights, and is the authority on what they grant. What it does not understand grants nothing: a row may
 * have been written by hand.
 */
export function toLimits(json: unknown): Limit[] {
  return listOf(json).map((limit) => ({
    scopes: listOf(memberOf(limit, "scopes")).flatMap(toScope),
    permissions: listOf(memberOf(limit, "permissions")).flatMap(toGrant),
  }));
}

/** `toScope` returns one scope, or none if the stored one is not understood. */
export function toScope(json: unknown): Scope[] {
  if (json === "global") return [{ in: "global" }];
  const [kind, name] = onlyMember(json);
  if (kind === "global" && name === null) return [{ in: "global" }];
  if (typeof name !== "string") return [];
  const known = kind === "global_static_bucket" ? "static_bucket" : scopeNames.find((one) => one === kind);
  // A `*` elsewhere would be part of a name, and no bucket or database has one in its name.
  if (known === undefined || (wildcardScopes.has(known) && /\*./.test(name))) return [];
  return [{ in: known, name: known === "agent_uuid" ? name.toLowerCase() : name }];
}

/** `toGrant` returns one grant, or none if the stored one is not understood. */
export function toGrant(json: unknown): Grant[] {
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

/** `onlyMember` returns name and value of the one member that an object has; an empty name for anything else. */
function onlyMember(json: unknown): readonly [name: string, value: unknown] {
  if (typeof json !== "object" || json === null) return ["", undefined];
  let only: string | undefined;
  for (const name in json) {
    if (only !== undefined) return ["", undefined];
    only = name;
  }
  return only === undefined ? ["", undefined] : [only, Reflect.get(json, only)];
}

/** `holds` returns whether one single limit grants the permission in the scope. No action implies another. */
export function holds(limits: readonly Limit[], permission: string, requested: Scope): boolean {
  return grantingLimit(limits, { permission }, requested) !== undefined;
}

/** `grantingLimit` returns the index of the first limit that grants this in the scope. */
export function grantingLimit(limits: readonly Limit[], requested: Grant, scope: Scope): number | undefined {
  const at = limits.findIndex(
    (limit) =>
      limit.permissions.some((granted) => grantCovers(granted, requested)) &&
      limit.scopes.some((granted) => scopeCovers(granted, scope)),
  );
  return at < 0 ? undefined : at;
}

/** `limitsCover` returns whether `outer` grants everything that `inner` grants. */
export function limitsCover(outer: readonly Limit[], inner: readonly Limit[]): boolean {
  return inner.every(({ scopes, permissions }) =>
    scopes.every((requested) =>
      permissions.every((grant) => grantingLimit(outer, grant, requested) !== undefined),
    ),
  );
}

export function scopeCovers(granted: Scope, requested: Scope): boolean {
  if (granted.in === "global") return true;
  if (requested.in !== granted.in) return false;
  return wildcardScopes.has(granted.in)
    ? patternCovers(granted.name, requested.name)
    : granted.name === requested.name;
}

function grantCovers(granted: Grant, requested: Grant): boolean {
  if (granted.permission !== requested.permission) return false;
  if (granted.pattern === undefined) return true;
  return requested.pattern !== undefined && patternCovers(granted.pattern, requested.pattern);
}

/**
 * One trailing `*` is a prefix wildcard, and there is no other. `requested` may be a pattern too; then every name that it matches must
 * be covered, so the prefixes are compared.
 */
function patternCovers(granted: string, requested: string): boolean {
  if (!granted.endsWith("*")) return granted === requested;
  const prefix = requested.endsWith("*") ? requested.slice(0, -1) : requested;
  return prefix.startsWith(granted.slice(0, -1));
}

const noScope =
  'is not a scope; use "global", {"static_bucket": name}, {"agent_uuid": uuid}, {"kv_namespace": s}, {"js_worker": s} or {"db": s}; in the name of a bucket or db one `*` may stand at the end';
const noPermission =
  'is not a permission; write {"family": "action"}, for example {"static_bucket_file": "read"}';

const scopeName = z.string().min(1).max(512);

/** `scopeJson` is a scope as it travels: `{ "static_bucket": "site" }`. */
export const scopeJson = z
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

/** `permissionJson` is a permission as it travels: `{ "static_bucket_file": "read" }`. */
export const permissionJson = z
  .union(
    [
      ...[...ownFamilies].map(([family, actions]) => z.strictObject({ [family]: z.enum(actions) })),
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

/** More would be a way to keep the server busy with checking them. */
const maxLimits = 100;
const maxEntries = 2000;

/** `tokenLimit` validates a token's limits as a caller sends them. What passes is understood whole by `toLimits`. */
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
 * Finds the first invalid entry before the schema runs. A zod union tries every form on every entry, so a million invalid ones
 * took it a minute, and any caller may send limits.
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

/** PostgreSQL stores neither NUL nor lone surrogates, so they are rejected on SQLite too. */
function isStorable(entry: unknown): boolean {
  const texts = [entry, ...onlyMember(entry), ...onlyMember(onlyMember(entry)[1])];
  return texts.every(
    (text) => typeof text !== "string" || (text.length <= 512 && text.isWellFormed() && !text.includes("\0")),
  );
}
