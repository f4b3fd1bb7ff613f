import type { Limit, Scope } from "../../../client/index.ts";
import { families, isKnown, isPermission, isSame, onlyMember } from "./permissions.ts";

export type ScopeKind = "global" | "static_bucket" | "agent_uuid" | "kv_namespace" | "js_worker" | "db";

interface KindView {
  readonly title: string;
  /** Label of the name field. */
  readonly name: string;
  readonly hint?: string;
  /** Words before the name in a sentence. */
  readonly phrase: string;
}

const pattern = "A name, or a prefix and * for all names that start with it.";

export const scopeKinds: Readonly<Record<ScopeKind, KindView>> = {
  global: { title: "Everywhere", name: "", phrase: "everywhere" },
  static_bucket: { title: "Bucket", name: "Name of the bucket", hint: pattern, phrase: "in bucket" },
  agent_uuid: { title: "Agent", name: "UUID of the agent", phrase: "for agent" },
  kv_namespace: { title: "KV namespace", name: "Namespace", phrase: "in KV namespace" },
  js_worker: { title: "JS worker", name: "Name of the worker", phrase: "for JS worker" },
  db: { title: "Database", name: "Name of the database", hint: pattern, phrase: "in database" },
};

/** Scope as the form shows it. */
export interface ScopeView {
  readonly kind: ScopeKind;
  readonly name: string;
}

export function toScope({ kind, name }: ScopeView): Scope {
  return kind === "global" ? "global" : ({ [kind]: name } as Scope);
}

/** Parses a scope; undefined when it is invalid. */
export function scopeView(json: unknown): ScopeView | undefined {
  if (json === "global") return { kind: "global", name: "" };
  const [kind, name] = onlyMember(json);
  if (kind === "global") return name === null ? { kind, name: "" } : undefined;
  if (typeof name !== "string") return undefined;
  // Older name of the same scope.
  if (kind === "global_static_bucket") return { kind: "static_bucket", name };
  return kind !== undefined && Object.hasOwn(scopeKinds, kind)
    ? { kind: kind as ScopeKind, name }
    : undefined;
}

/** Whether a `*` is misplaced: only one at the end of a bucket or database name is a wildcard. */
function hasStrayStar({ kind, name }: ScopeView): boolean {
  return (kind === "static_bucket" || kind === "db") && /\*./.test(name);
}

/** `in bucket site`, `in every bucket that begins with img-`. */
function scopeText({ kind, name }: ScopeView): string {
  const { phrase } = scopeKinds[kind];
  if (kind === "global") return phrase;
  if (name === "*") return `${phrase.split(" ", 1)[0]} every ${phrase.split(" ").slice(1).join(" ")}`;
  const isPattern = (kind === "static_bucket" || kind === "db") && name.endsWith("*");
  return isPattern
    ? `in every ${phrase.slice(3)} that begins with ${name.slice(0, -1)}`
    : `${phrase} ${name}`;
}

/** Validates limits as the server does. Throws an error with a sentence when they are invalid. */
export function readLimits(json: unknown): Limit[] {
  if (!Array.isArray(json)) throw new Error("It must be a list of limits: [ … ].");
  for (const [at, limit] of json.entries()) {
    const label = `Limit ${at + 1}`;
    const { scopes, permissions } = (limit ?? {}) as Partial<Limit>;
    if (!Array.isArray(scopes) || !Array.isArray(permissions))
      throw new Error(`${label} must be an object with the lists "scopes" and "permissions".`);
    for (const scope of scopes) {
      const view = scopeView(scope);
      if (view === undefined) throw new Error(`${label}: ${quote(scope)} is not a scope.`);
      if (view.kind !== "global" && view.name === "")
        throw new Error(`${label}: a scope has no name. Enter one, or remove the scope.`);
      if (hasStrayStar(view)) throw new Error(`${label}: ${quote(scope)} may have one *, at the end.`);
    }
    const wrong = permissions.findIndex((permission) => !isPermission(permission));
    if (wrong >= 0) throw new Error(`${label}: ${quote(permissions[wrong])} is not a permission.`);
  }
  return json as Limit[];
}

/** Problem with limits that are being edited; undefined when they are valid. */
export function limitsProblem(limits: readonly Limit[]): string | undefined {
  try {
    readLimits(limits);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Whether a limit grants nothing, because it has no scope or no permission. */
export function grantsNothing({ scopes, permissions }: Limit): boolean {
  return scopes.length === 0 || permissions.length === 0;
}

/** One line per limit, such as `Files: read, list in bucket site`. Limits that grant nothing are left out. */
export function limitSummary(stored: unknown): string[] {
  if (limitsProblem(stored as Limit[]) !== undefined) return ["Limits that this console cannot read."];
  const lines = (stored as Limit[]).filter((limit) => !grantsNothing(limit)).map(lineOf);
  return lines.length === 0 ? ["Nothing."] : lines;
}

/** Summary of limits that are being edited: their problem if they have one, otherwise `limitSummary`. */
export function draftSummary(limits: readonly Limit[]): string[] {
  const missing = limitsProblem(limits);
  return missing === undefined ? limitSummary(limits) : [missing];
}

function lineOf({ scopes, permissions }: Limit): string {
  const own = families.flatMap(({ title, actions }) => {
    const held = actions.filter(({ permission }) => permissions.some((one) => isSame(one, permission)));
    return held.length === 0 ? [] : [`${title}: ${held.map(({ label }) => label).join(", ")}`];
  });
  const others = permissions.filter((permission) => !isKnown(permission)).map(otherText);
  const places = scopes.flatMap((scope) => scopeView(scope) ?? []).map(scopeText);
  return `${[...own, ...others].join("; ")}, ${places.join(" and ")}`;
}

function otherText(permission: object): string {
  const [family = "", what] = Object.entries(permission)[0] ?? [];
  if (typeof what === "string") return `${family}: ${what}`;
  const [action = "", pattern] = Object.entries(what as object)[0] ?? [];
  return `${family}: ${action} (${String(pattern)})`;
}

function quote(json: unknown): string {
  const text = JSON.stringify(json) ?? "nothing";
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
