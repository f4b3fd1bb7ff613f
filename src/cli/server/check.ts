import { shownDatabase } from "../../base/database-url.ts";
import { overriddenKeys } from "../../config/environment.ts";
import { formatProblem } from "../../config/problem.ts";
import type { Config } from "../../config/schema.ts";
import { type DatabaseState, probeDatabase } from "../../db/probe.ts";
import { LogHub } from "../../log/hub.ts";
import { inspectCertificate, preflight, proveFiles, proveKeys } from "../../preflight.ts";
import { type CommandOptions, exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { interruptible } from "../terminal/interrupt.ts";
import { checkFiles } from "./check-files.ts";
import { loadGivenConfig } from "./open.ts";

const states: Readonly<Record<DatabaseState, string>> = {
  missing: "does not exist yet; the first start creates it",
  empty: "is empty; the first start fills it",
  ready: "can be used",
};

export interface CheckOptions extends CommandOptions {
  readonly connect?: boolean;
  readonly files?: boolean;
  readonly repair?: boolean;
  readonly claim?: boolean;
  readonly content?: boolean;
  readonly json?: boolean;
}

/** Reads a configuration as `serve` would, opens what it names, and changes nothing but what `--repair` and `--claim` ask for. */
export function check(options: CheckOptions, ctx: Context): Promise<number> {
  const {
    files = false,
    repair = false,
    claim = false,
    content = false,
    json = false,
    config: path,
  } = options;
  if (!files && (repair || claim || content || json))
    throw new WrongUsage("--repair, --claim, --content and --json need --files");
  return interruptible(ctx, "ended", async (signal) => {
    const config = await checkConfig(ctx, { ...options, isQuiet: json });
    if (!files) return exitCodes.done;
    return checkFiles(ctx, { config, configPath: path, repair, claim, content, json, signal });
  });
}

async function checkConfig(
  ctx: Context,
  { config: path, connect, isQuiet }: CheckOptions & { readonly isQuiet: boolean },
): Promise<Config> {
  const { config, warnings, overrides } = await loadGivenConfig(ctx, path, {
    inspect: preflight(ctx.path(path), (config) => inspectCertificate(config, ctx.clock.now())),
  });
  for (const warning of warnings) ctx.say(`warning: ${formatProblem(warning)}`);
  if (connect) {
    const probed = await probeDatabase(config.database, new LogHub());
    const store = await proveFiles(config, probed);
    proveKeys(config, probed.sealedKeys);
    if (!isQuiet) {
      await ctx.print(
        `The database ${shownDatabase(config.database.database_url)} ${states[probed.state]}.\n`,
      );
      if (store !== undefined) await ctx.print(`The store ${store} can be used.\n`);
    }
  }
  if (isQuiet) return config;
  for (const { key, from } of overriddenKeys(overrides, config, ctx.env))
    await ctx.print(`${key} has the value of ${from}.\n`);
  await ctx.print(`${path} is a valid configuration.\n`);
  return config;
}
