import { useState } from "preact/hooks";
import { go, linkTo } from "../../../route.ts";
import { useSession } from "../../../session.ts";
import { Button } from "../../../ui/button.tsx";
import { Field, typed } from "../../../ui/field.tsx";
import { useLoad } from "../../../ui/load.ts";
import { Page } from "../../../ui/page.tsx";
import { Problem } from "../../../ui/problem.tsx";
import { loadBuckets } from "../bucket-access.ts";
import { BucketForm } from "./bucket-form.tsx";
import { BucketRow } from "./bucket-row.tsx";

/** Buckets that the token may see. */
export function BucketList() {
  const session = useSession();
  const { value: records, error, reload } = useLoad((signal) => loadBuckets(session, signal), [session]);
  const [creating, setCreating] = useState<string>();
  const { rights } = session;
  const mayCreate = rights.anywhere({ static_bucket: "write" });
  return (
    <Page
      title="Buckets"
      actions={
        mayCreate && (
          <Button icon="plus" kind="primary" onClick={() => setCreating("")}>
            New bucket
          </Button>
        )
      }
    >
      <p class="muted">
        A bucket is a folder of files that everybody can read over HTTP and that a token can change.
      </p>
      {!rights.isSuper && <OpenByName />}
      {error !== undefined && <Problem error={error} retry={reload} />}
      {records === undefined && error === undefined && <p class="loading">Loading…</p>}
      {records?.length === 0 && (
        <p class="card empty">
          {rights.isSuper
            ? "There is no bucket yet. Create one with “New bucket”, then add files to it."
            : "Your token names no bucket. If you know the name of one that it may use, open it above."}
        </p>
      )}
      {records !== undefined && records.length > 0 && (
        <ul class="buckets-list">
          {records.map((record) => (
            <BucketRow key={record.name} record={record} onCreate={setCreating} onChange={reload} />
          ))}
        </ul>
      )}
      {creating !== undefined && (
        <BucketForm
          name={creating}
          onClose={() => setCreating(undefined)}
          onDone={(name) => go(linkTo("buckets", [name]))}
        />
      )}
    </Page>
  );
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
      <Field label="Open a bucket by name" hint="Only the Super Token can list all buckets.">
        <input
          type="text"
          value={name}
          autocomplete="off"
          spellcheck={false}
          onInput={(event: Event) => setName(typed(event))}
        />
      </Field>
      <Button type="submit" disabled={name === ""}>
        Open
      </Button>
    </form>
  );
}
