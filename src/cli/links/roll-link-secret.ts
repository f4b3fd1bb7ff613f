import { exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { connect, type RemoteOptions } from "../remote/remote.ts";
import { confirm } from "../terminal/confirm.ts";

export interface RollLinkSecretOptions extends RemoteOptions {
  readonly json?: boolean;
  readonly yes?: boolean;
}

/** Replaces the secret of signed links, which ends all of them. */
export async function rollLinkSecret(options: RollLinkSecretOptions, ctx: Context): Promise<number> {
  const client = await connect(ctx, options);
  await confirm(ctx, "All links and previews of all buckets will end.", options.yes);
  const result = await client.call("node-server_roll_link_secret", {});
  if (options.json) await ctx.print(`${JSON.stringify(result)}\n`);
  else ctx.say("All links and previews of all buckets have ended.");
  return exitCodes.done;
}
