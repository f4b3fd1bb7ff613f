import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Bucket, InvalidInput } from "../../../../client/index.ts";
import { go } from "../../../route.ts";
import { serverUrl, useSession } from "../../../session.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { Check, Choice, Field, typed } from "../../../ui/form.tsx";
import { explain, Problem } from "../../../ui/problem.tsx";
import { toast } from "../../../ui/toasts.tsx";
import { useUnsaved } from "../../../unsaved-work.ts";
import { deleteBucket } from "../delete-bucket.ts";
import { mayMoveRoot, otherRoot } from "../move-root.ts";
import { changesOf, type SettingsDraft, toDraft } from "./settings-draft.ts";
import { SiteProblems } from "./site-problems.tsx";

export interface SettingsTabProps {
  readonly bucket: Bucket;
  readonly onChange: () => void;
}

/** Settings of a bucket. */
export function SettingsTab({ bucket, onChange }: SettingsTabProps) {
  const { rights } = useSession();
  const { name } = bucket;
  return (
    <>
      {rights.may("static-bucket_update", name) && <SettingsForm bucket={bucket} onChange={onChange} />}
      {rights.may("static-bucket_site_problems", name) && <SiteProblems bucket={bucket} />}
      {rights.may("static-bucket_delete", name) && <DangerZone bucket={bucket} />}
    </>
  );
}

/** Fields that show what is wrong with their value themselves. */
const shownFields: readonly unknown[] = ["path", "is_http_root", "public", "hosts"];

function SettingsForm({ bucket, onChange }: SettingsTabProps) {
  const { client, rights } = useSession();
  const { name } = bucket;
  const [draft, setDraft] = useState(toDraft(bucket));
  const form = useRef<HTMLFormElement>(null);
  const shown = useRef(bucket);
  // The button that saved is disabled then, and loses the focus.
  useLayoutEffect(() => {
    if (shown.current === bucket) return;
    shown.current = bucket;
    setDraft(toDraft(bucket));
    form.current?.focus({ preventScroll: true });
  }, [bucket]);
  const [refusal, setRefusal] = useState<unknown>();
  const change = (part: Partial<SettingsDraft>) => setDraft({ ...draft, ...part });
  const changes = changesOf(bucket, draft);
  const isDirty = Object.keys(changes).length > 0;
  const released = useUnsaved(isDirty, t.bucketTabs.unsaved(name));
  const field = refusal instanceof InvalidInput ? refusal.data.field : undefined;
  const faultOf = (which: string) => (field === which ? explain(refusal) : undefined);
  const mayMoveAddresses = rights.globally({ static_bucket: "write" });

  const save = async (moving: { readonly move_http_root?: true } = {}) => {
    await client.call("static-bucket_update", { name, ...changes, ...moving });
    released();
    toast(t.buckets.saved(name));
    onChange();
  };
  const submit = async () => {
    setRefusal(undefined);
    try {
      await save();
    } catch (error) {
      if (otherRoot(error) === undefined || !mayMoveAddresses) return setRefusal(error);
      if (await mayMoveRoot(error, name)) await save({ move_http_root: true }).catch(setRefusal);
    }
  };
  return (
    <form
      ref={form}
      class="form card settings"
      aria-label={t.bucketTabs.settings}
      tabIndex={-1}
      onSubmit={(event: Event) => event.preventDefault()}
    >
      <fieldset class="field">
        <legend>{t.buckets.readers}</legend>
        <Choice
          name="readers"
          label={t.buckets.public}
          hint={t.buckets.publicHint(serverUrl, name)}
          checked={draft.isPublic}
          onChoose={() => change({ isPublic: true })}
        />
        <Choice
          name="readers"
          label={t.buckets.private}
          hint={t.buckets.privateHint}
          checked={!draft.isPublic}
          onChoose={() => change({ isPublic: false })}
        />
        {faultOf("public") !== undefined && <Problem error={refusal} />}
      </fieldset>
      <fieldset class="field">
        <legend>{t.bucketTabs.addresses}</legend>
        <Check
          label={t.buckets.httpRoot}
          hint={t.buckets.httpRootHint(serverUrl)}
          checked={draft.isRoot}
          onChange={(isRoot) => change({ isRoot })}
        />
        {faultOf("is_http_root") !== undefined && <Problem error={refusal} />}
        {draft.isRoot && !bucket.is_http_root && <p class="notice">{t.buckets.rootWarning}</p>}
        <Check
          label={t.buckets.cleanUrls}
          hint={t.buckets.cleanUrlsHint}
          checked={draft.cleanUrls}
          onChange={(cleanUrls) => change({ cleanUrls })}
        />
        <Check
          label={t.buckets.cors}
          hint={t.buckets.corsHint}
          checked={draft.cors}
          onChange={(cors) => change({ cors })}
        />
      </fieldset>
      {mayMoveAddresses ? (
        <Field label={t.buckets.hosts} hint={t.buckets.hostsHint} error={faultOf("hosts")}>
          <input
            type="text"
            value={draft.hosts}
            autocomplete="off"
            spellcheck={false}
            onInput={(event: Event) => change({ hosts: typed(event) })}
          />
        </Field>
      ) : (
        <p class="hint">{t.bucketTabs.hostsNeed(draft.hosts)}</p>
      )}
      <Field label={t.buckets.folder} hint={t.buckets.folderHint} error={faultOf("path")}>
        <input
          type="text"
          value={draft.path}
          autocomplete="off"
          spellcheck={false}
          onInput={(event: Event) => change({ path: typed(event) })}
        />
      </Field>
      <Check
        label={t.buckets.on}
        hint={t.buckets.onHint}
        checked={draft.enable}
        onChange={(enable) => change({ enable })}
      />
      {refusal !== undefined && !shownFields.includes(field) && <Problem error={refusal} />}
      <footer class="row">
        <Button kind="primary" type="submit" disabled={!isDirty} onClick={submit}>
          {t.frame.save}
        </Button>
        {isDirty && <Button onClick={() => setDraft(toDraft(bucket))}>{t.frame.discard}</Button>}
      </footer>
    </form>
  );
}

function DangerZone({ bucket }: { readonly bucket: Bucket }) {
  const { client } = useSession();
  return (
    <section class="card danger-zone">
      <h2>{t.bucketTabs.danger}</h2>
      <p>{t.buckets.deleteText(bucket.path)}</p>
      <Button
        kind="danger"
        icon="trash"
        onClick={async () => {
          if (await deleteBucket(client, bucket)) go("#/buckets");
        }}
      >
        {t.buckets.deleteBucket}
      </Button>
    </section>
  );
}
