import { useState } from "preact/hooks";
import type { StoredLink } from "../../../../client/index.ts";
import { ago, number, time } from "../../../format.ts";
import { useSession } from "../../../session/session.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { act, othersMs, useFollow, useLoad, WhenLoaded } from "../../../ui/call.tsx";
import { type Column, DataTable, useTableView } from "../../../ui/data-table.tsx";
import { FileName } from "../../../ui/file-name.tsx";
import type { OpenBucket } from "../bucket-access.ts";
import { linkKinds, MakeLink } from "./link-form.tsx";

interface LinksTabProps {
  readonly openBucket: OpenBucket;
  /** Called when the record of the bucket has changed. */
  readonly onChange: () => void;
}

/** Signed links of a bucket. */
export function LinksTab({ openBucket, onChange }: LinksTabProps) {
  const { name } = openBucket;
  const { client, rights } = useSession();
  const maySee = rights.may("static-bucket_links", name);
  const list = useLoad(
    async (signal) => (maySee ? client.call("static-bucket_links", { name }, { signal }) : []),
    [client, name],
    { changes: useFollow(name), every: othersMs },
  );
  const [creating, setCreating] = useState(false);
  const kinds = linkKinds(rights, name);
  const mayRevokeAll = rights.inBucket(name, { static_bucket: "write" });
  const revokeAll = () =>
    act({
      ask: {
        title: t.bucketTabs.revokeAllQuestion(name),
        text: t.bucketTabs.revokeAllText,
        action: t.bucketTabs.revokeAll,
        danger: true,
      },
      run: () => client.call("static-bucket_unlink", { name }),
      done: t.bucketTabs.allRevoked,
      after: list.reload,
    });
  return (
    <>
      <div class="row spread">
        <p class="muted">{t.bucketTabs.linksAbout}</p>
        <div class="actions">
          {mayRevokeAll && <Button onClick={revokeAll}>{t.bucketTabs.revokeAll}</Button>}
          {kinds.length > 0 && (
            <Button icon="share" kind="primary" onClick={() => setCreating(true)}>
              {t.bucketTabs.newLink}
            </Button>
          )}
        </div>
      </div>
      <WhenLoaded of={list}>
        {(links) =>
          links.length === 0 ? (
            <p class="card empty">{maySee ? t.bucketTabs.noLinks : t.bucketTabs.mayNotSeeLinks}</p>
          ) : (
            <LinkTable name={name} links={links} mayRevokeAll={mayRevokeAll} onChange={list.reload} />
          )
        }
      </WhenLoaded>
      {creating && (
        <MakeLink
          openBucket={openBucket}
          kinds={kinds}
          onClose={() => setCreating(false)}
          onMade={list.reload}
          onBucketChange={onChange}
        />
      )}
    </>
  );
}

interface LinkTableProps {
  readonly name: string;
  readonly links: readonly StoredLink[];
  /** Else only the links that the token made. */
  readonly mayRevokeAll: boolean;
  readonly onChange: () => void;
}

function LinkTable({ name, links, mayRevokeAll, onChange }: LinkTableProps) {
  const { client, me } = useSession();
  const revoke = (link: StoredLink) =>
    act({
      ask: {
        title: t.bucketTabs.revokeQuestion,
        text: t.bucketTabs.revokeText(link.path === "" ? name : link.path),
        action: t.bucketTabs.revoke,
        danger: true,
      },
      run: () => client.call("static-bucket_unlink", { name, id: link.id }),
      done: t.bucketTabs.revoked,
      after: onChange,
    });
  const columns: ReadonlyArray<Column<StoredLink>> = [
    {
      id: "path",
      title: t.bucketTabs.path,
      kind: "heading",
      sort: ({ path }) => path,
      cell: ({ path, selected }) => (
        <>
          {path === "" ? t.bucketTabs.wholeBucket : <FileName name={path} />}
          {selected !== undefined && <span class="muted"> · {t.frame.countItems(selected)}</span>}
        </>
      ),
    },
    {
      id: "kind",
      title: t.bucketTabs.kind,
      stacked: "line",
      cell: ({ kind, password }) => (
        <span class="row">
          {kindTitle(kind)}
          {password && <span class="badge">{t.bucketTabs.withPassword}</span>}
        </span>
      ),
    },
    {
      id: "uses",
      title: t.bucketTabs.uses,
      stacked: "label",
      cell: ({ max_downloads: max, downloads }) =>
        max === undefined ? number(downloads) : t.bucketTabs.usesOf(number(downloads), number(max)),
    },
    {
      id: "state",
      title: t.bucketTabs.state,
      stacked: "line",
      cell: ({ state }) =>
        state === "valid" ? (
          <span class="badge good">{t.bucketTabs.linkValid}</span>
        ) : (
          <span class="badge warn" title={state === "ended" ? t.bucketTabs.linkEndedWhy : undefined}>
            {state === "ended" ? t.bucketTabs.linkEnded : t.bucketTabs.linkUsedUp}
          </span>
        ),
    },
    {
      id: "by",
      title: t.bucketTabs.by,
      stacked: "label",
      sort: ({ by }) => by,
      cell: ({ by }) => (by === me.token_key && me.username ? me.username : <span class="mono">{by}</span>),
    },
    {
      id: "made",
      title: t.bucketTabs.made,
      stacked: "label",
      sort: ({ created }) => created,
      startsDown: true,
      tip: ({ created }) => time(created),
      cell: ({ created }) => ago(created),
    },
    {
      id: "ends",
      title: t.bucketTabs.ends,
      stacked: "label",
      sort: ({ expires }) => expires,
      tip: ({ expires }) => time(expires),
      cell: ({ expires }) => ago(expires),
    },
    {
      id: "actions",
      title: t.buckets.actions,
      kind: "actions",
      cell: (link) =>
        (mayRevokeAll || link.by === me.token_key) && (
          <Button kind="quiet" onClick={() => revoke(link)}>
            {t.bucketTabs.revoke}
          </Button>
        ),
    },
  ];
  const view = useTableView(links, { columns });
  return (
    <DataTable
      {...view}
      label={t.bucketTabs.links}
      stacks
      columns={columns}
      rows={view.shown}
      keyOf={({ id }) => id}
    />
  );
}

function kindTitle(kind: StoredLink["kind"]): string {
  if (kind === "upload") return t.bucketTabs.dropBox;
  return kind === "zip" ? t.bucketTabs.folderZip : t.bucketTabs.oneFile;
}
