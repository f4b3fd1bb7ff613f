import { z } from "zod";
import { Fault } from "../base/fault.ts";
import { parseTreePath, type TreePath } from "../buckets/path.ts";
import { checkBucketPath } from "../buckets/record.ts";
import { unknownVersions } from "../db/migrations/migrations.ts";
import { businessTables } from "../db/migrations/tables.ts";
import { damaged, type TarEntry } from "./tar.ts";

/** `formatVersion` is the version of the format; docs/backup-format.md describes it. A reader refuses higher ones. */
export const formatVersion = 1;

export const headerName = "backup.json";
export const manifestName = "manifest.json";
export const configName = "config.toml";
export const databaseFolder = "database/";
export const filesFolder = "files/";

const count = z.int().nonnegative();

/** `headerSchema` is the first member: what the backup is of. */
const headerSchema = z.object({
  format: z.literal(formatVersion),
  node_server: z.string(),
  made_at: z.iso.datetime(),
  server_uuid: z.uuid().nullable(),
  database: z.object({
    kind: z.enum(["sqlite", "postgres"]),
    migrations: z.array(z.object({ version: z.string().min(1), applied_at: z.int() })).min(1),
    tables: z.array(
      z.object({
        name: z.string().min(1),
        columns: z.array(z.string().min(1)).min(1),
        last_id: z.string().regex(/^\d{1,19}$/),
      }),
    ),
    other_tables: z.array(z.string()),
  }),
  /** The buckets whose files are in it; null for a backup without files. */
  buckets: z.array(z.object({ name: z.string(), path: z.string() })).nullable(),
});

export type BackupHeader = z.output<typeof headerSchema>;

/** `manifestSchema` is the last member: size and SHA-256 of every other one, in their order. */
const manifestSchema = z.object({
  members: z.array(
    z.object({ name: z.string().min(1), size: count, sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
  ),
  /** Rows of each table. */
  rows: z.record(z.string(), count),
  /** Number and bytes of the buckets' files. */
  files: z.object({ count, bytes: count }),
  /** What is not in it although it was asked for, and files that changed while they were read; at most `maxNotes`. */
  notes: z.array(z.string()),
});

export type BackupManifest = z.output<typeof manifestSchema>;

/** `parseHeader` throws for another kind of file, and for a format that this version does not know. */
export function parseHeader(bytes: Uint8Array): BackupHeader {
  const value = parseJson(bytes, headerName);
  const format = z.object({ format: z.int(), node_server: z.string() }).safeParse(value);
  if (format.success && format.data.format > formatVersion) throw newer(format.data.node_server);
  return checked(headerSchema, value, headerName);
}

export function parseManifest(bytes: Uint8Array): BackupManifest {
  return checked(manifestSchema, parseJson(bytes, manifestName), manifestName);
}

/** `newer` returns the error for a backup that only a later version can read. */
function newer(version: string): Fault {
  return new Fault(
    "InvalidInput",
    `the backup was made by node-server ${version}, which is newer than this one; update node-server first. Nothing was changed`,
  );
}

function parseJson(bytes: Uint8Array, name: string): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch {
    throw damaged(`its ${name} is not JSON`);
  }
}

function checked<T extends z.ZodType>(schema: T, value: unknown, name: string): z.output<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw damaged(`its ${name} is invalid at ${issue?.path.join(".") || "the top"}`);
}

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

/** `tableOf` returns the table whose rows a member holds. */
export function tableOf({ name }: TarEntry, { database }: BackupHeader): string | undefined {
  if (!name.startsWith(databaseFolder)) return undefined;
  const [, table] = /^([^/]+)\/\d{6,}\.jsonl$/.exec(name.slice(databaseFolder.length)) ?? [];
  return database.tables.find((known) => known.name === table)?.name;
}

/** BucketPath is where a file or folder belongs: a bucket's path below `static_path`, and a path in the bucket. */
interface BucketPath {
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

/** Member is a file or folder on its way into a backup. */
export interface Member extends TarEntry {
  /** The content: exactly `size` bytes. */
  content(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

export function folderMember(name: string, attributes: Pick<TarEntry, "mode" | "modifiedMs">): Member {
  return { ...attributes, name, kind: "folder", size: 0, content: () => [] };
}

export function bytesMember(
  name: string,
  bytes: Uint8Array,
  attributes: Pick<TarEntry, "mode" | "modifiedMs" | "record">,
): Member {
  return { ...attributes, name, kind: "file", size: bytes.length, content: () => [bytes] };
}
