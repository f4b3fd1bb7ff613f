import type { Requirement } from "../../../client/index.ts";
import type { Rights } from "../../rights.ts";

/** Whether the token can surely not call a method with these requirements, of which one is enough. In doubt it can. */
export function surelyNot(requirements: readonly Requirement[], rights: Rights): boolean {
  return !rights.isSuper && !requirements.some((requirement) => mayMeet(requirement, rights));
}

function mayMeet(requirement: Requirement, rights: Rights): boolean {
  switch (requirement.kind) {
    case "super":
      return false;
    case "all":
      if (requirement.scope.kind === "global")
        return requirement.permissions.every((permission) => rights.globally(permission));
      return requirement.permissions.every((permission) => rights.anywhere(permission));
    case "anywhere":
      return requirement.permissions.some((permission) => rights.anywhere(permission));
    default:
      return true;
  }
}
