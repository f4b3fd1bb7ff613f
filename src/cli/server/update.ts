import { realpathSync } from "node:fs";
import { Fault } from "../../base/fault.ts";
import { build, isCompiled } from "../../build.ts";
import type { Config } from "../../config/schema.ts";
import { parseFilter } from "../../log/filter.ts";
import { LogHub } from "../../log/hub.ts";
import { TerminalSink } from "../../log/terminal.ts";
import { Binary } from "../../update/binary.ts";
import { askLatest } from "../../update/latest-release.ts";
import { type Tag, tagOrUndefined } from "../../update/release.ts";
import { Updater } from "../../update/updater.ts";
import { type CommandOptions, exitCodes } from "../command.ts";
import { type UpdateAllOptions, updateAll } from "../nodes/update-all.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";
import { readConfig } from "./open.ts";
import { openProgress } from "./progress.ts";
import { findRunning, updateRunning } from "./running.ts";

interface UpdateOptions extends CommandOptions, UpdateAllOptions {
  readonly tag?: string;
  readonly all?: boolean;
}

/** Does what `node-server_self_update` does: through the server if it runs, else on the binary itself. */
export async function update(options: UpdateOptions): Promise<number> {
  const { config: path, tag } = options;
  const given = tag === undefined ? undefined : tagOrUndefined(tag);
  if (tag !== undefined && given === undefined)
    throw new WrongUsage("--tag must read vX.Y.Z, such as v1.2.3");
  if (options.all) return updateAll(given ?? (await newest(await readConfig(path))), options);
  for (const name of ["server", "ca", "watch", "allowHttp", "json", "yes"] as const)
    if (options[name] !== undefined)
      throw new WrongUsage("-s, --ca, --watch, --allow-http, --json and --yes go with --all");
  const config = await readConfig(path);
  const wanted = given ?? (await newest(config));
  const running = await findRunning(config);
  if (running !== undefined) {
    process.stderr.write(`the server at ${running.url} runs ${running.version}\n`);
    if (running.version === wanted.version) return already(wanted);
    await updateRunning(running, wanted, process.env);
    process.stdout.write(`the server runs ${wanted.text} now\n`);
    return exitCodes.done;
  }
  return (await updateStopped(config, wanted)) ? exitCodes.done : already(wanted);
}

async function updateStopped(config: Config, tag: Tag): Promise<boolean> {
  const hub = new LogHub();
  hub.attach(new TerminalSink(parseFilter("warn")));
  const installed = {
    binary: isCompiled ? new Binary(realpathSync(process.execPath)) : undefined,
    version: build.cargo_version,
    triple: build.cargo_target_triple,
  };
  const settings = { releaseUrl: config.release_url, publicKey: config.release_public_key };
  const updater = new Updater(installed, () => settings, hub.logger("server"));
  const shown = openProgress(`downloading ${tag.text}`);
  if (!(await updater.update(tag, ({ bytes, total }) => shown(bytes, total)))) return false;
  process.stdout.write(`${tag.text} is in place; no server was running, so start it\n`);
  return true;
}

function already({ text }: Tag): number {
  process.stdout.write(`${text} is what runs already; nothing was done\n`);
  return exitCodes.done;
}

async function newest({ release_url }: Config): Promise<Tag> {
  if (release_url === undefined)
    throw new Fault(
      "Other",
      "release_url is not set in the configuration; set it to the address of the releases",
    );
  const tag = await askLatest(release_url);
  process.stderr.write(`the newest release is ${tag.text}\n`);
  return tag;
}
