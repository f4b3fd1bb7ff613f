// This folder has the agents that the server knows, and the rule about who may see them. The rule needs the limits of
// a caller (auth/) as well as the rows of the database, so it belongs to neither. The rows are in
// db/rows/agent-rows.ts, the methods in methods/node.ts.

import type { Caller } from "../auth/caller.ts";
import { holds, scopeCovers } from "../auth/limit.ts";
import type { Permission, Scope } from "../auth/permission.ts";
import type { Database } from "../db/database.ts";

/** The permissions that let a token see agents. */
export const listPermissions = [
  "node.list_all_agent_uuid",
  "monitoring_uuid.list",
] as const satisfies readonly Permission[];

/** The agents that the server knows, and who may see them. */
export class Agents {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async visibleTo(caller: Caller): Promise<string[]> {
    const uuids = await this.#database.agents.uuids();
    return uuids.filter((uuid) => sees(caller, uuid));
  }
}

/**
 * A List permission in global scope shows every agent. In the scope of one agent it shows it only to a token that
 * may do something else with that agent too: to list alone is not a reason to know of it.
 */
function sees(caller: Caller, uuid: string): boolean {
  if (caller.isSuper) return true;
  const mayList = (scope: Scope) =>
    listPermissions.some((permission) => holds(caller.limits, permission, scope));
  if (mayList({ in: "global" })) return true;
  const agent = { in: "agent_uuid", name: uuid.toLowerCase() } as const;
  return (
    mayList(agent) &&
    caller.limits.some(
      (limit) =>
        limit.scopes.some((scope) => scopeCovers(scope, agent)) &&
        limit.permissions.some(({ permission }) => !isListing(permission)),
    )
  );
}

function isListing(permission: string): boolean {
  return listPermissions.some((listing) => listing === permission);
}
