import { eventOf, type LogEntry } from "../../../client/index.ts";

/** How far an update is, as far as the log tells. */
export type Progress =
  | { readonly stage: "downloading"; readonly bytes: number; readonly total: number | undefined }
  | { readonly stage: "trying" }
  | { readonly stage: "in place" }
  /** `code` is `data.reason` of the server's error, where it has one. */
  | { readonly stage: "failed"; readonly why: string; readonly code: string | undefined };

/** What a log entry says about the update to `tag`; undefined when it is about something else. */
export function progressIn(entry: LogEntry, tag: string): Progress | undefined {
  const event = eventOf(entry);
  if (event === undefined || !("tag" in event) || event.tag !== tag) return undefined;
  switch (event.event) {
    case "update.downloading":
      return { stage: "downloading", bytes: event.bytes ?? 0, total: event.total };
    case "update.testing":
      return { stage: "trying" };
    case "update.installed":
      return { stage: "in place" };
    case "update.failed":
      return { stage: "failed", why: event.reason, code: event.code };
  }
}
