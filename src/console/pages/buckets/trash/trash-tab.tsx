import { useState } from "preact/hooks";
import type { FileVersion } from "../../../../client/index.ts";
import { ago, bytes, time } from "../../../format.ts";
import { useSession } from "../../../session.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { useLoad } from "../../../ui/call.tsx";
import { confirm } from "../../../ui/dialog.tsx";
import { typed } from "../../../ui/form.tsx";
import { Icon } from "../../../ui/icons.tsx";
import { VirtualRows } from "../../../ui/list.tsx";
import { Problem } from "../../../ui/problem.tsx";
import { Skeleton } from "../../../ui/skeleton.tsx";
import { toast } from "../../../ui/toasts.tsx";
import { FileName, visibleText } from "../../../ui/visible-text.tsx";
import { withKey, writeConfig } from "../../config/reload.ts";

/** Versions of one request. */
const pageSize = 1000;
const rowHeight = 44;
/** As in a new configuration. */
const newDays = 30;
/** Height of the heads and the frame. */
const headHeight = 38;

/** TrashTab shows what was deleted or replaced in a bucket and can be restored. */
export function TrashTab({ name }: { readonly name: string }) {
  const { client, rights } = useSession();
  const [wanted, setWanted] = useState(pageSize);
  const [find, setFind] = useState("");
  const { value, error, reload } = useLoad(
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
  const mayRestore = rights.may("static-bucket-file_restore", name);
  const mayPurge = rights.may("static-bucket-file_purge", name);
  const restore = async ({ path, version }: FileVersion) => {
    await client.call("static-bucket-file_restore", { name, path, version });
    toast(t.bucketTabs.restored(visibleText(path)));
    reload();
  };
  const purge = async () => {
    const { versions = 0, bytes: size = 0 } = await client.call("static-bucket-file_retention", {
      name,
      measure: true,
    });
    const sure = await confirm({
      title: t.bucketTabs.emptyQuestion(name),
      text: t.bucketTabs.emptyText(t.bucketTabs.countVersions(versions), bytes(size)),
      action: t.bucketTabs.emptyTrash,
      danger: true,
    });
    if (!sure) return;
    const purged = await client.call("static-bucket-file_purge", { name });
    toast(t.bucketTabs.emptied(t.bucketTabs.countVersions(purged.versions)));
    reload();
  };
  const turnOn = async () => {
    const file = await client.call("node-server_read_config");
    const key = { name: "keep_removed_days" };
    const sure = await confirm({
      title: t.bucketTabs.turnOnQuestion,
      text: t.bucketTabs.turnOnText(t.frame.countDays(newDays), `${key.name} = ${newDays}`),
      action: t.bucketTabs.turnOn,
    });
    if (!sure) return;
    const { kind, why } = await writeConfig(client, withKey(file, key, String(newDays)));
    if (kind === "refused") throw new Error(why);
    const retention = await client.call("static-bucket-file_retention", { name });
    if (retention.days === 0) throw new Error(t.bucketTabs.staysOff(key.name));
    toast(t.bucketTabs.turnedOn(t.frame.countDays(retention.days)));
    reload();
  };
  const { days, versions = [] } = value ?? {};
  const text = find.toLowerCase();
  const shown = versions.filter(({ path }) => path.toLowerCase().includes(text));
  return (
    <>
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value === undefined && error === undefined && <Skeleton />}
      {days === 0 && (
        <div class="card empty">
          <p>{rights.may("node-server_edit_config") ? t.bucketTabs.trashOff : t.bucketTabs.nothingKept}</p>
          {rights.may("node-server_edit_config") && (
            <Button kind="primary" onClick={turnOn}>
              {t.bucketTabs.turnOn}
            </Button>
          )}
        </div>
      )}
      {days !== undefined && days > 0 && versions.length === 0 && (
        <p class="card empty">{t.bucketTabs.trashEmpty(t.frame.countDays(days))}</p>
      )}
      {days !== undefined && versions.length > 0 && (
        <>
          <div class="row spread">
            <p class="muted">{t.bucketTabs.trashAbout(t.frame.countDays(days))}</p>
            <div class="actions">
              <input
                type="search"
                aria-label={t.bucketTabs.findVersion}
                placeholder={t.bucketTabs.findVersion}
                value={find}
                onInput={(event: Event) => setFind(typed(event))}
              />
              {mayPurge && (
                <Button icon="trash" onClick={purge}>
                  {t.bucketTabs.emptyTrash}
                </Button>
              )}
            </div>
          </div>
          <div
            class="table-box trash-box"
            style={{ height: `${Math.max(shown.length, 2) * rowHeight + headHeight}px` }}
          >
            <div class="trash-row trash-head" aria-hidden="true">
              <span>{t.bucketTabs.path}</span>
              <span class="number">{t.buckets.size}</span>
              <span>{t.bucketTabs.removed}</span>
              <span>{t.bucketTabs.keptUntil}</span>
              <span />
            </div>
            {shown.length === 0 ? (
              <p class="empty">{t.bucketTabs.noVersion(find)}</p>
            ) : (
              <VirtualRows
                label={t.bucketTabs.trash}
                count={shown.length}
                rowHeight={rowHeight}
                row={(at) => {
                  const version = shown[at];
                  return (
                    version !== undefined && (
                      <VersionRow
                        key={`${version.version} ${version.path}`}
                        version={version}
                        onRestore={mayRestore ? () => restore(version) : undefined}
                      />
                    )
                  );
                }}
              />
            )}
          </div>
          {versions.length >= wanted && wanted < maxVersions && (
            <Button onClick={() => setWanted(maxVersions)}>{t.bucketTabs.showOlder}</Button>
          )}
        </>
      )}
    </>
  );
}

/** The server lists no more in one answer. */
const maxVersions = 10_000;

interface VersionRowProps {
  readonly version: FileVersion;
  /** Undefined when the token may not write files. */
  readonly onRestore: (() => Promise<void>) | undefined;
}

function VersionRow({ version, onRestore }: VersionRowProps) {
  const { path, kind, size, removed_at, kept_until } = version;
  return (
    <li class="trash-row">
      <span class="path" title={visibleText(path)}>
        <Icon name={kind === "folder" ? "folder" : "file"} />
        <FileName name={path} />
      </span>
      <span class="number">{kind === "folder" ? "" : bytes(size)}</span>
      <span class="muted" title={time(removed_at)}>
        {ago(removed_at)}
      </span>
      <span class="muted" title={time(kept_until)}>
        {ago(kept_until)}
      </span>
      <span>
        {onRestore !== undefined && (
          <Button kind="quiet" title={t.bucketTabs.restoreHint} onClick={onRestore}>
            {t.bucketTabs.restore}
          </Button>
        )}
      </span>
    </li>
  );
}
