import { type Grant, type Limit, toLimits } from "../../auth/limit.ts";
import { type Permission, permissionWords, type Scope } from "../../auth/permission.ts";
import { type Requirement, requirements, type Token } from "../../client/index.ts";
import type { Need } from "../command.ts";

/** Objects that have scopes, so that the scope global says something about them. */
const scopedObjects: ReadonlySet<string> = new Set(["files", "bucket records", "databases", "agents"]);

/** Words before the name of a scope, and for all names with `*` alone. */
const scopePhrases: Readonly<Record<string, readonly [one: string, all: string]>> = {
  static_bucket: ["in bucket", "in every bucket"],
  agent_uuid: ["for agent", ""],
  kv_namespace: ["in KV namespace", ""],
  js_worker: ["for JS worker", ""],
  db: ["in database", "in every database"],
};

/** `permissionsText` describes in plain words what a token may do: `read and list files in bucket site; read logs`. */
export function permissionsText({
  token_limit,
  super: isSuper,
}: Pick<Token, "token_limit" | "super">): string {
  if (isSuper) return "everything (Super Token)";
  const lines = toLimits(token_limit).flatMap(limitText);
  return lines.length === 0 ? "nothing" : lines.join("; ");
}

/** All actions on files, which WebDAV requires of every caller. */
const fileAccess = {
  kind: "all",
  permissions: (["read", "write", "delete", "list"] as const).map((action) => ({
    static_bucket_file: action,
  })),
  scope: { kind: "static_bucket", param: "name" },
} satisfies Requirement;

/** `needText` describes in the same words what a command needs: `a token that can list files in bucket BUCKET`. */
export function needText(needs: readonly Need[]): string {
  const required = needs.flatMap((need) => (need === "files" ? fileAccess : (requirements[need][0] ?? [])));
  if (required.some(({ kind }) => kind === "super")) return "the Super Token";
  const byScope = Map.groupBy(
    required.filter((one) => one.kind === "all"),
    ({ scope }) => scope.kind,
  );
  const limits = [...byScope].flatMap(([kind, all]) => {
    const names = all.flatMap(({ permissions }) =>
      permissions.map((one) => Object.entries(one).flat().join(".")),
    );
    const permissions = Object.keys(permissionWords).flatMap((permission) =>
      names.includes(permission) ? [{ permission }] : [],
    );
    return limitText({
      scopes: [kind === "global" ? { in: kind } : { in: kind, name: "BUCKET" }],
      permissions,
    });
  });
  return limits.length === 0 ? "any valid token" : `a token that can ${limits.join("; ")}`;
}

/** `tokenState` returns what programs get of the token in use (`status --json`, `login --json`). */
export function tokenState(token: Token) {
  return {
    key: token.token_key,
    username: token.username,
    name: token.name,
    ends: token.timestamp_to,
    created_at: token.created_at,
    last_used_at: token.last_used_at,
    limits: token.token_limit,
  };
}

/** limitText returns one line for a limit; none for a limit that grants nothing. */
function limitText({ scopes, permissions }: Limit): string[] {
  if (scopes.length === 0 || permissions.length === 0) return [];
  const groups = Map.groupBy(permissions, (grant) => phraseOf(grant)?.[1] ?? "");
  const parts = [...groups].flatMap(([object, grants]) =>
    object === ""
      ? grants.map(otherText)
      : `${enumerate([...new Set(grants.map((grant) => phraseOf(grant)?.[0] ?? ""))])} ${object}`,
  );
  const isScoped = [...groups.keys()].some((object) => scopedObjects.has(object));
  const scopeTexts = scopes.map((scope) => scopeText(scope, isScoped)).filter((text) => text !== "");
  return [[parts.join(", "), enumerate(scopeTexts)].filter((text) => text !== "").join(" ")];
}

function phraseOf({ permission, pattern }: Grant): readonly [string, string] | undefined {
  if (pattern !== undefined || !Object.hasOwn(permissionWords, permission)) return undefined;
  return permissionWords[permission as Permission];
}

/** otherText returns a permission of the wider system as it is stored. */
function otherText({ permission, pattern }: Grant): string {
  return pattern === undefined ? permission : `${permission} (${pattern})`;
}

function scopeText(scope: Scope, isScoped: boolean): string {
  if (scope.in === "global") return isScoped ? "everywhere" : "";
  const [one = scope.in, all = ""] = scopePhrases[scope.in] ?? [];
  return scope.name === "*" && all !== "" ? all : `${one} ${scope.name}`;
}

/** enumerate joins parts as in `read, write and list`. */
function enumerate(parts: readonly string[]): string {
  const last = parts.at(-1) ?? "";
  return parts.length < 2 ? last : `${parts.slice(0, -1).join(", ")} and ${last}`;
}
