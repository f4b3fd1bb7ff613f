import { InvalidArgumentError } from "commander";
import { visible } from "../../base/visible-text.ts";
import { bounds, type NodeServerClient } from "../../client/index.ts";
import { addressAtHost } from "../buckets/bucket-address.ts";
import { command } from "../command.ts";
import { WrongUsage } from "../errors.ts";
import { parseCount, parseDuration, remoteJson, yes } from "../options.ts";
import { isLoopback, webAddress } from "../remote/addresses.ts";
import { connect } from "../remote/remote.ts";
import { askOrReadSecret, confirm } from "../terminal/ask.ts";
import { minuteText, secondText } from "../terminal/quantities.ts";
import { parseBucketPath } from "./location.ts";

/** Makes a signed link to a file, or with `--upload` or `--zip` to a folder. */
export const link = command({
  name: "link <place>",
  summary: "make a link that opens one file of a bucket (BUCKET/PATH) without a token",
  needs: ["static-bucket-file_link"],
  options: [
    ...remoteJson,
    ["--expires <time>", "when it ends: after 90m, 12h, 30d, 4w or 1y (default: 7d)", { parse: parseExpiry }],
    ["--max-downloads <number>", "end it after this many downloads or uploads", { parse: parseCount }],
    ["--password", "protect it with a password, asked for or read from standard input"],
    ["--note <text>", "what people read before the download, or on the page of a drop box"],
    ["--zip", "send a folder as a ZIP archive"],
    ["--upload", "make a drop box: anyone with the link can add files to the folder, but see none"],
  ],
  notes: `
Anyone with the link can use it until it ends. It ends early if the token that made it is deleted, expires, gets
another secret or password, or loses the permission. \`node-server links BUCKET --all\` ends all links of a bucket.`,
  async run({ place: location, ...options }, ctx) {
    const { bucket: name, path } = parseBucketPath(location);
    const client = await connect(ctx, options);
    const asked = { what: "password", question: "Password of the link: " };
    const password = options.password ? await askOrReadSecret(ctx, asked) : undefined;
    const made = await client.call("static-bucket-file_link", {
      name,
      path,
      expires_in: options.expires === undefined ? undefined : Math.floor(options.expires / 1000),
      max_downloads: options.maxDownloads,
      password,
      note: options.note,
      upload: options.upload,
      zip: options.zip,
    });
    const { host, public_address: publicAddress } = made;
    const url = addressFor(client, host, made.address);
    const json = { ...made, url };
    if (options.json) return { json };
    if (host === undefined && URL.canParse(url) && isLoopback(new URL(url).hostname))
      ctx.say(
        "note: this address works on this machine only; log in with the server's public name to make links for others",
      );
    if (publicAddress !== undefined)
      ctx.say(
        `note: ${publicNote(options)} at ${webAddress(client.url, publicAddress)}, because the bucket is public`,
      );
    const revoke = made.id === undefined ? "" : `; \`node-server links ${name} --revoke ${made.id}\` ends it`;
    ctx.say(`It ends ${minuteText(made.expires)} UTC${revoke}.`);
    return { json, text: `${url}\n` };
  },
});

function parseExpiry(text: string): number {
  const ms = parseDuration(text);
  if (ms <= bounds.maxLinkSeconds * 1000) return ms;
  throw new InvalidArgumentError(`a link is valid for at most ${bounds.maxLinkSeconds / 86_400}d.`);
}

/** What everybody can do without the link. */
function publicNote({ upload, zip }: { readonly upload?: boolean; readonly zip?: boolean }): string {
  if (upload) return "everybody can read the uploaded files";
  return zip ? "everybody can read the files of the folder" : "everybody can read the file";
}

/** The address to send to people: at the bucket's own host name if it has one. */
function addressFor({ url }: NodeServerClient, host: string | undefined, address: string): string {
  return host === undefined ? webAddress(url, address) : addressAtHost(url, host, address);
}

/** Lists the stored links of a bucket, or revokes one or all. */
export const links = command({
  name: "links <bucket>",
  summary: "list the links of a bucket, or revoke one or all",
  needs: ["static-bucket_links"],
  options: [
    ...remoteJson,
    ["--revoke <id>", "revoke this link"],
    ["--all", "revoke all links of the bucket, including unlisted ones"],
    yes,
  ],
  notes: `
A link is "used_up" after its last download, and "ended" if the token that made it was deleted, has got another secret
or password, or lost the permission. Links of older versions without a limit, a password or a note are not listed:
only --all ends them.`,
  async run({ bucket: name, ...options }, ctx) {
    const { revoke: id, all } = options;
    if (id !== undefined && all) throw new WrongUsage("give --revoke ID or --all, not both");
    const client = await connect(ctx, options);
    if (id !== undefined || all) {
      if (all) await confirm(ctx, `All links of the bucket ${visible(name)} will end.`, options.yes);
      const result = await client.call("static-bucket_unlink", { name, id });
      ctx.say(all ? `All links of ${visible(name)} are revoked.` : "The link is revoked.");
      return { json: result };
    }
    const stored = await client.call("static-bucket_links", { name });
    return {
      json: stored,
      table: {
        head: ["ID", "KIND", "PATH", "STATE", "USED", "PASSWORD", "MADE BY", "ENDS"],
        rows: stored.map(
          ({ id, kind, path, state, by, expires, password, max_downloads: max, downloads }) => [
            id,
            kind,
            kind !== "download" ? `${path}/` : path,
            state,
            max === undefined ? String(downloads) : `${downloads} of ${max}`,
            password ? "yes" : "no",
            by,
            secondText(expires),
          ],
        ),
      },
    };
  },
});

/** Replaces the secret of signed links, which ends all of them. */
export const rollLinkSecret = command({
  name: "roll-link-secret",
  summary: "replace the secret of signed links: all links and previews of all buckets end",
  needs: ["node-server_roll_link_secret"],
  options: [...remoteJson, yes],
  async run(options, ctx) {
    const client = await connect(ctx, options);
    await confirm(ctx, "All links and previews of all buckets will end.", options.yes);
    const result = await client.call("node-server_roll_link_secret", {});
    ctx.say("All links and previews of all buckets have ended.");
    return { json: result };
  },
});
