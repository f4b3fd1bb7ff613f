import { useEffect, useMemo, useState } from "preact/hooks";
import { closeTo, go, linkTo, replaceRoute, route } from "../../../route.ts";
import { useSession } from "../../../session.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { useLoad } from "../../../ui/call.tsx";
import { Field, typed } from "../../../ui/form.tsx";
import { Page } from "../../../ui/page.tsx";
import { Problem } from "../../../ui/problem.tsx";
import { Skeleton } from "../../../ui/skeleton.tsx";
import { SortHead } from "../../../ui/sort-head.tsx";
import { type BucketRecord, loadBuckets } from "../bucket-access.ts";
import { BucketForm } from "./bucket-form.tsx";
import { BucketRow } from "./bucket-row.tsx";
import { arranged, currentListView, type ListSort, sortBy, updateListView } from "./list-view.ts";

/** Buckets that the token may see. `?new=yes` opens the form for a new one. */
export function BucketList() {
  const session = useSession();
  const { value: records, error, reload } = useLoad((signal) => loadBuckets(session, signal), [session]);
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
      {error !== undefined && <Problem error={error} retry={reload} />}
      {records === undefined && error === undefined && <Skeleton />}
      {records?.length === 0 && (
        <div class="card empty">
          <p>{rights.may("static-bucket_list") ? t.buckets.none : t.buckets.noneNamed}</p>
          <p>{t.buckets.about}</p>
        </div>
      )}
      {records !== undefined && records.length > 0 && (
        <Table records={records} onCreate={setCreating} onChange={reload} />
      )}
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
  readonly onCreate: (name: string) => void;
  readonly onChange: () => void;
}

/** From this number of buckets on the list has a search. */
const searchedFrom = 6;

function Table({ records, onCreate, onChange }: TableProps) {
  const view = currentListView();
  const { find, sort, down } = view;
  const shown = useMemo(() => arranged(records, view), [records, find, sort, down]);
  const head = (key: ListSort, label: string) => (
    <SortHead
      label={label}
      numeric={key === "files" || key === "size"}
      order={sort === key ? (down ? "descending" : "ascending") : undefined}
      onSort={() => sortBy(key)}
    />
  );
  return (
    <>
      {(records.length >= searchedFrom || find !== "") && (
        <div class="row buckets-search">
          <input
            type="search"
            aria-label={t.buckets.search}
            placeholder={t.buckets.search}
            value={find}
            onInput={(event: Event) => updateListView({ find: typed(event) })}
          />
          <span class="muted" role="status">
            {t.buckets.shownOf(shown.length, records.length)}
          </span>
        </div>
      )}
      {shown.length === 0 ? (
        <p class="card empty">{t.buckets.noneFound(find)}</p>
      ) : (
        <div class="table-box">
          <table class="table buckets-table">
            <thead>
              <tr>
                {head("name", t.frame.name)}
                {head("files", t.buckets.files)}
                {head("size", t.buckets.size)}
                {head("changed", t.buckets.changed)}
                <th scope="col">{t.buckets.access}</th>
                <th scope="col">{t.buckets.address}</th>
                <th scope="col">
                  <span class="unseen">{t.buckets.actions}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {shown.map((record) => (
                <BucketRow key={record.name} record={record} onCreate={onCreate} onChange={onChange} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
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
    <form
      class="card row buckets-open"
      onSubmit={(event: Event) => {
        event.preventDefault();
        if (name !== "") go(linkTo("buckets", [name]));
      }}
    >
      <Field label={t.buckets.openByName} hint={t.buckets.openByNameHint}>
        <input
          type="text"
          value={name}
          autocomplete="off"
          spellcheck={false}
          onInput={(event: Event) => setName(typed(event))}
        />
      </Field>
      <Button type="submit" disabled={name === ""}>
        {t.buckets.open}
      </Button>
    </form>
  );
}
