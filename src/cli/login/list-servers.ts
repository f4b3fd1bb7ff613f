import { exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";
import { knownServer, readServers, writeServers } from "./known-servers.ts";

/** Lists the servers that were logged in to, without their tokens. */
export async function listServers({ json }: { readonly json?: boolean }, ctx: Context): Promise<number> {
  const { current, servers } = await readServers(ctx);
  const rows = Object.entries(servers).map(([name, { url }]) => ({ name, url, current: name === current }));
  const width = Math.max(0, ...rows.map(({ name }) => name.length));
  const lines = rows.map(
    ({ name, url, current }) => `${current ? "*" : " "} ${name.padEnd(width)}  ${url}\n`,
  );
  await ctx.print(json ? `${JSON.stringify(rows)}\n` : lines.join(""));
  if (ctx.env.NODE_SERVER_URL) ctx.say("note: NODE_SERVER_URL is set and overrides this");
  else if (rows.length === 0) ctx.say("no server is saved; `node-server login URL` adds one");
  return exitCodes.done;
}

/** Chooses the server that commands use when none is named. */
export async function chooseServer(name: string, _options: unknown, ctx: Context): Promise<number> {
  const known = await readServers(ctx);
  const found = knownServer(known, name);
  if (found === undefined)
    throw new WrongUsage(`there is no saved server ${name}; \`node-server servers\` lists them`);
  await writeServers(ctx, { ...known, current: name });
  ctx.say(`${name} (${found.url}) is now in use`);
  return exitCodes.done;
}
