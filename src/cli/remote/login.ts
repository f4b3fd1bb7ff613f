import { Fault } from "../../base/fault.ts";
import { NodeServerClient } from "../../client/index.ts";
import { exitCodes } from "../command.ts";
import { askSecret } from "../terminal/ask.ts";
import { visible } from "../terminal/sizes.ts";
import { nameFromUrl, parseServerName, parseServerUrl, readServers, writeServers } from "./servers.ts";

/** Keeps a server and a token that it accepts, and uses it from now on. */
export async function login(address: string, { name: wanted }: { readonly name?: string }): Promise<number> {
  const url = parseServerUrl(address);
  const chosen = wanted === undefined ? undefined : parseServerName(wanted);
  const known = await readServers(process.env);
  const before = Object.entries(known.servers).find(([, server]) => server.url === url)?.[0];
  const name = chosen ?? before ?? nameFromUrl(url);
  const client = (token?: string) => new NodeServerClient(url, { token, timeoutMs: 30_000 });
  // First whether a node-server is there at all: a token is not shown to whatever answers.
  await client().call("node-server_version");
  if (isOpenRoad(url)) say(`note: ${url} is not encrypted; whoever is on the way can read the token`);
  const token = await tokenFor(url);
  const { username, token_key } = await client(token).call("token_get");
  await writeServers({ current: name, servers: { ...known.servers, [name]: { url, token } } }, process.env);
  say(`logged in to ${name} (${url}) as ${visible(username ?? token_key)}`);
  return exitCodes.done;
}

async function tokenFor(url: string): Promise<string> {
  const given = process.env.NODE_SERVER_TOKEN;
  if (given) {
    say("the token is the one in NODE_SERVER_TOKEN");
    return given;
  }
  const token = process.stdin.isTTY ? await askSecret(`Token for ${url}: `) : await Bun.stdin.text();
  if (token.trim() === "")
    throw new Fault(
      "Other",
      "no token was given; it is asked for on a terminal, else read from standard input",
    );
  return token.trim();
}

function isOpenRoad(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
