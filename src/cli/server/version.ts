import { build } from "../../build.ts";
import { exitCodes } from "../command.ts";
import type { Context } from "../context.ts";

export async function version({ json }: { readonly json?: boolean }, ctx: Context): Promise<number> {
  const line = `node-server ${build.cargo_version} (${build.cargo_target_triple}, commit ${build.git_commit_sha.slice(0, 12)}, built ${build.build_time})`;
  await ctx.print(`${json ? JSON.stringify(build, null, 2) : line}\n`);
  return exitCodes.done;
}
