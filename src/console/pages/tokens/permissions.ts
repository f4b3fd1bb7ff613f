import { otherPermissionFamilies, type Permission, permissionFamilies } from "../../../client/index.ts";
import { t } from "../../text/text.ts";

export interface FamilyView {
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
export function onlyMember(json: unknown): [] | [name: string, value: unknown] {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return [];
  const members = Object.entries(json);
  return members.length === 1 && members[0] !== undefined ? members[0] : [];
}
