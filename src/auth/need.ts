import { type DenialReason, Fault, type FaultData } from "../base/fault.ts";
import type { Caller } from "./caller.ts";
import { holds } from "./limit.ts";
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
  /** At least one of the permissions, in this scope. */
  | { readonly kind: "some"; readonly permissions: readonly Permission[]; readonly scope: Scope }
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

/** `someInBucket` needs at least one of the permissions in the scope of one bucket. */
export function someInBucket(name: string, ...permissions: Permission[]): Need {
  return { kind: "some", permissions, scope: { in: "static_bucket", name } };
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
    case "some":
      return `${names(need.permissions).join(" or ")} in scope ${describeScope(need.scope)}`;
    case "anywhere":
      return `${names(need.permissions).join(" or ")} in any scope`;
  }
}

function describeScope(scope: Scope): string {
  return scope.in === "global" ? "global" : `${scope.in} ${scope.name}`;
}

export const superTokenRequired = "Super token required";

/** `authorise` throws Denied, naming what is missing, unless the caller satisfies `need`. */
export function authorise(caller: Caller, need: Need): void {
  if (caller.isSuper) return;
  switch (need.kind) {
    case "anyone":
    case "owner":
    case "token":
      return;
    case "super":
      throw new Denied("missing_permission", superTokenRequired, { super_token: true });
    case "all": {
      const { scope } = need;
      const missing = need.permissions.filter((permission) => !holds(caller.limits, permission, scope));
      const [first] = missing;
      if (first === undefined) return;
      throw new Denied(
        "missing_permission",
        `${permissionNames[first]} required in scope ${describeScope(scope)}`,
        { permissions: missing.map(permissionJson), scope: scopeJson(scope) },
      );
    }
    case "some": {
      const { permissions, scope } = need;
      if (permissions.some((permission) => holds(caller.limits, permission, scope))) return;
      throw new Denied(
        "missing_permission",
        `${permissions.map((name) => permissionNames[name]).join(" or ")} required in scope ${describeScope(scope)}`,
        { permissions: permissions.map(permissionJson), scope: scopeJson(scope) },
      );
    }
    case "anywhere": {
      const granted = caller.limits.flatMap(({ permissions }) =>
        permissions.map(({ permission }) => permission),
      );
      if (need.permissions.some((permission) => granted.includes(permission))) return;
      throw new Denied(
        "missing_permission",
        `${need.permissions.map((name) => permissionNames[name]).join(" or ")} required in some scope`,
        { permissions: need.permissions.map(permissionJson) },
      );
    }
  }
}

/** `permissionJson` writes a permission as limits of tokens have it. */
function permissionJson(permission: Permission): Readonly<Record<string, string>> {
  const [family = "", action = ""] = permission.split(".", 2);
  return { [family]: action };
}

/** `scopeJson` writes a scope as limits of tokens have it. */
function scopeJson(scope: Scope): "global" | Readonly<Record<string, string>> {
  return scope.in === "global" ? "global" : { [scope.in]: scope.name };
}

/** `isAuthorised` returns whether `authorise` would let the caller pass. */
export function isAuthorised(caller: Caller, need: Need): boolean {
  try {
    authorise(caller, need);
    return true;
  } catch (error) {
    if (error instanceof Denied) return false;
    throw error;
  }
}

/**
 * `mayActFor` returns whether the caller may use what the token with this key holds, such as a lock: it is that token or the Super
 * Token.
 */
export function mayActFor(caller: Caller, key: string): boolean {
  return caller.isSuper || caller.key === key;
}

/** Denied is thrown by `auth/` only. Its reason travels as `data.reason`, so that no program has to read the message. */
export class Denied extends Fault {
  constructor(reason: DenialReason, detail: string, data: FaultData = {}) {
    super("PermissionDenied", detail, { reason, ...data });
  }
}
