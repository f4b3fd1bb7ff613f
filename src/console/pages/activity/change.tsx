import { useState } from "preact/hooks";
import { linkTo } from "../../route.ts";
import { useSession } from "../../session/session.ts";
import { t } from "../../text/text.ts";
import { useLoad } from "../../ui/call.tsx";
import { FileName } from "../../ui/file-name.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { linkToTab } from "../buckets/bucket-tabs.ts";
import { nameOf, parentOf } from "../buckets/path.ts";
import type { AuditEvent } from "./audit-events.ts";
import { type Actor, Actors, type AuditRow, detailsOf, labelOf, withoutDeploy } from "./model.ts";
import "./activity.css";

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
      {row.event !== undefined && <ChangedObject row={row} event={row.event} actors={actors} />}{" "}
      {details.length > 0 && <span class="muted">{details.join(" · ")}</span>}
    </>
  );
}

interface ChangedObjectProps {
  readonly row: AuditRow;
  readonly event: AuditEvent;
  readonly actors: Actors;
}

/** The file, the folder of several files, the bucket, the token or the host name. */
function ChangedObject({ row: { count, folder = "" }, event, actors }: ChangedObjectProps) {
  const { rights } = useSession();
  if ("target_key" in event) return <ActorName actor={actors.byKey(event.target_key)} />;
  if (event.event === "certificate.requested") return <FileName name={event.name} />;
  if (!("bucket" in event)) return null;
  const { bucket } = event;
  const isOne = count === 1;
  const path = "path" in event ? (isOne ? event.path : folder) : "";
  const text = <FileName name={path === "" ? bucket : `${bucket}/${path}${isOne ? "" : "/"}`} />;
  const mayList = rights.may("static-bucket-file_list", withoutDeploy(bucket));
  const link = mayList ? linkOf(event, path, isOne) : undefined;
  return link === undefined ? text : <a href={link}>{text}</a>;
}

/** Where the object is now: the file, or the folder that it is or was in; of a deploy, the list of deploys. */
function linkOf(
  event: Extract<AuditEvent, { bucket: string }>,
  path: string,
  isOne: boolean,
): string | undefined {
  const { event: code, bucket } = event;
  if (code === "bucket.deleted") return undefined;
  const owner = withoutDeploy(bucket);
  if (owner !== bucket) return linkToTab(owner, "deploys");
  if (code === "folder.created" || !isOne) return linkTo("buckets", [bucket], { path });
  const file = code === "file.written" ? nameOf(path) : "";
  return linkTo("buckets", [bucket], { path: parentOf(path), file });
}

/** The token that made a change; of a failed sign-in, the one whose key or user name was entered. */
export function Who({ row, actors }: ChangeProps) {
  if (row.event?.event !== "sign_in.failed") return <ActorName actor={actors.of(row)} />;
  if (row.event.other_names) return <span class="muted">{t.activity.several}</span>;
  return <ActorName actor={actors.of(row)} isClaimed />;
}

interface ActorNameProps {
  readonly actor: Actor;
  /** Somebody has used the name without proving it. */
  readonly isClaimed?: boolean;
}

function ActorName({ actor, isClaimed = false }: ActorNameProps) {
  const label = actor.isSuper ? t.activity.superToken : visibleText(actor.label) || t.activity.anonymous;
  const title = actor.id === label ? undefined : actor.id;
  if (isClaimed || !actor.exists || actor.isSuper)
    return (
      <bdi class={isClaimed ? "muted" : undefined} title={title}>
        {label}
      </bdi>
    );
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

/**
 * Tokens by name for the Super Token, which may list them; none for others. They are read again when one was created, edited or deleted.
 */
export function useActors(rows: readonly AuditRow[] | undefined): Actors {
  const { client, rights } = useSession();
  const newestChange = rows?.find(({ event }) => event?.event.startsWith("token."))?.key;
  const { value } = useLoad(
    async (signal) =>
      rights.may("token_list_all_tokens")
        ? new Actors((await client.call("token_list_all_tokens", {}, { signal })).tokens)
        : undefined,
    [client, rights.may("token_list_all_tokens"), newestChange],
  );
  const [none] = useState(() => new Actors([]));
  return value ?? none;
}
