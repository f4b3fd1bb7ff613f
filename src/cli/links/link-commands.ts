import { InvalidArgumentError } from "commander";
import type { CommandRow } from "../command-row.ts";
import { parseCount, parseDuration, remoteJson, yes } from "../options.ts";

/** `linkCommands` are about signed links, which open one file or one folder without a token. */
export const linkCommands: readonly CommandRow[] = [
  {
    name: "link <place>",
    description: "make a link that opens one file of a bucket (BUCKET/PATH) without a token",
    options: [
      ...remoteJson,
      [
        "--expires <time>",
        "when it ends: after 90m, 12h, 30d, 4w or 1y (default: 7d)",
        { parse: parseExpiry },
      ],
      ["--max-downloads <number>", "end it after this many downloads or uploads", { parse: parseCount }],
      ["--password", "protect it with a password, asked for or read from standard input"],
      ["--zip", "send a folder as a ZIP archive"],
      ["--upload", "make a drop box: anyone with the link can add files to the folder, but see none"],
    ],
    notes: `
Anyone with the link can use it until it ends. It ends early if the token that made it is deleted, expires, gets
another secret or password, or loses the permission. \`node-server links BUCKET --all\` ends all links of a bucket.`,
    load: async () => (await import("./link.ts")).link,
  },
  {
    name: "links <bucket>",
    description: "list the links of a bucket that have a limit or a password, or revoke links",
    options: [
      ...remoteJson,
      ["--revoke <id>", "revoke this link"],
      ["--all", "revoke all links of the bucket, including unlisted ones"],
      yes,
    ],
    notes: "\nOther links are not stored: they cannot be listed, or revoked one by one.",
    load: async () => (await import("./links.ts")).links,
  },
  {
    name: "roll-link-secret",
    description: "replace the secret of signed links: all links and previews of all buckets end",
    options: [...remoteJson, yes],
    load: async () => (await import("./roll-link-secret.ts")).rollLinkSecret,
  },
];

/** A link cannot be valid for longer. */
const maxExpiryMs = 366 * 86_400_000;

function parseExpiry(text: string): number {
  const ms = parseDuration(text);
  if (ms <= maxExpiryMs) return ms;
  throw new InvalidArgumentError("a link is valid for at most 366d.");
}
