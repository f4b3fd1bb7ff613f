import { Fault } from "../../base/fault.ts";
import { toUnreachable } from "../../client/unreachable.ts";
import { type CommandOptions, exitCodes } from "../command.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";
import { readConfig } from "./open.ts";
import { type ServerAccess, serverOf } from "./running.ts";

/** Shorter than the time limits of the usual probes, so that the reason is printed. */
const timeoutMs = 3000;

export interface HealthOptions extends CommandOptions {
  /** Asks whether the server can do its work, not only whether it runs. */
  readonly ready?: boolean;
}

/**
 * Asks a server for its health, for images without curl: 0 if it is well, else 1, which are the only codes that Docker knows.
 * Without a URL it is the server of the configuration.
 */
export async function health(url: string | undefined, options: HealthOptions): Promise<number> {
  const { url: base, access } =
    url === undefined ? serverOf(await readConfig(options.config)) : { url, access: { fetch } };
  const address = addressOf(base, options.ready ? "/node/ready" : "/node/health");
  const { status, text } = await ask(address, access);
  if (status < 200 || status > 299)
    throw new Fault("Other", `${address} answers ${status}${text === "" ? "" : `: ${text}`}`);
  process.stdout.write(`${text}\n`);
  return exitCodes.done;
}

/** Returns the address to ask: the URL itself if it has a path. */
function addressOf(base: string, path: string): string {
  if (!URL.canParse(base) || !/^https?:$/.test(new URL(base).protocol))
    throw new WrongUsage(`${base} is not the address of a server; write it as http://127.0.0.1:2211`);
  const url = new URL(base);
  if (url.pathname === "/") url.pathname = path;
  return url.href;
}

async function ask(address: string, { fetch: request }: Pick<ServerAccess, "fetch">) {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await request(address, { signal, redirect: "manual" });
    return { status: response.status, text: (await response.text()).trim().slice(0, 500) };
  } catch (error) {
    if (signal.aborted) throw new Fault("Other", `${address} does not answer within ${timeoutMs / 1000} s`);
    throw new Fault("Other", toUnreachable(address, error).message);
  }
}
