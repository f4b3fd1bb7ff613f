import { useEffect, useMemo, useState } from "preact/hooks";
import type { BucketSite } from "../../../client/index.ts";
import { ago, bytes, number, time } from "../../format.ts";
import { closeTo, go, linkTo, replaceRoute, route } from "../../route.ts";
import { type Session, serverUrl, useSession } from "../../session/session.ts";
import { hasFiles, takeDrop } from "../../stray-drops.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { useLoad, WhenLoaded } from "../../ui/call.tsx";
import { toClipboard } from "../../ui/copy.tsx";
import { type Column, DataTable, useTableView } from "../../ui/data-table.tsx";
import { Check, Choice, FieldProblem, Form, FormDialog, Search, Submit, TextField } from "../../ui/form.tsx";
import { type MenuItem, MoreMenu } from "../../ui/more-menu.tsx";
import { arrange } from "../../ui/order.ts";
import { Page } from "../../ui/page.tsx";
import { showError, toast } from "../../ui/toasts.tsx";
import { type BucketRecord, loadBuckets } from "./bucket-access.ts";
import { bucketToMount, closeMount, MountDialog, openMount } from "./mount/mount-dialog.tsx";
import { Badges, deleteBucket, mayMoveRoot, shortAddress, siteUrl } from "./parts.tsx";
import { onHost, publicUrl } from "./path.ts";
import { hostsProblem, nameProblem, namesIn } from "./settings-tab.tsx";
import { contentOf, runOrShowError, useUpload } from "./uploads/use-upload.tsx";

/** Buckets that the token may see. `?new=yes` opens the form for a new one. */
export function BucketList() {
  const session = useSession();
  const list = useLoad((signal) => loadBuckets(session, signal), [session]);
  const { value: records, reload } = list;
  const { rights } = session;
  const mayCreate = rights.may("static-bucket_create");
  const isRequested = mayCreate && route.value.query.has("new");
  const [suggested, setCreating] = useState<string>();
  const creating = suggested ?? (isRequested ? "" : undefined);
  const close = () => {
    setCreating(undefined);
    if (isRequested) closeTo({}, (before) => !before.query.has("new"));
  };
  useReloadUntilCounted(records, reload);
  return (
    <Page
      title={t.buckets.buckets}
      actions={
        mayCreate && (
          <Button icon="plus" kind="primary" onClick={() => setCreating("")}>
            {t.buckets.newBucket}
          </Button>
        )
      }
    >
      {!rights.may("static-bucket_list") && <OpenByName />}
      <WhenLoaded of={list}>
        {(records) =>
          records.length > 0 ? (
            <Table records={records} onCreate={setCreating} onChange={reload} />
          ) : (
            <div class="card empty">
              <p>{rights.may("static-bucket_list") ? t.buckets.none : t.buckets.noneNamed}</p>
              <p>{t.buckets.about}</p>
            </div>
          )
        }
      </WhenLoaded>
      {creating !== undefined && (
        <BucketForm
          name={creating}
          onClose={close}
          onDone={(name) => (isRequested ? replaceRoute : go)(linkTo("buckets", [name]))}
        />
      )}
    </Page>
  );
}

interface TableProps {
  readonly records: readonly BucketRecord[];
  /** Called to create a bucket that the token names and that does not exist. */
  readonly onCreate: (name: string) => void;
  readonly onChange: () => void;
}

/** From this number of buckets on the list has a search. */
const searchedFrom = 6;

function Table({ records, onCreate, onChange }: TableProps) {
  const session = useSession();
  const drop = useBucketDrop();
  const byName = useMemo(() => arrange(records, ({ name }) => name, false), [records]);
  const columns = columnsOf(session, onCreate, onChange);
  const view = useTableView(byName, {
    columns,
    text: ({ name, site }) => [name, ...(site?.hosts ?? [])].join(" ").toLowerCase(),
    initial: { column: "name", isDown: false },
  });
  const mounted = bucketToMount();
  const isMounted = records.some(({ name, bucket }) => name === mounted && bucket !== null);
  return (
    <>
      {(records.length >= searchedFrom || view.find !== "") && (
        <div class="row buckets-search">
          <Search label={t.buckets.search} value={view.find} onChange={view.onFind} />
          <span class="muted" role="status">
            {t.buckets.shownOf(view.shown.length, records.length)}
          </span>
        </div>
      )}
      {view.shown.length === 0 ? (
        <p class="card empty">{t.buckets.noneFound(view.find)}</p>
      ) : (
        <DataTable
          {...view}
          label={t.buckets.buckets}
          class="buckets-table"
          stacks
          columns={columns}
          rows={view.shown}
          keyOf={({ name }) => name}
          rowProps={(record) => ({
            class: `buckets-row${drop.over === record.name ? " dropping" : ""}${record.bucket === null ? "" : " opens"}`,
            onClick: ({ target }: MouseEvent) => openRow(record, target as Element),
            ...drop.listenersOf(record),
          })}
        />
      )}
      {drop.question}
      {mounted !== undefined && isMounted && <MountDialog bucket={mounted} onClose={closeMount} />}
    </>
  );
}

function openRow({ name, bucket }: BucketRecord, target: Element): void {
  const isOwnClick = target.closest("a, button, [popover]") === null;
  // Selecting text in a row opens nothing.
  if (isOwnClick && bucket !== null && getSelection()?.isCollapsed !== false) go(linkTo("buckets", [name]));
}

function columnsOf(
  session: Session,
  onCreate: TableProps["onCreate"],
  onChange: () => void,
): ReadonlyArray<Column<BucketRecord>> {
  return [
    {
      id: "name",
      title: t.frame.name,
      kind: "heading",
      sort: ({ name }) => name,
      cell: ({ name, bucket }) =>
        bucket === null ? <span>{name}</span> : <a href={linkTo("buckets", [name])}>{name}</a>,
    },
    {
      id: "files",
      title: t.buckets.files,
      kind: "number",
      sort: ({ usage }) => usage?.files ?? null,
      startsDown: true,
      cell: ({ usage }) => (usage === null ? t.buckets.counting : usage && number(usage.files)),
      // A number alone says nothing without its column.
      stacked: ({ usage }) =>
        usage === null ? t.buckets.counting : usage && t.frame.countFiles(usage.files),
    },
    {
      id: "size",
      title: t.buckets.size,
      kind: "number",
      sort: ({ usage }) => usage?.bytes ?? null,
      startsDown: true,
      cell: ({ usage }) => usage && bytes(usage.bytes),
    },
    {
      id: "changed",
      title: t.buckets.changed,
      kind: "muted",
      sort: ({ usage }) => usage?.newest ?? null,
      startsDown: true,
      tip: ({ usage }) => (usage?.newest == null ? undefined : time(usage.newest)),
      cell: ({ usage }) => usage?.newest != null && ago(usage.newest),
    },
    {
      id: "access",
      title: t.buckets.access,
      stacked: "line",
      cell: (record) =>
        record.site !== undefined && (
          <span class="row">
            <Badges {...record} />
          </span>
        ),
    },
    {
      id: "address",
      title: t.buckets.address,
      stacked: "line",
      cell: ({ site, name }) => site != null && <Addresses name={name} site={site} />,
    },
    {
      id: "actions",
      title: t.buckets.actions,
      kind: "actions",
      cell: (record) => {
        const { name, bucket } = record;
        const actions = actionsOf(session, record, onChange);
        if (actions.length > 0) return <MoreMenu label={t.buckets.actionsOf(name)} items={actions} />;
        const mayCreate = bucket === null && session.rights.may("static-bucket_create", name);
        return mayCreate && <Button onClick={() => onCreate(name)}>{t.buckets.createIt}</Button>;
      },
    },
  ];
}

/** Every address of the bucket; each opens the site if a browser can. */
function Addresses({ name, site }: { readonly name: string; readonly site: BucketSite }) {
  const open = siteUrl({ name, site });
  const urls =
    site.hosts.length > 0
      ? site.hosts.map((host) => `${onHost(serverUrl, host)}/`)
      : [publicUrl(serverUrl, { name, site, path: "" })];
  return (
    <span class="buckets-urls">
      {urls.map((url) =>
        open === undefined ? (
          <span key={url} class="mono muted">
            {shortAddress(url)}
          </span>
        ) : (
          <a
            key={url}
            class="mono"
            href={url}
            target="_blank"
            rel="noopener noreferrer"
            title={t.buckets.openSite}
          >
            {shortAddress(url)}
          </a>
        ),
      )}
    </span>
  );
}

function actionsOf(
  { client, rights }: Session,
  { name, site, bucket }: BucketRecord,
  onChange: () => void,
): MenuItem[] {
  if (site === null) return [];
  const actions: MenuItem[] = [{ label: t.buckets.mount, icon: "drive", onSelect: () => openMount(name) }];
  if (site?.enable !== false)
    actions.push({
      label: t.buckets.copyAddress,
      icon: "link",
      onSelect: async () => {
        await toClipboard(publicUrl(serverUrl, { name, site, path: "" }));
        toast(t.buckets.addressCopied);
      },
    });
  if (bucket == null) return actions;
  if (rights.may("static-bucket_update", name))
    actions.unshift({
      label: t.buckets.settings,
      icon: "settings",
      onSelect: () => go(linkTo("buckets", [name, "settings"])),
    });
  if (rights.may("static-bucket_delete", name))
    actions.push({
      label: t.buckets.deleteBucket,
      icon: "trash",
      danger: true,
      onSelect: () => deleteBucket(client, bucket, onChange),
    });
  return actions;
}

/** Makes the rows of buckets drop targets that upload to the top of the bucket. */
function useBucketDrop() {
  const { client, rights } = useSession();
  /** Bucket that files are over. */
  const [over, setOver] = useState<string>();
  const { start, question } = useUpload();
  const listenersOf = (record: BucketRecord) => ({
    onDragOver: (event: DragEvent) => {
      if (!hasFiles(event)) return;
      const takes = isFree() && refusal(record, rights.overWebdav(record.name)) === undefined;
      setOver(takes ? record.name : undefined);
    },
    onDragLeave: (event: DragEvent) => {
      const { currentTarget, relatedTarget } = event;
      if (!(currentTarget as Element).contains(relatedTarget as Element | null)) setOver(undefined);
    },
    onDrop: (event: DragEvent) => {
      const { dataTransfer } = event;
      if (dataTransfer === null || !hasFiles(event)) return;
      takeDrop(event);
      setOver(undefined);
      if (!isFree()) return;
      const why = refusal(record, rights.overWebdav(record.name));
      if (why !== undefined) return toast(why, "notice");
      const { name } = record;
      runOrShowError(
        contentOf(dataTransfer).then((dropped) =>
          start({ bucket: name, files: client.bucket(name), into: "" }, dropped),
        ),
      );
    },
  });
  return { over, listenersOf, question };
}

/** Whether no dialog is open. */
function isFree(): boolean {
  return document.querySelector("dialog[open]") === null;
}

/** Reason why nothing can be uploaded into the bucket; undefined when it can. */
function refusal({ name, site }: BucketRecord, mayWrite: boolean): string | undefined {
  if (site === null) return t.buckets.missingForDrop(name);
  if (site?.enable === false) return t.buckets.offForDrop(name);
  if (!mayWrite) return t.buckets.deniedForDrop(name);
  return undefined;
}

const countedAfterMs = 3000;
/** Buckets that cannot be counted soon, such as those with millions of files, are not waited for. */
const maxReloads = 10;

/** Loads the list again while the server counts files for the first time. */
function useReloadUntilCounted(records: readonly BucketRecord[] | undefined, reload: () => void): void {
  const [reloads, setReloads] = useState(0);
  useEffect(() => {
    if (reloads >= maxReloads || !records?.some(({ usage }) => usage === null)) return;
    const timer = setTimeout(() => {
      setReloads(reloads + 1);
      reload();
    }, countedAfterMs);
    return () => clearTimeout(timer);
  }, [records]);
}

/** Form to open a bucket by name. A token for `global` or `site-*` covers more buckets than it names. */
function OpenByName() {
  const [name, setName] = useState("");
  return (
    <Form class="card row buckets-open" onSubmit={() => go(linkTo("buckets", [name]))}>
      <TextField
        label={t.buckets.openByName}
        hint={t.buckets.openByNameHint}
        value={name}
        onChange={setName}
      />
      <Submit kind="plain" disabled={name === ""}>
        {t.buckets.open}
      </Submit>
    </Form>
  );
}

interface BucketFormProps {
  /** Suggested name. */
  readonly name?: string;
  readonly onClose: () => void;
  readonly onDone: (name: string) => void;
}

/** Dialog that creates a bucket. */
function BucketForm({ name: given = "", onClose, onDone }: BucketFormProps) {
  const { client, rights } = useSession();
  const [name, setName] = useState(given);
  const [path, setPath] = useState("");
  const [isRoot, setRoot] = useState(false);
  const [cors, setCors] = useState(false);
  const [isPublic, setPublic] = useState(true);
  const [hosts, setHosts] = useState("");
  const [cleanUrls, setCleanUrls] = useState(false);
  const [hasMore, setMore] = useState(false);
  const problem =
    nameProblem(name) ?? (rights.may("static-bucket_create", name) ? undefined : t.buckets.mayNotCreate);
  const hostProblem = hostsProblem(hosts);

  const submit = async () => {
    const settings = {
      name,
      is_http_root: isRoot,
      cors,
      public: isPublic,
      clean_urls: cleanUrls,
      ...(path === "" ? {} : { path }),
      // To set them needs more than the rest.
      ...(hosts.trim() === "" ? {} : { hosts: namesIn(hosts) }),
    };
    try {
      await client.call("static-bucket_create", settings);
    } catch (error) {
      if (!rights.globally({ static_bucket: "write" }) || !(await mayMoveRoot(error, name))) {
        // It may be about a field that is folded away.
        setMore(true);
        throw error;
      }
      // In two steps, because only a bucket that exists can take the root from another one.
      await client.call("static-bucket_create", { ...settings, is_http_root: false });
      await client
        .call("static-bucket_update", { name, is_http_root: true, move_http_root: true })
        .catch(showError);
    }
    toast(t.buckets.created(name));
    onDone(name);
  };

  return (
    <FormDialog
      title={t.buckets.newBucket}
      action={t.frame.create}
      disabled={name === "" || problem !== undefined || hostProblem !== undefined}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField
        label={t.frame.name}
        hint={t.buckets.nameHint}
        field="name"
        error={name === "" ? undefined : problem}
        value={name}
        onChange={setName}
      />
      <fieldset class="field">
        <legend>{t.buckets.readers}</legend>
        <Choice
          name="readers"
          label={t.buckets.public}
          hint={t.buckets.publicHint(serverUrl, name || "<name>")}
          checked={isPublic}
          onChoose={() => setPublic(true)}
        />
        <Choice
          name="readers"
          label={t.buckets.private}
          hint={t.buckets.privateHint}
          checked={!isPublic}
          onChoose={() => setPublic(false)}
        />
        <FieldProblem field="public" />
      </fieldset>
      <details
        class="form"
        open={hasMore}
        onToggle={({ currentTarget }: Event) => setMore((currentTarget as HTMLDetailsElement).open)}
      >
        <summary>{t.buckets.moreSettings}</summary>
        <Check
          label={t.buckets.httpRoot}
          hint={t.buckets.httpRootHint(serverUrl)}
          checked={isRoot}
          onChange={setRoot}
        />
        <FieldProblem field="is_http_root" />
        {isRoot && <p class="notice">{t.buckets.rootWarning}</p>}
        {rights.globally({ static_bucket: "write" }) && (
          <TextField
            label={t.buckets.hosts}
            hint={t.buckets.hostsHint}
            field="hosts"
            error={hostProblem}
            value={hosts}
            onChange={setHosts}
          />
        )}
        <Check label={t.buckets.cors} hint={t.buckets.corsHint} checked={cors} onChange={setCors} />
        <Check
          label={t.buckets.cleanUrls}
          hint={t.buckets.cleanUrlsHint}
          checked={cleanUrls}
          onChange={setCleanUrls}
        />
        <TextField
          label={t.buckets.folder}
          hint={t.buckets.folderHintNew}
          field="path"
          placeholder={name}
          value={path}
          onChange={setPath}
        />
      </details>
    </FormDialog>
  );
}
