import type { Command } from "commander";
import {
  createBucket,
  deleteBucket,
  listBuckets,
  publicNote,
  showBucket,
  updateBucket,
} from "../remote/buckets.ts";
import { serverOptions } from "../remote/server-options.ts";
import { status } from "../remote/status.ts";
import { storage } from "../remote/storage.ts";
import {
  createToken,
  deleteToken,
  listTokens,
  parseAllow,
  parseDuration,
  rollToken,
} from "../remote/tokens.ts";
import { pull } from "./pull.ts";
import { push } from "./push.ts";

type Ended = (code: number) => void;

const pushNotes = `
Files are compared by size and hash; what earlier pushes learnt is kept in the user's state folder.
Files whose name begins with a dot are pushed too, except .git and .DS_Store.
Links are followed as long as they stay inside DIR; the others are left out and named.
Pages go up after what they refer to, the front page last; --delete comes after all uploads.`;

/** The commands that deploy sites and look after a server from afar. */
export function addDeployCommands(program: Command, ended: Ended): void {
  addTransfers(program, ended);
  addBuckets(program, ended);
  addTokens(program, ended);
  remote(program.command("storage").description("tell how much room each table takes")).action(
    async (options) => ended(await storage(options)),
  );
  remote(program.command("status").description("tell how a server is, and whose token is used")).action(
    async (options) => ended(await status(options)),
  );
}

function addTransfers(program: Command, ended: Ended): void {
  remote(program.command("push <dir> <bucket>"))
    .description("deploy a folder to a bucket: upload what changed")
    .option("--delete", "also delete what the folder does not hold")
    .option("--dry-run", "show what would happen and change nothing")
    .option("--watch", "go on pushing whenever something changes")
    .addHelpText("after", pushNotes)
    .action(async (dir: string, bucket: string, options) => ended(await push(dir, bucket, options)));
  remote(program.command("pull <bucket> <dir>"))
    .description("fetch a bucket into a folder: download what changed")
    .option("--delete", "also delete what the bucket does not hold")
    .option("--dry-run", "show what would happen and change nothing")
    .addHelpText("after", "\nNothing called .git or .DS_Store is fetched or deleted.")
    .action(async (bucket: string, dir: string, options) => ended(await pull(bucket, dir, options)));
}

function addBuckets(program: Command, ended: Ended): void {
  const buckets = program.command("buckets").description("list, make, change and forget buckets");
  remote(buckets.command("list", { isDefault: true }).description("list every bucket")).action(
    async (options) => ended(await listBuckets(options)),
  );
  const shape = (command: Command, path: string) =>
    remote(command)
      .option("--path <folder>", `its folder below static_path (${path})`)
      .option("--root", "serve it at /")
      .option("--cors", "let pages of other origins read it");
  shape(buckets.command("create <name>").description("make a bucket"), "default: its name")
    .addHelpText("after", `\nNote: ${publicNote("SERVER/node/static/NAME/…")}.`)
    .action(async (name: string, options) => ended(await createBucket(name, options)));
  remote(buckets.command("show <name>").description("show one bucket")).action(
    async (name: string, options) => ended(await showBucket(name, options)),
  );
  shape(
    buckets.command("update <name>").description("change a bucket; what is not named stays"),
    "left out: stays as it is",
  )
    .option("--no-root", "serve it at / no more")
    .option("--no-cors", "do not let pages of other origins read it")
    .option("--enable", "serve it")
    .option("--no-enable", "serve it no more, by HTTP and WebDAV")
    .action(async (name: string, options) => ended(await updateBucket(name, options)));
  remote(buckets.command("delete <name>").description("forget a bucket; its files stay on the disk"))
    .option("-y, --yes", "do not ask")
    .action(async (name: string, options) => ended(await deleteBucket(name, options)));
}

function addTokens(program: Command, ended: Ended): void {
  const tokens = program.command("tokens").description("list, make, renew and end tokens");
  const gather = (name: string, before: readonly string[] = []) => [...before, name];
  remote(tokens.command("list", { isDefault: true }).description("list every token")).action(
    async (options) => ended(await listTokens(options)),
  );
  remote(tokens.command("create").description("make a token for buckets; its secret is shown this once"))
    .option("--bucket <name>", "a bucket it is for; may be given several times", gather)
    .option("--allow <actions>", "what it may do there: read,write,delete,list (default: read)", parseAllow)
    .option("--webdav <bucket>", "a bucket that it may mount and push to: all four", gather)
    .option("--username <name>", "a user name beside the key")
    .option("--password", "also a password: asked for, or taken from NODE_SERVER_NEW_PASSWORD")
    .option("--expires <time>", "when it ends: 90m, 12h, 30d, 4w, 1y (default: never)", parseDuration)
    .action(async (options) => ended(await createToken(options)));
  for (const [name, words, run] of [
    ["delete", "end a token", deleteToken],
    ["roll", "give a token a new secret, shown this once", rollToken],
  ] as const)
    remote(tokens.command(`${name} <key>`).description(words))
      .option("-y, --yes", "do not ask")
      .action(async (key: string, options) => ended(await run(key, options)));
}

/** What every command takes that talks to a server. */
function remote(command: Command): Command {
  return serverOptions(command).option("--json", "print JSON");
}
