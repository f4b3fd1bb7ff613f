import { Denied } from "./denied.ts";
import { describeScope, type Need } from "./need.ts";
import { holds, type Limit, permissionNames } from "./permission.ts";

/** Who calls, once proven. */
export interface Caller {
  /** Which of the two forms of credentials it gave. */
  readonly by: "key" | "username";
  readonly isSuper: boolean;
  readonly key: string;
  readonly username: string | null;
  readonly limits: readonly Limit[];
  /** The stored hash that the caller's secret or password matched. */
  readonly proof: string;
  /** When the token ends, Unix milliseconds. */
  readonly until: number | null;
}

/** The caller of an open method: holds nothing, because nothing is asked. */
export const nobody: Caller = {
  by: "key",
  isSuper: false,
  key: "",
  username: null,
  limits: [],
  proof: "",
  until: null,
};

export const superRefusal = "Super token required";

/** Lets the caller pass or says what is missing. */
export function authorise(caller: Caller, need: Need): void {
  if (caller.isSuper) return;
  switch (need.kind) {
    case "anyone":
    case "owner":
    case "token":
      return;
    case "super":
      throw new Denied("missing_permission", superRefusal);
    case "all": {
      const missing = need.permissions.find((permission) => !holds(caller.limits, permission, need.scope));
      if (missing === undefined) return;
      throw new Denied(
        "missing_permission",
        `${permissionNames[missing]} required in scope ${describeScope(need.scope)}`,
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
      );
    }
  }
}
