import { Fault } from "../base/fault.ts";
import { parseTreePath, type TreePath } from "../buckets/path.ts";
import { checkBucketPath } from "../buckets/record.ts";
import { unknownVersions } from "../db/migrations.ts";
import { businessTables } from "../db/tables.ts";
import { type BackupHeader, configName, databaseFolder, filesFolder, newer } from "./manifest.ts";
import type { TarEntry } from "./tar.ts";
import { damaged } from "./tar-reader.ts";

/** `checkHeader` throws for a backup that this version cannot restore, and for buckets that could lead outside of `static_path`. */
export function checkHeader({ node_server, database, buckets }: BackupHeader): void {
  if (unknownVersions(database.migrations.map(({ version }) => version)).length > 0) throw newer(node_server);
  const names = database.tables.map(({ name }) => name);
  if (names.length !== businessTables.length || !businessTables.every((name) => names.includes(name)))
    throw damaged("it does not have the tables of a node-server");
  const paths = (buckets ?? []).map(({ path }) => path);
  for (const path of paths) {
    try {
      checkBucketPath(path);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      throw damaged(`a bucket has the invalid path ${JSON.stringify(path)}`);
    }
    if (paths.some((other) => other !== path && `${other}/`.startsWith(`${path}/`)))
      throw damaged(`the folder of a bucket, ${path}, contains that of another one`);
  }
  if (new Set(paths).size < paths.length) throw damaged("two buckets have the same folder");
}

/** `checkMember` throws for a member that a backup may not contain. */
export function checkMember(entry: TarEntry, header: BackupHeader): void {
  const { name, kind } = entry;
  if (name === configName && kind === "file") return;
  if (kind === "file" && tableOf(entry, header) !== undefined) return;
  if (bucketPathOf(entry, header) !== undefined) return;
  throw damaged(`it contains ${JSON.stringify(name)}, which is not allowed`);
}

/** `tableOf` is the table whose rows a member holds. */
export function tableOf({ name }: TarEntry, { database }: BackupHeader): string | undefined {
  if (!name.startsWith(databaseFolder)) return undefined;
  const [, table] = /^([^/]+)\/\d{6,}\.jsonl$/.exec(name.slice(databaseFolder.length)) ?? [];
  return database.tables.find((known) => known.name === table)?.name;
}

/** BucketPath is where a file or folder belongs: a bucket's path below `static_path`, and a path in the bucket. */
export interface BucketPath {
  readonly bucket: string;
  readonly path: TreePath;
}

/** `bucketPathOf` is undefined for a name that leads into no bucket of the backup. */
export function bucketPathOf(
  { name, kind, size }: TarEntry,
  { buckets }: BackupHeader,
): BucketPath | undefined {
  if (!name.startsWith(filesFolder) || name.endsWith("/") !== (kind === "folder")) return undefined;
  if (kind === "folder" && size !== 0) return undefined;
  const whole = name.slice(filesFolder.length).replace(/\/$/, "");
  const bucket = buckets?.find(({ path }) => whole === path || whole.startsWith(`${path}/`))?.path;
  if (bucket === undefined) return undefined;
  const path = parseTreePath(whole.slice(bucket.length + 1));
  return path === undefined || (path === "" && kind === "file") ? undefined : { bucket, path };
}
