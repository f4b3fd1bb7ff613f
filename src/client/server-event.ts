import { type ServerEvents, serverEvents } from "./events.ts";
import type { LogEntry } from "./methods.ts";

/** An event of the server's own life: its code as `event`, and its fields. */
export type ServerEvent = {
  [C in keyof ServerEvents]: { readonly event: C } & Readonly<ServerEvents[C]>;
}[keyof ServerEvents];

/** The event that a log entry is about; undefined for every other entry, and for events of a newer server. */
export function eventOf({ fields }: Pick<LogEntry, "fields">): ServerEvent | undefined {
  const { event } = fields;
  return typeof event === "string" && Object.hasOwn(serverEvents, event)
    ? (fields as ServerEvent)
    : undefined;
}
