import { exitCodes } from "../command.ts";
import { print } from "../terminal/output.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";
import { knownServer, readServers, writeServers } from "./known-servers.ts";

/** Lists the servers that were logged in to, without their tokens. */
export async function listServers({ json }: { readonly json?: boolean }): Promise<number> {
  const { current, servers } = await readServers(process.env);
  const rows = Object.entries(servers).map(([name, { url }]) => ({ name, url, current: name === current }));
  const width = Math.max(0, ...rows.map(({ name }) => name.length));
  const lines = rows.map(
    ({ name, url, current }) => `${current ? "*" : " "} ${name.padEnd(width)}  ${url}\n`,
  );
  await print(json ? `${JSON.stringify(rows)}\n` : lines.join(""));
  if (process.env.NODE_SERVER_URL) process.stderr.write("note: NODE_SERVER_URL is set and overrides this\n");
  else if (rows.length === 0) process.stderr.write("no server is saved; `node-server login URL` adds one\n");
  return exitCodes.done;
}

/** Chooses the server that commands use when none is named. */
export async function chooseServer(name: string): Promise<number> {
  const known = await readServers(process.env);
  const found = knownServer(known, name);
  if (found === undefined)
    throw new WrongUsage(`there is no saved server ${name}; \`node-server servers\` lists them`);
  await writeServers({ ...known, current: name }, process.env);
  process.stderr.write(`${name} (${found.url}) is used from now on\n`);
  return exitCodes.done;
}
