import type { Limit } from "../../../client/index.ts";
import { families, isKnown, isPermission, isSame } from "./permissions.ts";
import { hasStrayStar, scopeView, scopeWords } from "./scopes.ts";

/** What a token may do, read from JSON as the server would read it. Throws what is wrong with it. */
export function readLimits(json: unknown): Limit[] {
  if (!Array.isArray(json)) throw new Error("It must be a list of limits: [ … ].");
  for (const [at, limit] of json.entries()) {
    const place = `Limit ${at + 1}`;
    const { scopes, permissions } = (limit ?? {}) as Partial<Limit>;
    if (!Array.isArray(scopes) || !Array.isArray(permissions))
      throw new Error(`${place} must be an object with the lists "scopes" and "permissions".`);
    for (const scope of scopes) {
      const view = scopeView(scope);
      if (view === undefined) throw new Error(`${place}: ${quote(scope)} is no scope.`);
      if (view.kind !== "global" && view.name === "")
        throw new Error(`${place}: a scope has no name. Write one, or remove the scope.`);
      if (hasStrayStar(view)) throw new Error(`${place}: in ${quote(scope)} one * may stand at the end.`);
    }
    const wrong = permissions.findIndex((permission) => !isPermission(permission));
    if (wrong >= 0) throw new Error(`${place}: ${quote(permissions[wrong])} is no permission.`);
  }
  return json as Limit[];
}

/** What is wrong with limits in the making; undefined when they can be sent. */
export function limitsProblem(limits: readonly Limit[]): string | undefined {
  try {
    readLimits(limits);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Whether a limit grants something at all. */
export function isIdle({ scopes, permissions }: Limit): boolean {
  return scopes.length === 0 || permissions.length === 0;
}

/** `Files: read, list in bucket site`: one line a limit. What grants nothing is left out. */
export function limitWords(stored: unknown): string[] {
  if (limitsProblem(stored as Limit[]) !== undefined) return ["Limits that this console cannot read."];
  const lines = (stored as Limit[]).filter((limit) => !isIdle(limit)).map(lineOf);
  return lines.length === 0 ? ["Nothing."] : lines;
}

/** The same for limits in the making: what is still missing, in place of what they would grant. */
export function draftWords(limits: readonly Limit[]): string[] {
  const missing = limitsProblem(limits);
  return missing === undefined ? limitWords(limits) : [missing];
}

function lineOf({ scopes, permissions }: Limit): string {
  const own = families.flatMap(({ title, actions }) => {
    const held = actions.filter(({ permission }) => permissions.some((one) => isSame(one, permission)));
    return held.length === 0 ? [] : [`${title}: ${held.map(({ words }) => words).join(", ")}`];
  });
  const others = permissions.filter((permission) => !isKnown(permission)).map(otherWords);
  const places = scopes.flatMap((scope) => scopeView(scope) ?? []).map(scopeWords);
  return `${[...own, ...others].join("; ")}, ${places.join(" and ")}`;
}

function otherWords(permission: object): string {
  const [family = "", what] = Object.entries(permission)[0] ?? [];
  if (typeof what === "string") return `${family}: ${what}`;
  const [action = "", pattern] = Object.entries(what as object)[0] ?? [];
  return `${family}: ${action} (${String(pattern)})`;
}

function quote(json: unknown): string {
  const text = JSON.stringify(json) ?? "nothing";
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
