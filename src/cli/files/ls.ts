import type { BucketEntry, NodeServerClient } from "../../client/index.ts";
import { command, type Outcome } from "../command.ts";
import type { Context } from "../context.ts";
import { remoteJson } from "../options.ts";
import { connect } from "../remote/remote.ts";
import { secondText } from "../terminal/quantities.ts";
import { sizeCell } from "../terminal/table.ts";
import { BucketReader } from "../transfer/remote-tree.ts";
import { type BucketPath, filesBelow, parseBucketPath, pathIn, requireEntry } from "./location.ts";

/** ListRow is a line of `ls`, as `--json` prints it. */
interface ListRow {
  readonly path: string;
  readonly kind: "file" | "folder";
  /** In bytes; null for a folder. */
  readonly size: number | null;
  /** Unix milliseconds, to the second. */
  readonly modified: number;
}

/** Lists a folder of a bucket, or with `--recursive` every file below it; without an argument, the buckets. */
export const ls = command({
  name: "ls [place]",
  summary: "list a folder of a bucket (BUCKET/PATH); without an argument, the buckets",
  needs: ["static-bucket-file_list"],
  options: [...remoteJson, ["-r, --recursive", "list every file below it"]],
  async run({ place: location, ...options }, ctx) {
    const at = location === undefined ? undefined : parseBucketPath(location);
    const client = await connect(ctx, options);
    if (at === undefined) return listBuckets(ctx, client);
    const found = options.recursive ? await listBelow(client, at) : await listFolder(client, at);
    return {
      json: found,
      table: {
        head: ["SIZE", "MODIFIED", "PATH"],
        rows: found.map(({ path, kind, size, modified }) => [
          size === null ? "-" : sizeCell(ctx, size),
          secondText(modified),
          kind === "folder" ? `${path}/` : path,
        ]),
      },
    };
  },
});

async function listBuckets(ctx: Context, client: NodeServerClient): Promise<Outcome> {
  const { openBuckets } = await import("../buckets/open-buckets.ts");
  const { names, patterns } = await openBuckets(client);
  if (patterns.length > 0)
    ctx.say(`note: this token also opens buckets that only the Super Token can list: ${patterns.join(", ")}`);
  return { json: names, table: { head: ["BUCKET"], rows: names.map((name) => [`${name}/`]) } };
}

async function listFolder(client: NodeServerClient, at: BucketPath): Promise<ListRow[]> {
  const entry = await requireEntry(client, at);
  if (!entry.folder) return [toListed(entry, at.path)];
  const entries = await new BucketReader(client, at.bucket).list(at.path);
  return entries.map((entry) => toListed(entry, pathIn(at.path, entry.name)));
}

async function listBelow(client: NodeServerClient, at: BucketPath): Promise<ListRow[]> {
  const entry = await requireEntry(client, at);
  if (!entry.folder) return [toListed(entry, at.path)];
  const files = await filesBelow(client, at);
  return files.map(({ path, size, mtime }) => ({ path, kind: "file", size, modified: mtime }));
}

function toListed({ folder, size, modified }: BucketEntry, path: string): ListRow {
  return { path, kind: folder ? "folder" : "file", size: size ?? null, modified: modified.getTime() };
}
