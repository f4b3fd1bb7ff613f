import { z } from "zod";
import type { Level } from "./entry.ts";

/** One event of the server's own life. */
interface EventRow {
  readonly level: Level;
  readonly means: string;
  /** Fields of the log entry beside `event`. */
  readonly fields: z.ZodObject;
  /** Fields that a terminal leaves out, because the message says as much to people. */
  readonly hidden: readonly string[];
}

const nothing = z.object({});
const text = z.string();
const problem = z
  .object({
    file: text.optional(),
    line: z.int().optional(),
    column: z.int().optional(),
    field: text.optional(),
    why: text,
  })
  .meta({ id: "ConfigProblem" });

/**
 * Every event of the server's own life that another program may read. Its code is `fields.event` of the log entry; the
 * message beside it is for people and may change. The client, the console and the documents are printed from this table.
 */
export const events = {
  "server.stopping": {
    level: "INFO",
    means: "The server was asked to stop.",
    fields: z.object({ signal: text }),
    hidden: ["event", "signal"],
  },
  "server.restart_scheduled": {
    level: "INFO",
    means: "An update is in place; the server restarts after this delay.",
    fields: z.object({ delay_ms: z.int() }),
    hidden: ["event"],
  },
  "server.restarting": {
    level: "INFO",
    means: "The server restarts into the binary of an update.",
    fields: nothing,
    hidden: ["event"],
  },
  "listener.bound": {
    level: "INFO",
    means: "The server accepts connections at `url`.",
    fields: z.object({ url: text, transport: z.enum(["tcp", "unix"]) }),
    hidden: ["event", "url", "transport"],
  },
  "descriptors.exhausted": {
    level: "ERROR",
    means: "No file descriptor is left; new connections wait.",
    fields: z.object({ idle_connections_closed: z.int() }),
    hidden: ["event"],
  },
  "descriptors.available": {
    level: "INFO",
    means: "File descriptors are available again.",
    fields: nothing,
    hidden: ["event"],
  },
  "config.applied": {
    level: "INFO",
    means: "A reload changed these parts of the server.",
    fields: z.object({ path: text, parts: z.array(text) }),
    hidden: ["event", "path", "parts"],
  },
  "config.unchanged": {
    level: "INFO",
    means: "A reload found nothing that changed.",
    fields: z.object({ path: text }),
    hidden: ["event", "path"],
  },
  "config.refused": {
    level: "ERROR",
    means:
      "A reload failed; the server goes on with the configuration from before. `problems` lists what is wrong with the file.",
    fields: z.object({ path: text, reason: text, problems: z.array(problem).readonly() }),
    hidden: ["event", "reason", "problems"],
  },
  "config.abandoned": {
    level: "INFO",
    means: "A reload ended early because the server stops.",
    fields: nothing,
    hidden: ["event"],
  },
  "config.warning": {
    level: "WARN",
    means: "A key is valid, and will probably not do what was meant.",
    fields: z.object({ key: text, why: text, line: z.int().optional(), column: z.int().optional() }),
    hidden: ["event", "why"],
  },
  "config.recovered": {
    level: "WARN",
    means: "An edit of the configuration that a crash had interrupted was finished.",
    fields: z.object({ path: text }),
    hidden: ["event"],
  },
  "database.opened": {
    level: "INFO",
    means: "The database is in use.",
    fields: z.object({ config: text, database: text, static_path: text }),
    hidden: ["event"],
  },
  "database.migrated": {
    level: "INFO",
    means: "One step of the database schema was applied.",
    fields: z.object({ version: text }),
    hidden: ["event", "version"],
  },
  "database.lost": {
    level: "ERROR",
    means: "The database cannot be reached, or its file is missing; calls that need it fail.",
    fields: z.object({ database: text, reason: text }),
    hidden: [],
  },
  "database.restored": {
    level: "INFO",
    means: "The database can be used again.",
    fields: z.object({ database: text, lost_ms: z.int() }),
    hidden: [],
  },
  "database.silent": {
    level: "WARN",
    means: "PostgreSQL left a statement without an answer; its connections are replaced.",
    fields: z.object({ answer_timeout_ms: z.int() }),
    hidden: [],
  },
  "database.write_failed": {
    level: "ERROR",
    means: "The database takes no writes; every change fails.",
    fields: z.object({ reason: text }),
    hidden: ["event"],
  },
  "database.write_restored": {
    level: "INFO",
    means: "The database takes writes again.",
    fields: nothing,
    hidden: ["event"],
  },
  "update.downloading": {
    level: "INFO",
    means: "A release is being downloaded; repeated with the progress, at most once a second.",
    fields: z.object({
      tag: text,
      bytes: z.int().optional(),
      total: z.int().optional(),
      percent: z.int().optional(),
    }),
    hidden: ["event"],
  },
  "update.testing": {
    level: "INFO",
    means: "The downloaded binary is started once on its own.",
    fields: z.object({ tag: text }),
    hidden: ["event"],
  },
  "update.installed": {
    level: "INFO",
    means: "The new binary is in place; the restart follows.",
    fields: z.object({ tag: text, bytes: z.int(), signed: z.boolean() }),
    hidden: ["event"],
  },
  "update.failed": {
    level: "ERROR",
    means: "The update failed and changed nothing. `code` is `data.reason` of the error, where it has one.",
    fields: z.object({ tag: text, reason: text, code: text.optional() }),
    hidden: ["event"],
  },
  "update.not_started": {
    level: "ERROR",
    means: "The new binary could not be executed; the server goes on.",
    fields: z.object({ reason: text }),
    hidden: ["event"],
  },
  "update.completed": {
    level: "INFO",
    means: "The new version has started.",
    fields: z.object({ from: text, to: text }),
    hidden: ["event"],
  },
  "update.reverted": {
    level: "ERROR",
    means: "The new version did not start; the version from before runs again.",
    fields: z.object({ failed: text, running: text }),
    hidden: ["event"],
  },
  "log.dropped": {
    level: "WARN",
    means:
      "A reader of the log, or the log file, was too slow for so many entries. Only that reader gets this entry.",
    fields: z.object({ dropped: z.int() }),
    hidden: ["event"],
  },
  "log.ended": {
    level: "WARN",
    means: "The server ends a log stream. Only its reader gets this entry, as the last one.",
    fields: z.object({ reason: text }),
    hidden: ["event"],
  },
} as const satisfies Readonly<Record<string, EventRow>>;

export type EventCode = keyof typeof events;
export type EventFields<C extends EventCode> = z.input<(typeof events)[C]["fields"]>;

/** The fields of an entry that a terminal shows. */
export function terminalFields(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { event } = fields;
  if (typeof event !== "string" || !Object.hasOwn(events, event)) return fields;
  const { hidden }: EventRow = events[event as EventCode];
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !hidden.includes(name)));
}
