import { useState } from "preact/hooks";
import { bounds, type FileVersion } from "../../../client/index.ts";
import { ago, bytes, time } from "../../format.ts";
import { changeQuery, route } from "../../route.ts";
import { useSession } from "../../session/session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { act, useLoad, WhenLoaded } from "../../ui/call.tsx";
import { type Column, DataTable, useTableView } from "../../ui/data-table.tsx";
import { FileName } from "../../ui/file-name.tsx";
import { Search } from "../../ui/form.tsx";
import { Icon } from "../../ui/icons.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { withKey, writeConfig } from "../config/reload.ts";

/** Versions of one request. */
const pageSize = 1000;
/** As in a new configuration. */
const newDays = 30;

/** TrashTab shows what was deleted or replaced in a bucket and can be restored. */
export function TrashTab({ name }: { readonly name: string }) {
  const { client, rights } = useSession();
  const [wanted, setWanted] = useState(pageSize);
  const list = useLoad(
    async (signal) => {
      const { days } = await client.call("static-bucket-file_retention", { name }, { signal });
      const versions =
        days === 0
          ? []
          : await client.call("static-bucket-file_history", { name, limit: wanted }, { signal });
      return { days, versions };
    },
    [client, name, wanted],
  );
  const mayPurge = rights.may("static-bucket-file_purge", name);
  const purge = async () => {
    const { versions = 0, bytes: size = 0 } = await client.call("static-bucket-file_retention", {
      name,
      measure: true,
    });
    return act({
      ask: {
        title: t.bucketTabs.emptyQuestion(name),
        text: t.bucketTabs.emptyText(t.bucketTabs.countVersions(versions), bytes(size)),
        action: t.bucketTabs.emptyTrash,
        danger: true,
      },
      run: () => client.call("static-bucket-file_purge", { name }),
      done: (purged) => t.bucketTabs.emptied(t.bucketTabs.countVersions(purged.versions)),
      after: list.reload,
    });
  };
  return (
    <WhenLoaded of={list}>
      {({ days, versions }) => {
        if (days === 0) return <TrashOff name={name} onChange={list.reload} />;
        if (versions.length === 0)
          return <p class="card empty">{t.bucketTabs.trashEmpty(t.frame.countDays(days))}</p>;
        return (
          <>
            <div class="row spread">
              <p class="muted">{t.bucketTabs.trashAbout(t.frame.countDays(days))}</p>
              <div class="actions">
                <Search
                  label={t.bucketTabs.findVersion}
                  value={route.value.query.get("find") ?? ""}
                  onChange={(find) => changeQuery({ find })}
                />
                {mayPurge && (
                  <Button icon="trash" onClick={purge}>
                    {t.bucketTabs.emptyTrash}
                  </Button>
                )}
              </div>
            </div>
            <VersionTable name={name} versions={versions} onChange={list.reload} />
            {versions.length >= wanted && wanted < bounds.maxVersions && (
              <Button onClick={() => setWanted(bounds.maxVersions)}>{t.bucketTabs.showOlder}</Button>
            )}
          </>
        );
      }}
    </WhenLoaded>
  );
}

interface ChangeProps {
  readonly name: string;
  readonly onChange: () => void;
}

/** Nothing is kept. Who may change the configuration can turn the trash on. */
function TrashOff({ name, onChange }: ChangeProps) {
  const { client, rights } = useSession();
  const turnOn = async () => {
    const file = await client.call("node-server_read_config");
    const key = { name: "keep_removed_days" };
    const run = async () => {
      const { kind, why } = await writeConfig(client, withKey(file, key, String(newDays)));
      if (kind === "refused") throw new Error(why);
      const { days } = await client.call("static-bucket-file_retention", { name });
      if (days === 0) throw new Error(t.bucketTabs.staysOff(key.name));
      return days;
    };
    return act({
      ask: {
        title: t.bucketTabs.turnOnQuestion,
        text: t.bucketTabs.turnOnText(t.frame.countDays(newDays), `${key.name} = ${newDays}`),
        action: t.bucketTabs.turnOn,
      },
      run,
      done: (days) => t.bucketTabs.turnedOn(t.frame.countDays(days)),
      after: onChange,
    });
  };
  return (
    <div class="card empty">
      <p>{rights.may("node-server_edit_config") ? t.bucketTabs.trashOff : t.bucketTabs.nothingKept}</p>
      {rights.may("node-server_edit_config") && (
        <Button kind="primary" onClick={turnOn}>
          {t.bucketTabs.turnOn}
        </Button>
      )}
    </div>
  );
}

function VersionTable({
  name,
  versions,
  onChange,
}: ChangeProps & { readonly versions: readonly FileVersion[] }) {
  const { client, rights } = useSession();
  const mayRestore = rights.may("static-bucket-file_restore", name);
  const restore = ({ path, version }: FileVersion) =>
    act({
      run: () => client.call("static-bucket-file_restore", { name, path, version }),
      done: t.bucketTabs.restored(visibleText(path)),
      after: onChange,
    });
  const columns: ReadonlyArray<Column<FileVersion>> = [
    {
      id: "path",
      title: t.bucketTabs.path,
      sort: ({ path }) => path,
      tip: ({ path }) => visibleText(path),
      cell: ({ path, kind, removed_at }) => (
        <>
          <span class="trash-path">
            <Icon name={kind === "folder" ? "folder" : "file"} />
            <FileName name={path} />
          </span>
          <small class="below-medium">{ago(removed_at)}</small>
        </>
      ),
    },
    {
      id: "size",
      title: t.buckets.size,
      kind: "number",
      width: "7rem",
      from: "medium",
      sort: ({ kind, size }) => (kind === "folder" ? null : size),
      startsDown: true,
      cell: ({ kind, size }) => kind !== "folder" && bytes(size),
    },
    {
      id: "removed",
      title: t.bucketTabs.removed,
      kind: "muted",
      width: "10rem",
      from: "medium",
      sort: ({ removed_at }) => removed_at,
      startsDown: true,
      tip: ({ removed_at }) => time(removed_at),
      cell: ({ removed_at }) => ago(removed_at),
    },
    {
      id: "kept",
      title: t.bucketTabs.keptUntil,
      kind: "muted",
      width: "9rem",
      from: "medium",
      sort: ({ kept_until }) => kept_until,
      tip: ({ kept_until }) => time(kept_until),
      cell: ({ kept_until }) => ago(kept_until),
    },
    {
      id: "actions",
      title: t.buckets.actions,
      kind: "actions",
      width: "7rem",
      cell: (version) =>
        mayRestore && (
          <Button kind="quiet" title={t.bucketTabs.restoreHint} onClick={() => restore(version)}>
            {t.bucketTabs.restore}
          </Button>
        ),
    },
  ];
  const { shown, ...view } = useTableView(versions, { columns, text: ({ path }) => path.toLowerCase() });
  if (shown.length === 0) return <p class="card empty">{t.bucketTabs.noVersion(view.find)}</p>;
  return (
    <DataTable
      {...view}
      label={t.bucketTabs.trash}
      columns={columns}
      rows={shown}
      keyOf={({ version, path }) => `${version} ${path}`}
      rowHeight={44}
      height="window"
    />
  );
}
