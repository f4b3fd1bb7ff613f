import { visible } from "../../base/visible-text.ts";
import { command } from "../command.ts";
import { WrongUsage } from "../errors.ts";
import { remoteJson, yes } from "../options.ts";
import { connect } from "../remote/remote.ts";
import { confirm } from "../terminal/ask.ts";
import { secondText } from "../terminal/quantities.ts";

/** Lists the stored links of a bucket, or revokes one or all. */
export const links = command({
  name: "links <bucket>",
  summary: "list the links of a bucket that have a limit or a password, or revoke links",
  needs: ["static-bucket_links"],
  options: [
    ...remoteJson,
    ["--revoke <id>", "revoke this link"],
    ["--all", "revoke all links of the bucket, including unlisted ones"],
    yes,
  ],
  notes: "\nOther links are not stored: they cannot be listed, or revoked one by one.",
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
        head: ["ID", "KIND", "PATH", "USED", "PASSWORD", "MADE BY", "ENDS"],
        rows: stored.map(({ id, kind, path, by, expires, password, max_downloads: max, downloads }) => [
          id,
          kind,
          kind !== "download" ? `${path}/` : path,
          max === undefined ? "-" : `${downloads ?? 0} of ${max}`,
          password ? "yes" : "no",
          by,
          secondText(expires),
        ]),
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
