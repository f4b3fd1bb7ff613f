import { exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";
import { knownServer, readServers, writeServers } from "./known-servers.ts";

/** Forgets a server and its token; the token itself stays valid. */
export async function logout(wanted: string | undefined, _options: unknown, ctx: Context): Promise<number> {
  const known = await readServers(ctx);
  const name = wanted ?? known.current;
  if (name === undefined) throw new WrongUsage("no server is in use; name the one to remove");
  if (knownServer(known, name) === undefined)
    throw new WrongUsage(`there is no saved server ${name}; \`node-server servers\` lists them`);
  const { [name]: _, ...servers } = known.servers;
  // The next server in use is chosen by the user, not by the order of the file.
  const current = known.current === undefined || known.current === name ? {} : { current: known.current };
  await writeServers(ctx, { ...current, servers });
  ctx.say(`logged out of ${name}`);
  return exitCodes.done;
}
