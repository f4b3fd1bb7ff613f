import { join } from "node:path";
import type { Context } from "./context.ts";

/** The user's folder for logins, by the XDG base directory specification. */
export function configFolder({ env, home }: Context): string {
  return join(env.XDG_CONFIG_HOME || join(home, ".config"), "node-server");
}

/** The user's folder for histories and records, by the same specification. */
export function stateFolder({ env, home }: Context): string {
  return join(env.XDG_STATE_HOME || join(home, ".local", "state"), "node-server");
}
