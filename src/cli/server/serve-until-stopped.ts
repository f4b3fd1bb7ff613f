import { formatAddress, parseAddress } from "../../base/address.ts";
import { Fault, messageOf } from "../../base/fault.ts";
import type { Context } from "../context.ts";

interface Serving {
  /** Where to listen: `ip:port` or `host:port`. */
  readonly listen: string;
  readonly answer: (request: Request) => Promise<Response>;
  /** Called with the address, once requests are answered. */
  readonly onListening: (url: string) => Promise<void>;
}

/** serveUntilStopped answers requests until SIGINT or SIGTERM, and prints a line for each. */
export async function serveUntilStopped(
  ctx: Context,
  { listen, answer, onListening }: Serving,
): Promise<void> {
  const address = parseAddress(listen);
  if (address === undefined)
    throw new Fault("InvalidInput", `--listen must be ip:port or host:port, not ${listen}`);
  const stop = Promise.withResolvers<void>();
  const unhook = ctx.onSignals(["SIGTERM", "SIGINT"], () => stop.resolve());
  const server = listenAt({
    hostname: address.host,
    port: address.port,
    reusePort: false,
    development: false,
    async fetch(request) {
      const response = await answer(request);
      const { pathname, search } = new URL(request.url);
      await ctx.print(
        `${new Date().toISOString()} ${request.method} ${pathname}${search} ${response.status}\n`,
      );
      return response;
    },
    error: (error) => new Response(`500 ${messageOf(error)}\n`, { status: 500 }),
  });
  await onListening(`http://${formatAddress({ host: address.host, port: server.port ?? address.port })}`);
  await stop.promise;
  unhook();
  await server.stop();
}

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
