import { type Permission, permissionNames, type Scope } from "./permission.ts";

/** Need is what a method requires of its caller. It is data, so that it is enforced, documented and tested from one place. */
export type Need =
  | { readonly kind: "anyone" }
  /** The connection itself: the method reaches only what belongs to it. */
  | { readonly kind: "owner" }
  | { readonly kind: "super" }
  /** Any valid token. */
  | { readonly kind: "token" }
  /** Every one of the permissions, in this scope. */
  | { readonly kind: "all"; readonly permissions: readonly Permission[]; readonly scope: Scope }
  /** At least one of the permissions, in any scope; the method shows what that scope covers. */
  | { readonly kind: "anywhere"; readonly permissions: readonly Permission[] };

export const anyone: Need = { kind: "anyone" };
export const owner: Need = { kind: "owner" };
export const superToken: Need = { kind: "super" };
export const anyToken: Need = { kind: "token" };

export function globally(...permissions: Permission[]): Need {
  return { kind: "all", permissions, scope: { in: "global" } };
}

/** `inBucket` needs each of the permissions in the scope of one bucket. */
export function inBucket(name: string, ...permissions: Permission[]): Need {
  return { kind: "all", permissions, scope: { in: "static_bucket", name } };
}

export function anywhere(...permissions: Permission[]): Need {
  return { kind: "anywhere", permissions };
}

/** `isOpen` returns whether a method needs no token. */
export function isOpen(need: Need): boolean {
  return need.kind === "anyone" || need.kind === "owner";
}

/** `describeNeed` is for the documents. */
export function describeNeed(need: Need): string {
  const names = (permissions: readonly Permission[]) =>
    permissions.map((name) => `\`${permissionNames[name]}\``);
  switch (need.kind) {
    case "anyone":
      return "no token";
    case "owner":
      return "the connection that made the subscription";
    case "super":
      return "Super Token";
    case "token":
      return "any valid token";
    case "all":
      return `${names(need.permissions).join(" and ")} in scope ${describeScope(need.scope)}`;
    case "anywhere":
      return `${names(need.permissions).join(" or ")} in any scope`;
  }
}

export function describeScope(scope: Scope): string {
  return scope.in === "global" ? "global" : `${scope.in} ${scope.name}`;
}
