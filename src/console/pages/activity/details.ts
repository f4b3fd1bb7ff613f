import { bytes, listed, time } from "../../format.ts";
import { t } from "../../text/text.ts";
import { visibleText } from "../../ui/visible-text.tsx";
import type { AuditEvent } from "./audit-events.ts";
import type { AuditRow } from "./audit-rows.ts";

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
    case "deploy.deleted":
      return [event.deploy];
    case "sql.executed":
      return [
        visibleText(event.statements.join("; ")),
        ...(event.outcome === "failed" ? [t.activity.sqlFailed] : []),
      ];
    case "update.requested":
      return [visibleText(event.tag)];
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
