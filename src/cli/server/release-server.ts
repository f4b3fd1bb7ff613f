import { Fault, messageOf } from "../../base/fault.ts";
import { ReleaseServer } from "../../update/release-server.ts";
import { exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { serveUntilStopped } from "./serve-until-stopped.ts";

/** Serves a folder of releases at the addresses that self-update requests. */
export async function releaseServer(
  { folder, listen }: { readonly folder: string; readonly listen: string },
  ctx: Context,
): Promise<number> {
  const releases = new ReleaseServer(ctx.path(folder));
  const tags = await releases.tags().catch((error: unknown) => {
    throw new Fault("IoError", `${folder} cannot be read: ${messageOf(error)}`);
  });
  await serveUntilStopped(ctx, {
    listen,
    answer: (request) => releases.answer(request),
    onListening: (url) => ctx.print(`releases ${tags.join(", ") || "(none yet)"} at ${url}\n`),
  });
  return exitCodes.done;
}
