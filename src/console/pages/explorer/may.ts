import type { Permission } from "../../../client/index.ts";
import type { Rights } from "../../rights.ts";

/** Whether the token can surely not call what needs this, as the server puts it in words. In doubt it can. */
export function surelyNot(need: string, rights: Rights): boolean {
  if (rights.isSuper) return false;
  if (need === "Super Token") return true;
  if (need.endsWith(" in scope global"))
    return !permissionsIn(need).every((permission) => rights.globally(permission));
  return need.includes(" in scope static_bucket ") && !rights.seesBuckets;
}

/** From `StaticBucketFile::Read` to `{ static_bucket_file: "read" }`. */
function permissionsIn(need: string): Permission[] {
  return [...need.matchAll(/`(\w+)::(\w+)`/g)].map(
    ([, family = "", action = ""]) => ({ [snake(family)]: snake(action) }) as Permission,
  );
}

function snake(name: string): string {
  return name.replaceAll(/(?<=.)[A-Z]/g, "_$&").toLowerCase();
}
