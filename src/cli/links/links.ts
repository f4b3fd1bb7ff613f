import { visible } from "../../base/visible-text.ts";
import { exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { connect, type RemoteOptions } from "../remote/remote.ts";
import { columns } from "../terminal/columns.ts";
import { confirm } from "../terminal/confirm.ts";
import { secondText } from "../terminal/quantities.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";

export interface LinksOptions extends RemoteOptions {
  readonly json?: boolean;
  readonly revoke?: string;
  readonly all?: boolean;
  readonly yes?: boolean;
}

/** Lists the stored links of a bucket, or revokes one or all. */
export async function links(name: string, options: LinksOptions, ctx: Context): Promise<number> {
  const { revoke: id, all, json } = options;
  if (id !== undefined && all) throw new WrongUsage("give --revoke ID or --all, not both");
  const client = await connect(ctx, options);
  if (id !== undefined || all) {
    if (all) await confirm(ctx, `All links of the bucket ${visible(name)} will end.`, options.yes);
    const result = await client.call("static-bucket_unlink", { name, id });
    if (json) await ctx.print(`${JSON.stringify(result)}\n`);
    else ctx.say(all ? `All links of ${visible(name)} are revoked.` : "The link is revoked.");
    return exitCodes.done;
  }
  const stored = await client.call("static-bucket_links", { name });
  if (json) await ctx.print(`${JSON.stringify(stored, null, 2)}\n`);
  else
    await ctx.print(
      columns(
        ctx,
        ["ID", "KIND", "PATH", "USED", "PASSWORD", "MADE BY", "ENDS"],
        stored.map(({ id, kind, path, by, expires, password, max_downloads: max, downloads }) => [
          id,
          kind,
          visible(kind !== "download" ? `${path}/` : path),
          max === undefined ? "-" : `${downloads ?? 0} of ${max}`,
          password ? "yes" : "no",
          by,
          secondText(expires),
        ]),
      ),
    );
  return exitCodes.done;
}
