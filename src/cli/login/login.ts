import { visible } from "../../base/visible-text.ts";
import { type CommandRow, command } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { json } from "../options.ts";
import { clientFor, fetchFor, readCa, type Target } from "../remote/remote.ts";
import { askOrReadSecret } from "../terminal/ask.ts";
import { minuteText } from "../terminal/quantities.ts";
import {
  nameFromUrl,
  parseServerName,
  parseServerUrl,
  readServers,
  requireServer,
  requireServersWritable,
  writeServers,
} from "./known-servers.ts";

/** Saves a server and a token that it accepts, and makes it the one in use. */
export const login = command({
  name: "login <url>",
  summary: "save a server with a token, and use it from now on",
  options: [
    ["--name <name>", "the name of the server here (default: from the address)"],
    ["--ca <file>", "check the server's certificate against this file (PEM); saved with the login"],
    json,
  ],
  async run({ url: address, name: wanted, ca: file }, ctx) {
    const { permissionsText, tokenState } = await import("../tokens/permissions.ts");
    const url = parseServerUrl(ctx, address, "node-server login");
    const chosen = wanted === undefined ? undefined : parseServerName(wanted);
    const known = await readServers(ctx);
    requireServersWritable(ctx);
    const before = Object.entries(known.servers).find(([, server]) => server.url === url)?.[0];
    const name = chosen ?? before ?? nameFromUrl(url);
    const ca = file === undefined ? undefined : readCa(ctx, file);
    const fetch = fetchFor(url, ca);
    const client = (token?: string) => clientFor({ url, token, ca, fetch }, { timeoutMs: 30_000 });
    // Checks first that a node-server answers: the token is sent to nothing else.
    await client().call("node-server_version");
    if (isUnencrypted(url))
      ctx.say(`note: ${url} is not encrypted; anyone on the network path can read the token`);
    const token = await tokenFor(ctx, url);
    const own = await client(token).call("token_get");
    const server = { url, token, ...(file === undefined ? {} : { ca: ctx.path(file) }) };
    await writeServers(ctx, { current: name, servers: { ...known.servers, [name]: server } });
    ctx.say(`logged in to ${name} (${url}) as ${visible(own.username ?? own.token_key)}`);
    const end = own.timestamp_to === null ? "" : `; expires ${minuteText(own.timestamp_to)} UTC`;
    ctx.say(`can: ${visible(permissionsText(own))}${end}`);
    return { json: { name, url, token: tokenState(own), super: own.super === true } };
  },
});

async function tokenFor(ctx: Context, url: string): Promise<string> {
  const { NODE_SERVER_TOKEN: given, NODE_SERVER_URL: paired } = ctx.env;
  // Beside NODE_SERVER_URL the token is for that server alone.
  if (given && (!paired || parseServerUrl(ctx, paired) === url)) {
    ctx.say("using the token in NODE_SERVER_TOKEN");
    return given;
  }
  return (await askOrReadSecret(ctx, { what: "token", question: `Token for ${url}: ` })).trim();
}

function isUnencrypted(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
}

/** Forgets a server and its token; the token itself stays valid. */
export const logout = command({
  name: "logout [name]",
  summary: "remove a saved server and its token (default: the one in use)",
  async run({ name: wanted }, ctx) {
    const known = await readServers(ctx);
    const name = wanted ?? known.current;
    if (name === undefined) throw new WrongUsage("no server is in use; name the one to remove");
    requireServer(known, name);
    const { [name]: _, ...servers } = known.servers;
    // The next server in use is chosen by the user, not by the order of the file.
    const current = known.current === undefined || known.current === name ? {} : { current: known.current };
    await writeServers(ctx, { ...current, servers });
    ctx.say(`logged out of ${name}`);
    return undefined;
  },
});

/** Lists the servers that were logged in to, without their tokens. */
const list = command({
  name: "list",
  summary: "list saved servers",
  isDefault: true,
  options: [json],
  async run(_, ctx) {
    const { current, servers } = await readServers(ctx);
    const rows = Object.entries(servers).map(([name, { url }]) => ({ name, url, current: name === current }));
    if (ctx.env.NODE_SERVER_URL) ctx.say("note: NODE_SERVER_URL is set and overrides this");
    else if (rows.length === 0) ctx.say("no server is saved; `node-server login URL` adds one");
    return {
      json: rows,
      table: {
        head: ["", "NAME", "URL"],
        rows: rows.map(({ name, url, current }) => [current ? "*" : "", name, url]),
      },
    };
  },
});

/** Chooses the server that commands use when none is named. */
const use = command({
  name: "use <name>",
  summary: "use this server from now on",
  async run({ name }, ctx) {
    const known = await readServers(ctx);
    const found = requireServer(known, name);
    await writeServers(ctx, { ...known, current: name });
    ctx.say(`${name} (${found.url}) is now in use`);
    return undefined;
  },
});

export const servers: CommandRow = {
  name: "servers",
  summary: "list the saved servers; * is in use",
  commands: [list, use],
};

/** NewCredentials are the new credentials of a token. */
export type NewCredentials =
  | { readonly key: string; readonly secret: string }
  | { readonly username: string; readonly password: string };

/** Puts new credentials into every saved login of this server that uses the old ones, and says so. */
export async function renewLogin(ctx: Context, target: Target, renewed: NewCredentials): Promise<void> {
  const before = "key" in renewed ? `${renewed.key}:` : `${renewed.username}|`;
  const after = before + ("key" in renewed ? renewed.secret : renewed.password);
  const isOwn = (token: string) => identityIn(token) === before;
  const known = await readServers(ctx);
  const names = Object.entries(known.servers)
    .filter(([, { url, token }]) => url === target.url && isOwn(token))
    .map(([name]) => name);
  if (names.length > 0) {
    const servers = Object.fromEntries(
      Object.entries(known.servers).map(([name, server]) => [
        name,
        names.includes(name) ? { ...server, token: after } : server,
      ]),
    );
    await writeServers(ctx, { ...known, servers });
    ctx.say(
      `the saved login of ${names.join(", ")} uses the new ${"key" in renewed ? "secret" : "password"}`,
    );
  }
  if (!target.isSaved && target.token !== undefined && isOwn(target.token))
    ctx.say("NODE_SERVER_TOKEN still has the old one; change it");
}

/** The user name of a login by user name and password; undefined for one by key and secret. */
export function usernameIn(token: string): string | undefined {
  const bar = token.indexOf("|");
  return bar === -1 ? undefined : token.slice(0, bar);
}

/** The part of a token before its secret: with a `|` it is a user name and a password, else a key and a secret. */
function identityIn(token: string): string {
  const username = usernameIn(token);
  return username === undefined ? token.slice(0, token.indexOf(":") + 1) : `${username}|`;
}
