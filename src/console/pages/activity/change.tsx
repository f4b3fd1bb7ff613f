import { linkTo } from "../../route.ts";
import { useSession } from "../../session.ts";
import { t } from "../../text/text.ts";
import { FileName, visibleText } from "../../ui/visible-text.tsx";
import { nameOf, parentOf } from "../buckets/path.ts";
import type { Actor, Actors } from "./actors.ts";
import type { AuditEvent, AuditRow } from "./audit-rows.ts";
import { detailsOf, labelOf } from "./details.ts";

interface ChangeProps {
  readonly row: AuditRow;
  readonly actors: Actors;
}

/** What was changed: the act, its object as a link, and more facts. */
export function Change({ row, actors }: ChangeProps) {
  const details = detailsOf(row);
  return (
    <>
      <span class={row.event?.event === "sign_in.failed" ? "activity-label warn" : "activity-label"}>
        {labelOf(row)}
      </span>{" "}
      {row.event !== undefined && <ChangedObject event={row.event} isOne={row.count === 1} actors={actors} />}{" "}
      {details.length > 0 && <span class="muted">{details.join(" · ")}</span>}
    </>
  );
}

interface ChangedObjectProps {
  readonly event: AuditEvent;
  /** Whether the row is about one file; otherwise only its bucket is shown. */
  readonly isOne: boolean;
  readonly actors: Actors;
}

function ChangedObject({ event, isOne, actors }: ChangedObjectProps) {
  const { rights } = useSession();
  if ("target_key" in event) return <ActorName actor={actors.byKey(event.target_key)} />;
  if (!("bucket" in event)) return null;
  const { bucket } = event;
  const path = "path" in event && isOne ? event.path : "";
  const text = <FileName name={path === "" ? bucket : `${bucket}/${path}`} />;
  const link = rights.inBucket(bucket, { static_bucket_file: "list" }) ? linkOf(event, path) : undefined;
  return link === undefined ? text : <a href={link}>{text}</a>;
}

/** Where the object is now: the file, or the folder that it is or was in. */
function linkOf(event: Extract<AuditEvent, { bucket: string }>, path: string): string | undefined {
  const { event: code, bucket } = event;
  if (code === "bucket.deleted") return undefined;
  if (code === "folder.created") return linkTo("buckets", [bucket], { path });
  const file = code === "file.written" ? nameOf(path) : "";
  return linkTo("buckets", [bucket], { path: parentOf(path), file });
}

/** The token that made a change. What was entered at a failed sign-in is nobody's name. */
export function Who({ row, actors }: ChangeProps) {
  if (row.event?.event !== "sign_in.failed") return <ActorName actor={actors.of(row)} />;
  if (row.event.other_names) return <span class="muted">{t.activity.several}</span>;
  return <bdi class="muted">{visibleText(actors.of(row).id) || t.activity.anonymous}</bdi>;
}

function ActorName({ actor }: { readonly actor: Actor }) {
  const label = actor.isSuper ? t.activity.superToken : visibleText(actor.label) || t.activity.anonymous;
  const title = actor.id === label ? undefined : actor.id;
  if (!actor.exists || actor.isSuper) return <bdi title={title}>{label}</bdi>;
  return (
    <a href={linkTo("tokens", [], { edit: actor.id })} title={title}>
      <bdi>{label}</bdi>
    </a>
  );
}

/** Text of a row for the search. */
export function searchText(row: AuditRow, actors: Actors): string {
  const { label, id } = actors.of(row);
  const target =
    "target_key" in row.entry.fields ? actors.byKey(String(row.entry.fields.target_key)).label : "";
  const values = Object.values(row.entry.fields).filter((value) => typeof value === "string");
  return [labelOf(row), label, id, target, ...detailsOf(row), ...values].join(" ");
}
