import { Fault } from "../../base/fault.ts";
import { jsonLine } from "../../base/json.ts";
import { explainTargets } from "../../config/problem.ts";
import { parseFilter } from "../../log/filter.ts";
import { formatLine } from "../../log/terminal.ts";
import { exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { connect } from "../remote/remote.ts";
import { isColoured } from "../terminal/colour.ts";
import { untilStopped } from "../terminal/interrupt.ts";
import { type FollowOptions, followLog } from "./follow-node.ts";
import { chosen, defaultFilter, type LogsOptions, logsOfAll } from "./logs-of-all.ts";

/**
 * Prints the entries that the server keeps in memory, and with `--follow` the new ones; with `--all` those of every node of its
 * cluster.
 */
export async function logs(options: LogsOptions, ctx: Context): Promise<number> {
  const { filter, json } = options;
  if (filter !== undefined) checkFilter(ctx, filter);
  if (options.all) return logsOfAll(ctx, options);
  if (options.allowHttp) throw new WrongUsage("--allow-http needs --all");
  const client = await connect(ctx, options);
  const coloured = isColoured(ctx);
  const show: FollowOptions["show"] = (entries) =>
    ctx.print(entries.map((entry) => (json ? jsonLine(entry) : `${formatLine(entry, coloured)}\n`)).join(""));
  await untilStopped(ctx, async ({ signal }) => {
    if (options.follow) {
      // A stream begins with what the server keeps.
      let isFirst = true;
      await followLog(client, {
        log_filter: filter ?? defaultFilter,
        signal,
        show: async (entries) => {
          const some = isFirst ? chosen(ctx, entries, options) : entries;
          isFirst = false;
          await show(some);
        },
        say: (line) => ctx.say(`node-server: ${line}`),
      });
    } else
      await show(chosen(ctx, await client.call("log_list", { log_filter: filter }, { signal }), options));
  });
  return exitCodes.done;
}

function checkFilter(ctx: Context, text: string): void {
  try {
    const why = explainTargets(parseFilter(text));
    if (why !== undefined) ctx.say(`warning: --filter ${why}`);
  } catch (error) {
    throw error instanceof Fault ? new WrongUsage(error.detail) : error;
  }
}
