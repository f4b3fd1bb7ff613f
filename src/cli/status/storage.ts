import { command } from "../command.ts";
import { remoteJson } from "../options.ts";
import { connect } from "../remote/remote.ts";
import { countText, numberText, sizeText } from "../terminal/quantities.ts";

const barWidth = 30;

/** Prints the size of each table, the largest first, and what files, deploys, the trash and uploads take. */
export const storage = command({
  name: "storage",
  summary: "print the disk space of tables, files, deploys, trash and uploads",
  needs: ["storage_read"],
  options: remoteJson,
  async run(options, ctx) {
    const client = await connect(ctx, options);
    const { tables, total } = await client.call("storage_read");
    const usage = await client.call("storage_usage");
    const { files, deploys, trash, uploads, buckets, counted } = usage;
    const sorted = Object.entries(tables).sort(([a, x], [b, y]) => y - x || a.localeCompare(b));
    const largest = Math.max(1, ...sorted.map(([, bytes]) => bytes));
    const terminal = ctx.out.isTTY === true;
    const row = (name: string, bytes: number) => {
      if (!terminal) return [name, String(bytes)];
      const share = total === 0 ? 0 : (bytes / total) * 100;
      return [
        name,
        sizeText(bytes).padStart(9),
        `${share.toFixed(1).padStart(5)} %`,
        "█".repeat(Math.round((bytes / largest) * barWidth)),
      ];
    };
    return {
      json: { tables: Object.fromEntries(sorted), total, usage },
      table: {
        head: ["TABLE", "     SIZE", "  SHARE", ""],
        rows: sorted.map(([name, bytes]) => row(name, bytes)),
      },
      after: [
        `all tables: ${sizeText(total)}`,
        `files of ${countText(buckets, "bucket")}: ${sizeText(files)}`,
        `deploys that are not published: ${sizeText(deploys)}`,
        `trash: ${sizeText(trash)}`,
        `unfinished uploads: ${sizeText(uploads)}`,
        ...(counted < buckets ? [`${numberText(buckets - counted)} of the buckets are not counted yet`] : []),
      ],
    };
  },
});
