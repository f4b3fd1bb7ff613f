import { eventOf, type LogEntry, type ServerEvent, type Token } from "../../../client/index.ts";
import { bytes, listed, time } from "../../format.ts";
import { t } from "../../text/text.ts";
import { visibleText } from "../../ui/visible-text.ts";
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
  session: "token",
  second_factor: "token",
  sign_in: "sign_in",
};

export function kindOf({ entry }: AuditRow): AuditKind {
  return kindsByPrefix[String(entry.fields.event).split(".", 1)[0] ?? ""] ?? "server";
}

const serverEvents = ["config", "certificate", "sql", "update"];

/** What the codes of the events of a kind begin with. */
export function eventsOf(kind: string): readonly string[] {
  if (kind === "server") return serverEvents;
  return Object.keys(kindsByPrefix).filter((prefix) => kindsByPrefix[prefix] === kind);
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

/** The token behind a change. */
export interface Actor {
  /** Key of the token; its user name when the key is not known; empty when nobody is named. */
  readonly id: string;
  /** Its name, else its user name, else its key. */
  readonly label: string;
  readonly isSuper: boolean;
  /** Whether the server still has it. Unknown tokens of callers that may not list tokens count as absent. */
  readonly exists: boolean;
}

/** Known tokens, by key and by user name. */
export class Actors {
  readonly #byKey = new Map<string, Actor>();
  readonly #byUsername = new Map<string, Actor>();

  constructor(tokens: readonly Token[]) {
    for (const { token_key, username, name, super: isSuper = false } of tokens) {
      const actor = { id: token_key, label: name ?? username ?? token_key, isSuper, exists: true };
      this.#byKey.set(token_key, actor);
      if (username !== null) this.#byUsername.set(username, actor);
    }
  }

  /** The key and the user name of a token: either may be in an entry. */
  namesOf(id: string): string[] {
    const usernames = [...this.#byUsername].filter(([, actor]) => actor.id === id).map(([name]) => name);
    return [id, ...usernames];
  }

  byKey(key: string): Actor {
    return this.#byKey.get(key) ?? unknownActor(key);
  }

  of({ entry: { fields } }: AuditRow): Actor {
    const { token_key, username } = fields;
    if (typeof token_key === "string") return this.byKey(token_key);
    if (typeof username !== "string") return unknownActor("");
    return this.#byUsername.get(username) ?? unknownActor(username);
  }
}

function unknownActor(id: string): Actor {
  return { id, label: id, isSuper: false, exists: false };
}

/** What happened, in words. An event of a newer server keeps the server's own message. */
export function labelOf({ event, entry, count }: AuditRow): string {
  if (event === undefined) return entry.message;
  const { events, manyEvents } = t.activity;
  return (count > 1 ? manyEvents[event.event] : undefined) ?? events[event.event];
}

/** Facts beside the label and the object of a change, for the person who reads them. */
export function detailsOf({ event, count }: AuditRow): readonly string[] {
  if (event === undefined) return [];
  const details = count > 1 && "path" in event ? [t.frame.countItems(count)] : singleDetails(event);
  const failures = "failures" in event ? event.failures : undefined;
  return failures === undefined ? details : [...details, t.activity.failures(failures)];
}

function singleDetails(event: AuditEvent): readonly string[] {
  switch (event.event) {
    case "file.written":
      return [bytes(event.bytes)];
    case "file.moved":
    case "file.copied":
      return [t.activity.to(visibleText(event.to))];
    case "file.restored":
      return event.from === undefined ? [] : [t.activity.restoredFrom(visibleText(event.from))];
    case "file.purged":
      return [t.activity.versions(event.versions)];
    case "bucket.created":
    case "bucket.updated":
      return Object.entries(event.settings).map(([key, value]) =>
        t.activity.settingIs(settingName(key), settingText(value)),
      );
    case "transfer.begun":
      return [visibleText(event.what)];
    case "link.made":
      return [t.activity.linkKinds[event.kind], t.activity.until(time(event.expires))];
    case "link.used":
      return [t.activity.linkKinds[event.kind]];
    case "deploy.filled":
      return [event.deploy, t.activity.taken(event.taken)];
    case "deploy.shown":
      return [event.deploy, t.activity.until(time(event.expires))];
    case "deploy.published":
    case "deploy.rolled_back":
      return event.replaced === undefined
        ? [event.deploy]
        : [event.deploy, t.activity.replaced(event.replaced)];
    case "deploy.begun":
    case "deploy.closed":
    case "deploy.deleted":
      return [event.deploy];
    case "sql.executed":
      return [
        visibleText(event.statements.join("; ")),
        ...(event.outcome === "failed" ? [t.activity.sqlFailed] : []),
      ];
    case "update.requested":
      return [visibleText(event.tag)];
    case "session.begun":
      return event.device === undefined ? [] : [visibleText(event.device)];
    case "token.secret_rolled":
      return event.by === undefined ? [] : [t.activity.onTheMachine];
    case "sign_in.failed":
      return [
        event.link === undefined ? t.activity.reasons[event.reason] : t.activity.linkPassword,
        ...(event.count > 1 ? [t.activity.times(event.count)] : []),
      ];
    default:
      return [];
  }
}

/** A setting of a newer server keeps its key. */
function settingName(key: string): string {
  const names: Readonly<Record<string, string>> = t.activity.settings;
  return names[key] ?? key;
}

function settingText(value: unknown): string {
  if (typeof value === "boolean") return value ? t.activity.yes : t.activity.no;
  const text = Array.isArray(value) ? listed(value.map(String)) : value;
  return visibleText(typeof text === "string" ? text : JSON.stringify(text));
}
