import { z } from "zod";
import { Fault } from "../base/fault.ts";
import { damaged } from "./tar-reader.ts";

/** `formatVersion` is the version of the format; docs/decisions/0021-backup.md describes it. A reader refuses higher ones. */
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

/** `newer` is the error for a backup that only a later version can read. */
export function newer(version: string): Fault {
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
