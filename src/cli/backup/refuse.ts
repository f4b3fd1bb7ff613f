import { existsSync } from "node:fs";
import { Fault } from "../../base/fault.ts";
import { otherOwner, shellQuoted } from "../../base/local-fs/access.ts";
import type { Config } from "../../config/schema.ts";
import { databaseFile } from "../../db/database.ts";
import { refuseUsed } from "../../db/dump/load-target.ts";
import { LogHub } from "../../log/hub.ts";
import { inspectMovedDatabase } from "../../preflight.ts";
import type { Context } from "../context.ts";
import { readConfig } from "../server/open.ts";
import { findRunning } from "../server/running.ts";

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

/**
 * `refuseRunning` throws if a server uses the database of the configuration at `path`. The lock of a SQLite file shows that exactly.
 * A server on PostgreSQL that is idle has no connection, but answers at its address. It changes nothing.
 */
export async function refuseRunning(
  ctx: Context,
  { config, path }: { readonly config: Config; readonly path: string },
): Promise<void> {
  if (databaseFile(config.database.database_url) === undefined) await refuseAnswering(ctx, config, path);
  await refuseUsed(config.database, new LogHub());
}

/**
 * `refuseRunningHere` throws if the server of the configuration at `path` runs, before a backup of any size is read. A
 * configuration that is to be replaced may be invalid, and its database unreachable.
 */
export async function refuseRunningHere(
  ctx: Context,
  path: string,
  { replace }: { replace: boolean },
): Promise<void> {
  if (!existsSync(ctx.path(path))) return;
  if (!replace)
    return refuseRunning(ctx, { config: await readConfig(ctx, path, inspectMovedDatabase), path });
  const config = await readConfig(ctx, path).catch((error: unknown) => {
    if (error instanceof Fault) return undefined;
    throw error;
  });
  if (config === undefined) return;
  if (databaseFile(config.database.database_url) === undefined) await refuseAnswering(ctx, config, path);
  else await refuseRunning(ctx, { config, path });
}

/** `refuseAnswering` throws if a server answers at the address of the configuration at `path`. */
async function refuseAnswering(ctx: Context, config: Config, path: string): Promise<void> {
  const running = await findRunning(config);
  if (running === undefined) return;
  throw new Fault(
    "Other",
    `a server runs at ${running.url}, the address of this configuration; stop it first. If it belongs to another configuration, change ws_listener in ${ctx.path(path)}`,
  );
}
