import { Fault } from "../../base/fault.ts";
import { otherOwner, shellQuoted } from "../../base/local-fs/access.ts";
import type { Context } from "../context.ts";

/**
 * `refuseRoot` throws if root runs a command for a server whose configuration belongs to another user. The server could not write the
 * files that the command creates. A configuration that does not exist yet is not refused.
 */
export function refuseRoot(ctx: Context, configPath: string, command: string): void {
  const path = ctx.path(configPath);
  const owner = otherOwner(path);
  if (owner === undefined) return;
  throw new Fault(
    "Other",
    `${path} belongs to ${owner}, who could not write the files that root creates; run \`sudo -u ${shellQuoted(owner)} node-server ${command} …\` instead`,
    { path },
  );
}
