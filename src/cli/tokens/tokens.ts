import { InvalidArgumentError } from "commander";
import { permissionNames } from "../../auth/permission.ts";
import { visible } from "../../base/visible-text.ts";
import {
  type Limit,
  type NodeServerClient,
  type Permission,
  PermissionDenied,
  type Token,
} from "../../client/index.ts";
import { type CommandRow, command, type Outcome, printOutcome } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { renewLogin } from "../login/login.ts";
import { gather, parseDuration, remoteJson, yes } from "../options.ts";
import { clientFor, connect, findServer } from "../remote/remote.ts";
import { askSecret, confirm } from "../terminal/ask.ts";
import { agoText, countText } from "../terminal/quantities.ts";
import { timeCell } from "../terminal/table.ts";

export const fileActions = ["read", "write", "delete", "list"] as const;
type FileAction = (typeof fileActions)[number];

/** `nodeActions` are the permissions on the server itself, which a token holds in scope global. */
export const nodeActions = Object.keys(permissionNames).flatMap((name) =>
  name.startsWith("node.") ? [name.slice("node.".length)] : [],
);

const list = command({
  name: "list",
  summary: "list all tokens",
  needs: ["token_list_all_tokens"],
  isDefault: true,
  options: remoteJson,
  async run(options, ctx) {
    const { permissionsText } = await import("./permissions.ts");
    const client = await connect(ctx, options);
    const { tokens } = await client.call("token_list_all_tokens");
    // A script can compare times, but not "3 h ago".
    const lastUse = (at: number) => (ctx.out.isTTY ? agoText(at) : timeCell(ctx, at));
    return {
      json: tokens,
      table: {
        head: ["KEY", "USER", "EXPIRES", "PERMISSIONS", "CREATED BY", "NAME", "CREATED", "LAST USED"],
        rows: tokens.map((token) => [
          token.token_key,
          token.username ?? "-",
          endOf(ctx, token),
          permissionsText(token),
          token.created_by ?? "-",
          token.name ?? "-",
          token.created_at == null ? "-" : timeCell(ctx, token.created_at),
          token.last_used_at == null ? "-" : lastUse(token.last_used_at),
        ]),
      },
    };
  },
});

/** Creates a token and prints its secret once, to standard output. */
const create = command({
  name: "create",
  summary: "create a token; its secret is printed only once",
  needs: ["token_create"],
  options: [
    ...remoteJson,
    ["--bucket <name>", "a bucket that it may access; repeatable", { parse: gather }],
    ["--allow <actions>", "a list of read,write,delete,list (default: read)", { parse: parseAllow }],
    ["--webdav <bucket>", "a bucket that it may mount and push to: all four actions", { parse: gather }],
    [
      "--node <permissions>",
      `permissions on the server itself, a list of ${nodeActions.join(",")}`,
      { parse: parseNode },
    ],
    ["--name <name>", "a label for lists"],
    ["--username <name>", "a user name in addition to the key"],
    ["--password", "also set a password, asked for or from NODE_SERVER_NEW_PASSWORD"],
    ["--expires <time>", "after 90m, 12h, 30d, 4w or 1y (default: never)", { parse: parseDuration }],
  ],
  async run(options, ctx) {
    const { bucket = [], allow = ["read"], webdav = [], node = [], name, username, expires } = options;
    if (bucket.length + webdav.length + node.length === 0)
      throw new WrongUsage(
        "say what the token may do: --webdav BUCKET, --bucket BUCKET --allow read,list, or --node read_logs",
      );
    if (options.password && username === undefined) throw new WrongUsage("--password needs --username");
    const client = await connect(ctx, options);
    const password = options.password ? await newPassword(ctx, username ?? "") : undefined;
    const limit = (names: readonly string[], actions: readonly FileAction[]) => ({
      scopes: names.map((static_bucket) => ({ static_bucket })),
      permissions: actions.map((static_bucket_file) => ({ static_bucket_file })),
    });
    await warnOfMissing(ctx, client, [...bucket, ...webdav]);
    if (node.includes("exec_sql"))
      ctx.say("note: exec_sql means full trust: anyone with this token can do anything on the server");
    const made = await client.call("token_create", {
      token_creation: {
        token_limit: [
          ...(bucket.length === 0 ? [] : [limit(bucket, allow)]),
          ...(webdav.length === 0 ? [] : [limit(webdav, fileActions)]),
          ...(node.length === 0 ? [] : [onServer(node)]),
        ],
        ...(name === undefined ? {} : { name }),
        ...(username === undefined ? {} : { username }),
        ...(password === undefined ? {} : { password }),
        ...(expires === undefined ? {} : { timestamp_to: Date.now() + expires }),
      },
    });
    return secretOf(ctx, made);
  },
});

/** The limit of permissions on the server itself. */
function onServer(actions: readonly string[]): Limit {
  return { scopes: ["global"], permissions: actions.map((node) => ({ node }) as Permission) };
}

/** Warns of buckets that do not exist, which may be mistyped. Skipped if the caller may not read buckets. */
async function warnOfMissing(
  ctx: Context,
  client: NodeServerClient,
  names: readonly string[],
): Promise<void> {
  for (const name of new Set(names.filter((name) => !name.endsWith("*")))) {
    const found = await client.call("static-bucket_read", { name }).catch((error: unknown) => {
      if (error instanceof PermissionDenied) return undefined;
      throw error;
    });
    if (found === null)
      ctx.say(
        `note: the server has no bucket ${name} yet; \`node-server buckets create ${name}\` creates it`,
      );
  }
}

async function newPassword(ctx: Context, username: string): Promise<string> {
  const given = ctx.env.NODE_SERVER_NEW_PASSWORD;
  if (given === undefined && ctx.terminal === undefined)
    throw new WrongUsage("--password asks on a terminal; elsewhere set NODE_SERVER_NEW_PASSWORD");
  return given ?? askSecret(ctx, `Password for ${username}: `);
}

const remove = command({
  name: "delete <key>",
  summary: "delete a token",
  needs: ["token_delete"],
  options: [...remoteJson, yes],
  async run({ key, ...options }, ctx) {
    const client = await connect(ctx, options);
    await confirm(ctx, `The token ${key} will be invalid at once.`, options.yes);
    const result = await client.call("token_delete", { target_token: key });
    const left = result.created_tokens_left;
    ctx.say(`deleted the token ${key}`);
    if (left > 0)
      ctx.say(
        `note: tokens that it created still work: ${left}; \`node-server tokens list\` names their creator under CREATED BY`,
      );
    return { json: result };
  },
});

const roll = command({
  name: "roll <key>",
  summary: "give a token a new secret, printed only once",
  needs: ["token_roll_token_secret"],
  options: [...remoteJson, yes],
  async run({ key, ...options }, ctx) {
    const target = await findServer(ctx, options);
    await confirm(ctx, `The current secret of ${key} will be invalid at once.`, options.yes);
    const made = await clientFor(target).call("token_roll_token_secret", { target_token: key });
    // Before the saved login is changed, which may fail.
    const code = await printOutcome(ctx, secretOf(ctx, made), options.json);
    await renewLogin(ctx, target, made);
    return code;
  },
});

/** Lets a person in again who has lost the authenticator app, and signs the person out of the console everywhere. */
const reset = command({
  name: "reset <key>",
  summary: "sign a person out of the console everywhere, and turn two-factor sign-in off",
  needs: ["session_reset"],
  options: [...remoteJson, yes],
  async run({ key, ...options }, ctx) {
    const client = await connect(ctx, options);
    await confirm(ctx, `${key} must sign in again, with the password alone.`, options.yes);
    const result = await client.call("session_reset", { target_token: key });
    const codes = result.totp_removed ? "turned two-factor sign-in off; " : "";
    ctx.say(`${codes}ended ${countText(result.sessions_ended, "session")} of ${key}; the password stays`);
    return { json: result };
  },
});

/** Prints what clients of S3 sign with, as the variables that they read. */
const s3 = command({
  name: "s3",
  summary: "print the S3 access key and secret key of the token in use",
  needs: ["token_s3_credentials"],
  options: remoteJson,
  async run(options, ctx) {
    const client = await connect(ctx, options);
    const made = await client.call("token_s3_credentials");
    return {
      json: made,
      text: `AWS_ACCESS_KEY_ID=${visible(made.access_key_id)}\nAWS_SECRET_ACCESS_KEY=${visible(made.secret_access_key)}\n`,
    };
  },
});

function secretOf(ctx: Context, made: { readonly key: string; readonly secret: string }): Outcome {
  ctx.say("save it; it is not shown again");
  return { json: made, text: `${visible(`${made.key}:${made.secret}`)}\n` };
}

function endOf(ctx: Context, { timestamp_to }: Token): string {
  if (timestamp_to === null) return "never";
  const end = timeCell(ctx, timestamp_to);
  return timestamp_to < Date.now() ? `${end} (over)` : end;
}

/** parseAllow reads `--allow read,write`. */
function parseAllow(text: string): FileAction[] {
  return parseList(text, fileActions);
}

/** parseNode reads `--node read_logs,metrics`. */
function parseNode(text: string): string[] {
  return parseList(text, nodeActions);
}

function parseList<T extends string>(text: string, known: readonly T[]): T[] {
  return text.split(",").map((part) => {
    const word = part.trim();
    const found = known.find((one) => one === word);
    if (found === undefined)
      throw new InvalidArgumentError(`${word || "nothing"} is not one of ${known.join(", ")}.`);
    return found;
  });
}

export const tokens: CommandRow = {
  name: "tokens",
  summary: "list, create, renew and delete tokens",
  commands: [list, create, remove, roll, reset, s3],
};
