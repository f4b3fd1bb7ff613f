import { formatAddress, parseAddress } from "../../base/address.ts";
import { Fault, messageOf } from "../../base/fault.ts";
import { ReleaseServer } from "../../update/release-server.ts";
import { exitCodes } from "../command.ts";
import type { Context } from "../context.ts";

function listenAt(
  options: Parameters<typeof Bun.serve>[0] & { readonly hostname: string; readonly port: number },
) {
  try {
    return Bun.serve(options);
  } catch (error) {
    const shown = formatAddress({ host: options.hostname, port: options.port });
    throw new Fault("IoError", `cannot listen on ${shown}: ${messageOf(error)}`);
  }
}

/** Serves a folder of releases at the addresses that self-update requests. */
export async function releaseServer(
  { folder, listen }: { readonly folder: string; readonly listen: string },
  ctx: Context,
): Promise<number> {
  const address = parseAddress(listen);
  if (address === undefined)
    throw new Fault("InvalidInput", `--listen must be ip:port or host:port, not ${listen}`);
  const releases = new ReleaseServer(ctx.path(folder));
  const tags = await releases.tags().catch((error: unknown) => {
    throw new Fault("IoError", `${folder} cannot be read: ${messageOf(error)}`);
  });
  const server = listenAt({
    hostname: address.host,
    port: address.port,
    reusePort: false,
    development: false,
    async fetch(request) {
      const response = await releases.answer(request);
      const { pathname, search } = new URL(request.url);
      await ctx.print(
        `${new Date().toISOString()} ${request.method} ${pathname}${search} ${response.status}\n`,
      );
      return response;
    },
    error: (error) => new Response(`500 ${messageOf(error)}\n`, { status: 500 }),
  });
  const shown = formatAddress({ host: address.host, port: server.port ?? address.port });
  await ctx.print(`releases ${tags.join(", ") || "(none yet)"} at http://${shown}\n`);
  const stop = Promise.withResolvers<void>();
  const unhook = ctx.onSignals(["SIGTERM", "SIGINT"], () => stop.resolve());
  await stop.promise;
  unhook();
  await server.stop();
  return exitCodes.done;
}
