import { jsonLine } from "../../base/json.ts";
import type { AuditEntry, NodeServerClient } from "../../client/index.ts";
import { formatLine } from "../../log/terminal.ts";
import { exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { connect, type RemoteOptions } from "../remote/remote.ts";
import { isColoured } from "../terminal/colour.ts";
import { untilStopped } from "../terminal/interrupt.ts";
import { csvText } from "../terminal/table.ts";

interface ActivityOptions extends RemoteOptions {
  readonly all?: boolean;
  readonly lines?: number;
  /** Only entries of this many last milliseconds. */
  readonly since?: number;
  readonly bucket?: string;
  readonly by?: readonly string[];
  readonly event?: readonly string[];
  readonly csv?: boolean;
  readonly json?: boolean;
}

const defaultLines = 100;
/** As many as one call returns. */
const pageSize = 1000;

/** Prints entries of the audit trail, the oldest first. */
export async function activity(options: ActivityOptions, ctx: Context): Promise<number> {
  if (options.csv && options.json) throw new WrongUsage("give --csv or --json, not both");
  if (options.all && options.lines !== undefined) throw new WrongUsage("give --all or --lines, not both");
  const client = await connect(ctx, options);
  await untilStopped(ctx, async ({ signal }) => {
    const entries = await read(client, options, { now: ctx.clock.now(), signal });
    if (options.csv) await ctx.print(csvText(columns, entries.map(toRow)));
    else {
      const coloured = isColoured(ctx);
      const lineOf = (entry: AuditEntry) =>
        options.json ? jsonLine(entry) : `${formatLine(entry, coloured)}\n`;
      await ctx.print(entries.map(lineOf).join(""));
    }
  });
  return exitCodes.done;
}

async function read(
  client: NodeServerClient,
  { all, lines = defaultLines, since, bucket, by, event }: ActivityOptions,
  { now, signal }: { readonly now: number; readonly signal: AbortSignal },
): Promise<AuditEntry[]> {
  const max = all ? Number.POSITIVE_INFINITY : lines;
  const filter = {
    bucket,
    by: by && [...by],
    events: event && [...event],
    since: since === undefined ? undefined : now - since,
  };
  const pages: AuditEntry[][] = [];
  for (let left = max; left > 0; ) {
    const limit = Math.min(left, pageSize);
    const before = pages[0]?.[0]?.id;
    const page = await client.call("audit_list", { ...filter, limit, before }, { signal });
    pages.unshift(page);
    left -= page.length;
    if (page.length < limit) break;
  }
  return pages.flat();
}

const columns = ["time", "node", "event", "token_key", "username", "address", "bucket", "path", "more"];

function toRow({ timestamp, node, fields }: AuditEntry): Record<string, unknown> {
  const { event, token_key, username, address, bucket, path, ...more } = fields;
  return { time: timestamp, node, event, token_key, username, address, bucket, path, more };
}
