import { command, exitCodes } from "../command.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";
import { knownServer, readServers, writeServers } from "./known-servers.ts";

/** Forgets a server and its token; the token itself stays valid. */
export const logout = command({
  name: "logout [name]",
  summary: "remove a saved server and its token (default: the one in use)",
  async run({ name: wanted }, ctx) {
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
  },
});
