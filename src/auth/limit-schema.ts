import { z } from "zod";
import { listOf, memberOf, onlyMember, toGrant, toScope } from "./limit.ts";
import { otherFamilies, ownFamilies } from "./permission.ts";

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
