import { InvalidArgumentError } from "commander";
import { permissionNames } from "../../auth/permission.ts";
import type { OptionRow } from "../command-row.ts";
import { gather, parseDuration, remoteJson } from "../options.ts";

export const fileActions = ["read", "write", "delete", "list"] as const;
export type FileAction = (typeof fileActions)[number];

/** `nodeActions` are the permissions on the server itself, which a token holds in scope global. */
export const nodeActions = Object.keys(permissionNames).flatMap((name) =>
  name.startsWith("node.") ? [name.slice("node.".length)] : [],
);

/** `tokenCreation` are the options of `tokens create`. */
export const tokenCreation: readonly OptionRow[] = [
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
];

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
