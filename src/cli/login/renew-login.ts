import type { Context } from "../context.ts";
import type { Target } from "../remote/remote.ts";
import { readServers, writeServers } from "./known-servers.ts";

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
