import { type CommandRow, command, exitCodes } from "../command.ts";
import { json } from "../options.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";
import { knownServer, readServers, writeServers } from "./known-servers.ts";

/** Lists the servers that were logged in to, without their tokens. */
const list = command({
  name: "list",
  summary: "list saved servers",
  isDefault: true,
  options: [json],
  async run({ json }, ctx) {
    const { current, servers } = await readServers(ctx);
    const rows = Object.entries(servers).map(([name, { url }]) => ({ name, url, current: name === current }));
    const width = Math.max(0, ...rows.map(({ name }) => name.length));
    const lines = rows.map(
      ({ name, url, current }) => `${current ? "*" : " "} ${name.padEnd(width)}  ${url}\n`,
    );
    await (json ? ctx.printJson(rows) : ctx.print(lines.join("")));
    if (ctx.env.NODE_SERVER_URL) ctx.say("note: NODE_SERVER_URL is set and overrides this");
    else if (rows.length === 0) ctx.say("no server is saved; `node-server login URL` adds one");
    return exitCodes.done;
  },
});

/** Chooses the server that commands use when none is named. */
const use = command({
  name: "use <name>",
  summary: "use this server from now on",
  async run({ name }, ctx) {
    const known = await readServers(ctx);
    const found = knownServer(known, name);
    if (found === undefined)
      throw new WrongUsage(`there is no saved server ${name}; \`node-server servers\` lists them`);
    await writeServers(ctx, { ...known, current: name });
    ctx.say(`${name} (${found.url}) is now in use`);
    return exitCodes.done;
  },
});

export const servers: CommandRow = {
  name: "servers",
  summary: "list the saved servers; * is in use",
  commands: [list, use],
};
