import { realpathSync } from "node:fs";
import { Fault } from "../../base/fault.ts";
import { build, isCompiled } from "../../build.ts";
import type { Config } from "../../config/schema.ts";
import { Binary } from "../../update/binary.ts";
import { askLatest, isLater, type Tag, tagOrUndefined } from "../../update/release.ts";
import { Updater } from "../../update/updater.ts";
import type { CommandOptions, Outcome } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { type UpdateAllOptions, updateAll } from "../nodes/update-all.ts";
import { connect } from "../remote/remote.ts";
import { openProgress } from "../terminal/progress.ts";
import { openLog, readConfig } from "./open.ts";
import { findRunning, updateRunning } from "./running.ts";

interface UpdateOptions extends CommandOptions, UpdateAllOptions {
  readonly tag?: string;
  readonly all?: boolean;
  readonly check?: boolean;
}

/** Does what `node-server_self_update` does: through the server if it runs, else on the binary itself. */
export async function update(options: UpdateOptions, ctx: Context): Promise<Outcome> {
  const { config: path, tag } = options;
  const given = tag === undefined ? undefined : tagOrUndefined(tag);
  if (tag !== undefined && given === undefined)
    throw new WrongUsage("--tag must read vX.Y.Z, such as v1.2.3");
  if (options.check && (options.all || tag !== undefined))
    throw new WrongUsage("--check cannot be combined with --all or --tag");
  if (options.all) return updateAll(ctx, given ?? (await newestOfCluster(ctx, options)), options);
  for (const name of ["server", "ca", "watch", "allowHttp", "json", "yes"] as const)
    if (options[name] !== undefined)
      if (!(options.check && name === "json"))
        throw new WrongUsage("-s, --ca, --watch, --allow-http, --json and --yes need --all");
  const config = await readConfig(ctx, path);
  if (options.check) return check(config);
  const wanted = given ?? (await newest(ctx, config));
  const running = await findRunning(config);
  if (running !== undefined) {
    ctx.say(`the server at ${running.url} runs ${running.version}`);
    if (running.version === wanted.version) return already(wanted);
    await updateRunning(ctx, running, wanted);
    return { text: `the server runs ${wanted.text} now\n` };
  }
  const isNew = await updateStopped(ctx, config, wanted);
  return isNew
    ? { text: `${wanted.text} is installed; no server was running, so start it\n` }
    : already(wanted);
}

/** Says whether there is a newer release, and changes nothing. */
async function check(config: Config): Promise<Outcome> {
  const { version: newest, text } = await newestTag(config);
  const running = (await findRunning(config))?.version ?? build.cargo_version;
  const newer = isLater(newest, running);
  return {
    json: { current: running, latest: newest, newer },
    text: newer
      ? `${text} is available, ${running} is running; \`node-server update\` updates it\n`
      : `${running} is running; there is no newer release\n`,
  };
}

/** Replaces the binary; false if it is that version already. */
async function updateStopped(ctx: Context, config: Config, tag: Tag): Promise<boolean> {
  const hub = openLog(ctx, "warn");
  const installed = {
    binary: isCompiled ? new Binary(realpathSync(process.execPath)) : undefined,
    version: build.cargo_version,
    triple: build.cargo_target_triple,
  };
  const settings = { releaseUrl: config.release_url, publicKey: config.release_public_key };
  const updater = new Updater(installed, () => settings, hub.logger("server"));
  const shown = openProgress(ctx, `downloading ${tag.text}`);
  return updater.update(tag, ({ bytes, total }) => shown(bytes, total));
}

function already({ text }: Tag): Outcome {
  return { text: `${text} is already running; nothing was done\n` };
}

async function newest(ctx: Context, config: Config): Promise<Tag> {
  const tag = await newestTag(config);
  ctx.say(`the newest release is ${tag.text}`);
  return tag;
}

async function newestTag({ release_url }: Config): Promise<Tag> {
  if (release_url === undefined)
    throw new Fault(
      "Other",
      "release_url is not set in the configuration; set it to the address of the releases",
    );
  return askLatest(release_url);
}

/** The newest release as a node of the cluster knows it: `--all` needs no configuration on this machine. */
async function newestOfCluster(ctx: Context, options: UpdateAllOptions): Promise<Tag> {
  const { latest, problem } = await (await connect(ctx, options)).call("node-server_latest_release");
  const tag = latest === null || problem !== null ? undefined : tagOrUndefined(latest);
  if (tag === undefined)
    throw new Fault(
      "Other",
      `the server does not know the newest release: ${problem ?? "it knows none"}; name one with --tag vX.Y.Z`,
    );
  ctx.say(`the newest release is ${tag.text}`);
  return tag;
}
