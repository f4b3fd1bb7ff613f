import { z } from "zod";
import { auditEvents } from "./audit-events.ts";
import { clusterEvents } from "./cluster-events.ts";
import type { Level } from "./entry.ts";
import { processEvents } from "./process-events.ts";
import { storeEvents } from "./store-events.ts";

/** EventRow describes one event of the server's own life. */
interface EventRow {
  readonly level: Level;
  readonly description: string;
  /** Fields of the log entry beside `event`. */
  readonly fields: z.ZodObject;
  /**
   * Fields that a terminal leaves out, because the message already contains them; `event` alone by default. Operators search for
   * what docs/operate.md calls `event=…`: those show it.
   */
  readonly hidden?: readonly string[];
}

const nothing = z.object({});
const text = z.string();
const problem = z
  .object({
    file: text.optional(),
    line: z.int().optional(),
    column: z.int().optional(),
    field: text.optional(),
    from: text.optional(),
    why: text,
  })
  .meta({ id: "ConfigProblem" });

/**
 * `events` lists every event of the server's own life, and every change that callers make, that another program may read. The
 * code is `fields.event` of the log entry; the message is for people and may change. Types of the client and the console, and
 * docs/events.md, are generated from this table.
 */
export const events = {
  "server.stopping": {
    level: "INFO",
    description: "The server was asked to stop; it goes on serving for `drain_ms` (`drain_seconds`).",
    fields: z.object({ signal: text, drain_ms: z.int() }),
    hidden: ["event", "signal", "drain_ms"],
  },
  "server.restart_scheduled": {
    level: "INFO",
    description: "An update is in place; the server restarts after this delay.",
    fields: z.object({ delay_ms: z.int() }),
    hidden: [],
  },
  "server.restarting": {
    level: "INFO",
    description: "The server restarts into the binary of an update.",
    fields: nothing,
  },
  "listener.bound": {
    level: "INFO",
    description: "The server accepts connections at `url`.",
    fields: z.object({ url: text, transport: z.enum(["tcp", "unix"]) }),
    hidden: ["event", "url", "transport", "process"],
  },
  "listener.cut_off": {
    level: "WARN",
    description:
      "The server closed `url` (a stop, or a new address) while these HTTP requests, and calls on these WebSockets, had not finished in time; their connections were closed.",
    fields: z.object({ url: text, requests: z.int(), sockets: z.int() }),
    hidden: ["event", "url", "requests", "sockets"],
  },
  ...processEvents,
  "descriptors.exhausted": {
    level: "ERROR",
    description: "No file descriptor is left; new connections wait.",
    fields: z.object({ idle_connections_closed: z.int() }),
  },
  "descriptors.available": {
    level: "INFO",
    description: "File descriptors are available again.",
    fields: nothing,
  },
  "config.applied": {
    level: "INFO",
    description: "A reload changed these keys, and with them these parts of the server.",
    fields: z.object({ path: text, parts: z.array(text), keys: z.array(text) }),
    hidden: ["path", "keys"],
  },
  "config.unchanged": {
    level: "INFO",
    description: "A reload found nothing that changed.",
    fields: z.object({ path: text }),
    hidden: ["path"],
  },
  "config.refused": {
    level: "ERROR",
    description:
      "A reload failed; the server continues with the previous configuration. `problems` lists what is wrong with the file, and `kind` is that of the error (docs/errors.md).",
    fields: z.object({
      path: text,
      reason: text,
      kind: text.optional(),
      problems: z.array(problem).readonly(),
    }),
    hidden: ["reason", "kind", "problems"],
  },
  "config.abandoned": {
    level: "INFO",
    description: "A reload ended early because the server stops.",
    fields: nothing,
  },
  "config.warning": {
    level: "WARN",
    description: "A key is valid, but probably does not do what was intended.",
    fields: z.object({ key: text, why: text, line: z.int().optional(), column: z.int().optional() }),
    hidden: ["event", "why"],
  },
  "config.overridden": {
    level: "INFO",
    description:
      "At the start: `keys` have the values of these environment variables or options (`from`, in the same order), not those in the file.",
    fields: z.object({ keys: z.array(text), from: z.array(text) }),
    hidden: ["event", "keys", "from"],
  },
  "config.recovered": {
    level: "WARN",
    description: "An edit of the configuration that a crash had interrupted was finished.",
    fields: z.object({ path: text }),
  },
  "database.opened": {
    level: "INFO",
    description: "The database is in use.",
    fields: z.object({ config: text, database: text, static_path: text, files: text.optional() }),
  },
  "database.migrated": {
    level: "INFO",
    description: "One migration of the database schema was applied.",
    fields: z.object({ version: text }),
    hidden: ["event", "version"],
  },
  "database.schema_newer": {
    level: "WARN",
    description:
      "A newer version of node-server, `by`, has applied these migrations, which this version does not have but can work with.",
    fields: z.object({ migrations: z.array(text), by: text.optional() }),
    hidden: [],
  },
  "database.schema_refused": {
    level: "ERROR",
    description:
      "Another node has applied a migration that this version cannot work with: the node is not ready until it is updated.",
    fields: z.object({ migration: text, by: text.optional() }),
    hidden: [],
  },
  "database.schema_accepted": {
    level: "INFO",
    description: "The schema of the database is one again that this version can work with.",
    fields: nothing,
  },
  "database.lost": {
    level: "ERROR",
    description: "The database cannot be reached, or its file is missing; calls that need it fail.",
    fields: z.object({ database: text, reason: text }),
    hidden: [],
  },
  "database.restored": {
    level: "INFO",
    description: "The database can be used again.",
    fields: z.object({ database: text, lost_ms: z.int() }),
    hidden: [],
  },
  "database.silent": {
    level: "WARN",
    description: "PostgreSQL did not answer a statement; its connections are replaced.",
    fields: z.object({ answer_timeout_ms: z.int() }),
    hidden: [],
  },
  "database.write_failed": {
    level: "ERROR",
    description: "The database accepts no writes; every change fails.",
    fields: z.object({ reason: text }),
  },
  "database.write_restored": {
    level: "INFO",
    description: "The database accepts writes again.",
    fields: nothing,
  },
  ...storeEvents,
  ...clusterEvents,
  "update.downloading": {
    level: "INFO",
    description: "A release is being downloaded; repeated with the progress, at most once a second.",
    fields: z.object({
      tag: text,
      bytes: z.int().optional(),
      total: z.int().optional(),
      percent: z.int().optional(),
    }),
  },
  "update.testing": {
    level: "INFO",
    description: "The downloaded binary is started once as a test.",
    fields: z.object({ tag: text }),
  },
  "update.installed": {
    level: "INFO",
    description: "The new binary is in place; the restart follows.",
    fields: z.object({ tag: text, bytes: z.int(), signed: z.boolean() }),
  },
  "update.failed": {
    level: "ERROR",
    description:
      "The update failed and changed nothing. `code` is `data.reason` of the error, if it has one.",
    fields: z.object({ tag: text, reason: text, code: text.optional() }),
  },
  "update.not_started": {
    level: "ERROR",
    description: "The new binary could not be executed; the old one continues to run.",
    fields: z.object({ reason: text }),
  },
  "update.completed": {
    level: "INFO",
    description: "The new version has started.",
    fields: z.object({ from: text, to: text }),
  },
  "update.reverted": {
    level: "ERROR",
    description:
      "The new version did not start; the previous version runs again. `backup` is the copy of the database from before its migration, if it made one.",
    fields: z.object({ failed: text, running: text, backup: text.optional() }),
    hidden: [],
  },
  "backup.made": {
    level: "INFO",
    description:
      "The server made a backup by itself: by `backup_every`, or before the migration that `before` names. `left_out` counts what the backup does not contain although it exists.",
    fields: z.object({
      path: text,
      bytes: z.int(),
      elapsed_ms: z.int(),
      left_out: z.int(),
      before: text.optional(),
    }),
    hidden: [],
  },
  "backup.failed": {
    level: "ERROR",
    description: "No backup could be made; the server tries again after `retry_ms`.",
    fields: z.object({ folder: text, reason: text, retry_ms: z.int() }),
    hidden: [],
  },
  "certificate.expiring": {
    level: "WARN",
    description:
      "The certificate of the listener, or one of its chain, ends within 14 days. Logged at the start, after a reload and once a day.",
    fields: z.object({ expires: text }),
    hidden: ["expires"],
  },
  "certificate.expired": {
    level: "ERROR",
    description: "The certificate of the listener, or one of its chain, has expired: clients refuse it.",
    fields: z.object({ expires: text }),
    hidden: ["expires"],
  },
  "access_log.failed": {
    level: "ERROR",
    description: "The access log cannot be written, or not be put aside; requests are answered as before.",
    fields: z.object({ path: text, reason: text }),
    hidden: [],
  },
  "access_log.restored": {
    level: "INFO",
    description: "The access log is written again; `dropped` lines are missing.",
    fields: z.object({ path: text, dropped: z.int() }),
    hidden: [],
  },
  ...auditEvents,
  "log.dropped": {
    level: "WARN",
    description:
      "A reader of the log, or the log file, was too slow for this many entries. Only that reader gets this entry.",
    fields: z.object({ dropped: z.int() }),
  },
  "log.ended": {
    level: "WARN",
    description: "The server ends a log stream. Only its reader gets this entry, as the last one.",
    fields: z.object({ reason: text }),
  },
} as const satisfies Readonly<Record<string, EventRow>>;

export type EventCode = keyof typeof events;
export type EventFields<C extends EventCode> = z.input<(typeof events)[C]["fields"]>;

/** `hiddenOnTerminal` are the fields of an entry that a terminal leaves out. */
export function hiddenOnTerminal({ event }: Readonly<Record<string, unknown>>): readonly string[] {
  if (typeof event !== "string" || !Object.hasOwn(events, event)) return none;
  const { hidden = eventAlone }: EventRow = events[event as EventCode];
  return hidden;
}

const none: readonly string[] = [];
const eventAlone: readonly string[] = ["event"];
