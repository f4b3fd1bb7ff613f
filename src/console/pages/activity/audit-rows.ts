import { eventOf, type LogEntry, type ServerEvent } from "../../../client/index.ts";
import { commonFolder, parentOf } from "../buckets/path.ts";
import type { AuditEvent, AuditKind } from "./audit-events.ts";

/** One line of the list: a change, or many changes of files by one client in a row. */
export interface AuditRow {
  readonly key: string;
  /** Time of the first change, in Unix milliseconds. */
  readonly at: number;
  /** Undefined for an event of a newer server. */
  readonly event: AuditEvent | undefined;
  readonly entry: LogEntry;
  /** How many changes the row stands for. */
  readonly count: number;
  /** The deepest folder that all these changes were in; undefined if the server has not told it, or there is none. */
  readonly folder: string | undefined;
}

/** Changes of files by one client within this time are one row, as the server's memory counts them. */
const maxRunMs = 60_000;

/** Rows of audit entries, the newest first. `entries` are in the order of time. */
export function auditRows(entries: readonly LogEntry[]): AuditRow[] {
  const rows: AuditRow[] = [];
  const runs = new Map<string, number>();
  for (const entry of entries) {
    const row = toRow(entry);
    const run = runKeyOf(row.event);
    const index = run === undefined ? undefined : runs.get(run);
    const before = index === undefined ? undefined : rows[index];
    if (index !== undefined && before !== undefined && row.at - before.at < maxRunMs)
      rows[index] = {
        ...before,
        count: before.count + row.count,
        folder:
          before.folder === undefined || row.folder === undefined
            ? undefined
            : commonFolder(before.folder, row.folder),
      };
    else {
      if (run !== undefined) runs.set(run, rows.length);
      rows.push(row);
    }
  }
  return rows.reverse();
}

function toRow(entry: LogEntry): AuditRow {
  const event = eventOf(entry);
  const { timestamp, fields } = entry;
  const { count, path, folder } = fields;
  // One entry that counts several changes names the path of the last one.
  const own = typeof count !== "number" && typeof path === "string" ? parentOf(path) : folder;
  return {
    key: JSON.stringify([timestamp, fields.event, fields.token_key, fields.username, fields.path]),
    at: Date.parse(timestamp),
    event: event !== undefined && isAuditEvent(event) ? event : undefined,
    entry,
    count: typeof count === "number" ? count : 1,
    folder: typeof own === "string" ? own : undefined,
  };
}

function isAuditEvent(event: ServerEvent): event is AuditEvent {
  return "address" in event;
}

/** Key of changes that are counted together; undefined for a change that always has its own row. */
function runKeyOf(event: AuditEvent | undefined): string | undefined {
  if (event === undefined || !("path" in event) || event.event === "link.made") return undefined;
  const { event: code, token_key, username, address, bucket } = event;
  return JSON.stringify([code, token_key, username, address, bucket]);
}

const kindsByPrefix: Readonly<Record<string, AuditKind>> = {
  file: "file",
  folder: "file",
  bucket: "bucket",
  deploy: "deploy",
  transfer: "deploy",
  link: "link",
  token: "token",
  sign_in: "sign_in",
};

export function kindOf({ entry }: AuditRow): AuditKind {
  return kindsByPrefix[String(entry.fields.event).split(".", 1)[0] ?? ""] ?? "server";
}

export function bucketOf({ entry: { fields } }: AuditRow): string | undefined {
  return typeof fields.bucket === "string" ? withoutDeploy(fields.bucket) : undefined;
}

/** The bucket of a name such as `site@mwm3k2`, which means a deploy of it. */
export function withoutDeploy(name: string): string {
  return name.split("@", 1)[0] ?? "";
}

export interface AuditFilter {
  /** Empty: all. The same holds for the others. */
  readonly kind: string;
  /** Key of a token, or a user name that no known token has. */
  readonly actor: string;
  readonly bucket: string;
  /** Words that the row must contain, in any case. */
  readonly text: string;
}

/** Whether a row passes the filter. `text` is what the row shows. */
export function passesFilter(
  row: AuditRow,
  filter: AuditFilter,
  shown: { readonly actor: string; readonly text: string },
): boolean {
  if (filter.kind !== "" && kindOf(row) !== filter.kind) return false;
  if (filter.actor !== "" && shown.actor !== filter.actor) return false;
  if (filter.bucket !== "" && bucketOf(row) !== filter.bucket) return false;
  const text = shown.text.toLowerCase();
  return filter.text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
