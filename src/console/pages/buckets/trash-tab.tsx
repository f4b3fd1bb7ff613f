import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { FileVersion } from "../../../client/index.ts";
import { ago, bytes, number, time } from "../../format.ts";
import { changeQuery, route } from "../../route.ts";
import { useSession } from "../../session/session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { act, useFollow, useLoad, WhenLoaded } from "../../ui/call.tsx";
import { save } from "../../ui/copy.tsx";
import { type Column, DataTable, useTableView } from "../../ui/data-table.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FileName } from "../../ui/file-name.tsx";
import { Search } from "../../ui/form.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Problem } from "../../ui/problem.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { withKey, writeConfig } from "../config/reload.ts";
import { linkToTab } from "./bucket-tabs.ts";
import { restoreMany } from "./files/dialogs.tsx";
import { nameOf } from "./path.ts";
import { decodeText, kindOf } from "./preview/model.ts";
import { uploads } from "./uploads/queue.ts";

/** Versions of one request. */
const pageSize = 500;
/** As in a new configuration. */
const newDays = 30;
/** Pause in typing after which the server is asked. */
const typingMs = 250;

/**
 * TrashTab shows what was deleted or replaced in a bucket and can be restored: all of it, what the server finds for some words, or
 * the versions of one path.
 */
export function TrashTab({ name }: { readonly name: string }) {
  const { client, rights } = useSession();
  const { query } = route.value;
  const [path, typed] = [query.get("path") ?? "", query.get("find") ?? ""];
  const find = useSettled(typed.trim(), typingMs);
  const read = (after: FileVersion | undefined, signal?: AbortSignal) =>
    client.call(
      "static-bucket-file_history",
      {
        name,
        path,
        limit: pageSize,
        present: true,
        // What is looked for may be in a folder that was deleted as a whole.
        ...(find === "" ? {} : { query: find, files_only: true }),
        after: after && { version: after.version, path: after.path },
      },
      { signal },
    );
  const [older, setOlder] = useState<readonly FileVersion[]>([]);
  const changes = useFollow(name);
  const shown = useRef(changes);
  // A list that is read further down is not taken away.
  if (older.length === 0) shown.current = changes;
  const list = useLoad(
    async (signal) => {
      const { days } = await client.call("static-bucket-file_retention", { name }, { signal });
      return { days, versions: days === 0 ? [] : await read(undefined, signal) };
    },
    [client, name, path, find],
    { changes: shown.current },
  );
  useEffect(() => setOlder([]), [list.value]);
  useEffect(() => {
    const before = uploads.arrived.value;
    return uploads.arrived.subscribe((count) => {
      if (count !== before) list.reload();
    });
  }, [list.reload]);
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
      after: () => {
        changeQuery({ find: "" });
        list.reload();
      },
    });
  };
  return (
    <WhenLoaded of={list}>
      {({ days, versions }) => {
        if (days === 0) return <TrashOff name={name} onChange={list.reload} />;
        if (versions.length === 0 && typed === "" && path === "")
          return <p class="card empty">{t.bucketTabs.trashEmpty(t.frame.countDays(days))}</p>;
        const all = [...versions, ...older];
        const isWhole = (older.length === 0 ? versions : older).length % pageSize !== 0;
        return (
          <>
            <div class="row spread">
              {path === "" ? (
                <p class="muted">{t.bucketTabs.trashAbout(t.frame.countDays(days))}</p>
              ) : (
                <p>
                  {t.bucketTabs.versionsOf(visibleText(path))}{" "}
                  <a href={linkToTab(name, "trash")}>{t.bucketTabs.wholeTrash}</a>
                </p>
              )}
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
            {all.length === 0 ? (
              <p class="card empty">
                {typed === "" ? t.bucketTabs.noVersionsOf(visibleText(path)) : t.bucketTabs.noVersion(typed)}
              </p>
            ) : (
              <VersionTable name={name} versions={all} onChange={list.reload} />
            )}
            {all.length > 0 && !isWhole && (
              <Button onClick={async () => setOlder([...older, ...(await read(all.at(-1)))])}>
                {t.bucketTabs.showOlder}
              </Button>
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

const keyOf = ({ version, path }: FileVersion) => `${version} ${path}`;

/** The newest version of each path. */
function newestOf(versions: readonly FileVersion[]): FileVersion[] {
  const newest = new Map<string, FileVersion>();
  for (const one of versions) {
    const known = newest.get(one.path);
    if (known === undefined || known.version < one.version) newest.set(one.path, one);
  }
  return [...newest.values()];
}

function VersionTable({
  name,
  versions,
  onChange,
}: ChangeProps & { readonly versions: readonly FileVersion[] }) {
  const { client, rights } = useSession();
  const mayRestore = rights.may("static-bucket-file_restore", name);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [viewed, setViewed] = useState<FileVersion>();
  const mayRead = rights.may("static-bucket-file_read_version", name);
  const marked = versions.filter((one) => chosen.has(keyOf(one)));
  const restore = ({ path, version }: FileVersion) =>
    act({
      run: () => client.call("static-bucket-file_restore", { name, path, version }),
      done: t.bucketTabs.restored(visibleText(path)),
      after: onChange,
    });
  const restoreMarked = async () => {
    const wanted = newestOf(marked).map(({ version, path }) => ({ version, path }));
    setChosen(new Set());
    await restoreMany(client, name, wanted);
  };
  const columns: ReadonlyArray<Column<FileVersion>> = [
    {
      id: "path",
      title: t.bucketTabs.path,
      sort: ({ path }) => path,
      tip: ({ path }) => visibleText(path),
      cell: (one) => {
        const { path, kind, removed_at, exists } = one;
        return (
          <>
            <span class="trash-path">
              <Icon name={kind === "folder" ? "folder" : "file"} />
              {mayRead && kind === "file" ? (
                <button
                  type="button"
                  class="as-link"
                  title={t.bucketTabs.view}
                  onClick={() => setViewed(one)}
                >
                  <FileName name={path} />
                </button>
              ) : (
                <FileName name={path} />
              )}
              <span class="badge">{exists ? t.bucketTabs.replacedBadge : t.bucketTabs.deletedBadge}</span>
            </span>
            <small class="below-medium">{ago(removed_at)}</small>
          </>
        );
      },
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
  const { shown, ...view } = useTableView(versions, { columns });
  return (
    <>
      {viewed !== undefined && (
        <VersionDialog name={name} version={viewed} onClose={() => setViewed(undefined)} />
      )}
      {marked.length > 0 && (
        <div class="row">
          <span aria-live="polite">{t.files.selected(number(marked.length))}</span>
          <Button kind="primary" onClick={restoreMarked}>
            {t.bucketTabs.restoreMarked}
          </Button>
        </div>
      )}
      <DataTable<FileVersion>
        {...view}
        label={t.bucketTabs.trash}
        columns={columns}
        rows={shown}
        keyOf={keyOf}
        rowHeight={44}
        height="window"
        {...(mayRestore && {
          selection: {
            chosen,
            onChoose: (keys, on) => {
              const next = new Set(chosen);
              for (const key of keys) on ? next.add(key) : next.delete(key);
              setChosen(next);
            },
            isFixed: () => false,
            labelAll: t.files.selectAll,
            labelOf: ({ path }) => t.files.select(visibleText(path)),
          },
        })}
      />
    </>
  );
}

/** Larger versions are not shown: they are answers of RPC. */
const maxViewedBytes = 4 * 1024 * 1024;
const maxShownChars = 200_000;

interface VersionDialogProps {
  readonly name: string;
  readonly version: FileVersion;
  readonly onClose: () => void;
}

/** Shows a version, if it is a text or an image, and downloads it. */
function VersionDialog({ name, version: { path, version, size, mtime }, onClose }: VersionDialogProps) {
  const { client } = useSession();
  const isSmall = size <= maxViewedBytes;
  const content = useLoad(
    async (signal) => {
      if (!isSmall) return undefined;
      const base64 = await client.call(
        "static-bucket-file_read_version",
        { name, path, version },
        { signal },
      );
      return Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
    },
    [client, name, path, version],
  );
  const { value } = content;
  const kind = kindOf(path);
  const image = useMemo(
    () =>
      value !== undefined && kind.as === "image"
        ? URL.createObjectURL(new Blob([value], { type: kind.type }))
        : undefined,
    [value],
  );
  useEffect(() => () => image && URL.revokeObjectURL(image), [image]);
  const text = value === undefined || image !== undefined ? undefined : decodeText(value)?.text;
  return (
    <Dialog title={visibleText(nameOf(path))} onClose={onClose} wide closesOnBackdrop>
      <p class="muted">{t.files.facts(bytes(size), time(mtime))}</p>
      {content.error !== undefined && <Problem error={content.error} retry={content.reload} />}
      {!isSmall && <p>{t.bucketTabs.tooLargeToView(bytes(maxViewedBytes))}</p>}
      {image !== undefined && <img class="trash-view" src={image} alt={t.files.imageOf(visibleText(path))} />}
      {text !== undefined && (
        <section class="trash-view" tabIndex={0} aria-label={t.files.contentOf(visibleText(path))}>
          <pre>{text.slice(0, maxShownChars)}</pre>
        </section>
      )}
      {value !== undefined && image === undefined && text === undefined && <p>{t.files.noPreview}</p>}
      <footer>
        <Button onClick={onClose}>{t.frame.close}</Button>
        {value !== undefined && (
          <Button icon="download" onClick={() => save(nameOf(path), new Blob([value]))}>
            {t.files.download}
          </Button>
        )}
      </footer>
    </Dialog>
  );
}

/** The text once it has not changed for a moment. */
function useSettled(text: string, ms: number): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), ms);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
