import {
  type Limit,
  otherPermissionFamilies,
  type Permission,
  permissionFamilies,
  type Scope,
} from "../../../client/index.ts";
import { t } from "../../text/text.ts";

interface FamilyView {
  readonly name: keyof typeof permissionFamilies;
  readonly title: string;
  readonly actions: ReadonlyArray<{ readonly permission: Permission; readonly label: string }>;
}

/** Families whose actions have checkboxes. The server declares them; their words are in the catalogue. */
export const families: readonly FamilyView[] = Object.entries(permissionFamilies).map(([family, actions]) => {
  const name = family as keyof typeof permissionFamilies;
  return {
    name,
    get title() {
      return t.tokens.permissions[name].title;
    },
    actions: actions.map((action) => ({
      permission: { [name]: action } as Permission,
      get label() {
        const labels: Readonly<Record<string, string>> = t.tokens.permissions[name].actions;
        return labels[action] ?? action;
      },
    })),
  };
});

const known = families.flatMap(({ actions }) => actions.map(({ permission }) => permission));

/** Whether the permission has a checkbox. */
export function isKnown(permission: Permission): boolean {
  return known.some((one) => isSame(one, permission));
}

export function isSame(one: Permission, other: Permission): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

export function isPermission(json: unknown): json is Permission {
  const [family, what, ...more] = onlyMember(json);
  if (family === undefined || more.length > 0) return false;
  if (isKnown({ [family]: what } as Permission)) return true;
  if (!otherPermissionFamilies.some((other) => other === family)) return false;
  if (typeof what === "string") return what !== "";
  const [action, pattern] = onlyMember(what);
  return action !== undefined && action !== "" && typeof pattern === "string";
}

/** Name and value of an object with exactly one member; otherwise empty. */
function onlyMember(json: unknown): [] | [name: string, value: unknown] {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return [];
  const members = Object.entries(json);
  return members.length === 1 && members[0] !== undefined ? members[0] : [];
}

export type ScopeKind = "global" | "static_bucket" | "agent_uuid" | "kv_namespace" | "js_worker" | "db";

/** Kinds of scopes in the order of the form. Their words are in the catalogue. */
export const scopeKinds: readonly ScopeKind[] = [
  "global",
  "static_bucket",
  "agent_uuid",
  "kv_namespace",
  "js_worker",
  "db",
];

/** Whether a name of this kind may end with `*`. */
export function takesPattern(kind: ScopeKind): boolean {
  return kind === "static_bucket" || kind === "db";
}

/** Scope as the form shows it. */
interface ScopeView {
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
  return kind !== undefined && scopeKinds.some((one) => one === kind)
    ? { kind: kind as ScopeKind, name }
    : undefined;
}

/** Whether a `*` is misplaced: only one at the end of a bucket or database name is a wildcard. */
function hasStrayStar({ kind, name }: ScopeView): boolean {
  return takesPattern(kind) && /\*./.test(name);
}

/** `in bucket site`, `in every bucket that begins with img-`. */
function scopeText({ kind, name }: ScopeView): string {
  const phrases = t.tokens.scopes[kind];
  if (kind === "global" || name === "*") return phrases.every;
  return takesPattern(kind) && name.endsWith("*") ? phrases.prefix(name.slice(0, -1)) : phrases.one(name);
}

/** Validates limits as the server does. Throws an error with a sentence when they are invalid. */
export function readLimits(json: unknown): Limit[] {
  if (!Array.isArray(json)) throw new Error(t.tokens.limitsMustBeList);
  for (const [at, limit] of json.entries()) {
    const label = t.tokens.limit(at + 1);
    const { scopes, permissions } = (limit ?? {}) as Partial<Limit>;
    if (!Array.isArray(scopes) || !Array.isArray(permissions)) throw new Error(t.tokens.limitMustBe(label));
    for (const scope of scopes) {
      const view = scopeView(scope);
      if (view === undefined) throw new Error(t.tokens.notScope(label, quote(scope)));
      if (view.kind !== "global" && view.name === "") throw new Error(t.tokens.namelessScope(label));
      if (hasStrayStar(view)) throw new Error(t.tokens.strayStar(label, quote(scope)));
    }
    const wrong = permissions.findIndex((permission) => !isPermission(permission));
    if (wrong >= 0) throw new Error(t.tokens.limitNotPermission(label, quote(permissions[wrong])));
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
  if (limitsProblem(stored as Limit[]) !== undefined) return [t.tokens.unreadable];
  const lines = (stored as Limit[]).filter((limit) => !grantsNothing(limit)).map(limitText);
  return lines.length === 0 ? [t.tokens.nothing] : lines;
}

/** Summary of limits that are being edited: their problem if they have one, otherwise `limitSummary`. */
export function draftSummary(limits: readonly Limit[]): string[] {
  const missing = limitsProblem(limits);
  return missing === undefined ? limitSummary(limits) : [missing];
}

/** limitText describes in words what one limit grants. */
export function limitText({ scopes, permissions }: Limit): string {
  const own = families.flatMap(({ title, actions }) => {
    const granted = actions.filter(({ permission }) => permissions.some((one) => isSame(one, permission)));
    const labels = granted.map(({ label }) => label).join(t.tokens.betweenActions);
    return granted.length === 0 ? [] : [t.tokens.familyActions(title, labels)];
  });
  const others = permissions.filter((permission) => !isKnown(permission)).map(otherText);
  const scopeTexts = scopes.flatMap((scope) => scopeView(scope) ?? []).map(scopeText);
  return t.tokens.actionsIn(
    [...own, ...others].join(t.tokens.betweenFamilies),
    scopeTexts.join(t.tokens.and),
  );
}

/** Permission of the wider system: `kv: read (a*)`. */
export function otherText(permission: object): string {
  const [family = "", what] = Object.entries(permission)[0] ?? [];
  if (typeof what === "string") return `${family}: ${what}`;
  const [action = "", pattern] = Object.entries(what as object)[0] ?? [];
  return `${family}: ${action} (${String(pattern)})`;
}

function quote(json: unknown): string {
  const text = JSON.stringify(json) ?? "nothing";
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
