import { type DenialReason, Fault, type FaultData } from "../base/fault.ts";
import type { Caller } from "./caller.ts";
import { holds } from "./limit.ts";
import { describeScope, type Need } from "./need.ts";
import { type Permission, permissionNames, type Scope } from "./permission.ts";

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
