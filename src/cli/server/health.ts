import { Fault } from "../../base/fault.ts";
import { visibleLines } from "../../base/visible-text.ts";
import { type Fetch, toUnreachable, type Unreachable } from "../../client/index.ts";
import type { CommandOptions, Outcome } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { isUnixAddress, toUnixAddress, unixClientUrl } from "../remote/addresses.ts";
import { explain } from "../remote/explain.ts";
import { fetchFor, readCa } from "../remote/remote.ts";
import { readConfig } from "./open.ts";
import { serverOf } from "./running.ts";

/** Shorter than the time limits of the usual probes, so that the reason is printed. */
const healthTimeoutMs = 3000;
/** Longer than the server asks the database and a remote store, which takes up to 5 s. */
const readyTimeoutMs = 10_000;

interface HealthOptions extends CommandOptions {
  readonly url?: string;
  /** Asks whether the server can do its work, not only whether it runs. */
  readonly ready?: boolean;
  /** A file with the certificates that the server's own is checked against. */
  readonly ca?: string;
}

/**
 * Asks a server for its health, for images without curl: 0 if it is well, else 1, which are the only codes that Docker knows.
 * Without a URL it is the server of the configuration.
 */
export async function health({ url, ...options }: HealthOptions, ctx: Context): Promise<Outcome> {
  if (url === undefined && options.ca !== undefined)
    throw new WrongUsage("--ca needs an address; the certificate of the configuration is always trusted");
  const server = url === undefined ? await configured(ctx, options.config) : given(ctx, url, options.ca);
  const address = addressOf(server.client, options.ready ? "/node/ready" : "/node/health");
  const timeoutMs = options.ready ? readyTimeoutMs : healthTimeoutMs;
  const { status, text } = await ask(address, server, timeoutMs);
  if (status < 200 || status > 299)
    throw new Fault("Other", `${server.shown(address)} answers ${status}${text === "" ? "" : `: ${text}`}`);
  return { text: `${visibleLines(text)}\n` };
}

interface HealthTarget {
  /** The URL for `fetch`. */
  readonly client: string;
  readonly fetch: Fetch;
  /** The address as messages show it. */
  shown(address: string): string;
  /** Says why nothing answers. */
  explain(error: Unreachable): string | Promise<string>;
}

async function configured(ctx: Context, path: string): Promise<HealthTarget> {
  const { url, access } = serverOf(await readConfig(ctx, path));
  return {
    client: url,
    fetch: access.fetch,
    shown: (address) => address,
    explain: ({ message }) => message,
  };
}

function given(ctx: Context, address: string, ca: string | undefined): HealthTarget {
  const isUnix = isUnixAddress(address);
  const url = isUnix ? toUnixAddress(ctx, address) : address;
  const fetch = fetchFor(url, ca === undefined ? undefined : readCa(ctx, ca));
  return {
    client: isUnix ? unixClientUrl(url) : url,
    fetch,
    shown: (address) => (isUnix ? url : address),
    explain: (error) => explain(error, { url, fetch }),
  };
}

/** Returns the address to ask: the URL itself if it has a path. */
function addressOf(base: string, path: string): string {
  if (base.startsWith(unixClientUrl(""))) return base + path;
  if (!URL.canParse(base) || !/^https?:$/.test(new URL(base).protocol))
    throw new WrongUsage(
      `${base} is not the address of a server; write it as http://127.0.0.1:2211 or unix:/path/node.sock`,
    );
  const url = new URL(base);
  if (url.pathname === "/") url.pathname = path;
  return url.href;
}

async function ask(address: string, { fetch, shown, explain }: HealthTarget, timeoutMs: number) {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(address, { signal, redirect: "manual" });
    return { status: response.status, text: (await response.text()).trim().slice(0, 500) };
  } catch (error) {
    if (signal.aborted)
      throw new Fault("Other", `${shown(address)} does not answer within ${timeoutMs / 1000} s`);
    throw new Fault("Other", await explain(toUnreachable(address, error)));
  }
}
