import { useState } from "preact/hooks";
import { InvalidInput } from "../../../../client/index.ts";
import { serverUrl, useSession } from "../../../session.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Check, Choice, Field, typed } from "../../../ui/form.tsx";
import { explain, Problem } from "../../../ui/problem.tsx";
import { showError, toast } from "../../../ui/toasts.tsx";
import { mayMoveRoot } from "../move-root.ts";
import { namesIn } from "../settings/settings-draft.ts";

export interface BucketFormProps {
  /** Suggested name. */
  readonly name?: string;
  readonly onClose: () => void;
  readonly onDone: (name: string) => void;
}

/** Fields that show what is wrong with their value themselves. */
const shownFields: readonly unknown[] = ["name", "path", "is_http_root", "public", "hosts"];

/** Dialog that creates a bucket. */
export function BucketForm({ name: given = "", onClose, onDone }: BucketFormProps) {
  const { client, rights } = useSession();
  const [name, setName] = useState(given);
  const [path, setPath] = useState("");
  const [isRoot, setRoot] = useState(false);
  const [cors, setCors] = useState(false);
  const [isPublic, setPublic] = useState(true);
  const [hosts, setHosts] = useState("");
  const [cleanUrls, setCleanUrls] = useState(false);
  const [refusal, setRefusal] = useState<unknown>();
  const allowed = name === "" || rights.may("static-bucket_create", name);
  const field = refusal instanceof InvalidInput ? refusal.data.field : undefined;
  const faultOf = (which: string) => (field === which ? explain(refusal) : undefined);

  const submit = async () => {
    setRefusal(undefined);
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
      if (!rights.globally({ static_bucket: "write" }) || !(await mayMoveRoot(error, name)))
        return setRefusal(error);
      // In two steps, because only a bucket that exists can take the root from another one.
      try {
        await client.call("static-bucket_create", { ...settings, is_http_root: false });
      } catch (second) {
        return setRefusal(second);
      }
      await client
        .call("static-bucket_update", { name, is_http_root: true, move_http_root: true })
        .catch(showError);
    }
    toast(t.buckets.created(name));
    onDone(name);
  };

  return (
    <Dialog title={t.buckets.newBucket} onClose={onClose}>
      <form class="form" onSubmit={(event: Event) => event.preventDefault()}>
        <Field
          label={t.frame.name}
          hint={t.buckets.nameHint}
          error={allowed ? faultOf("name") : t.buckets.mayNotCreate}
        >
          <input
            type="text"
            value={name}
            autocomplete="off"
            spellcheck={false}
            onInput={(event: Event) => setName(typed(event))}
          />
        </Field>
        <Field label={t.buckets.folder} hint={t.buckets.folderHintNew} error={faultOf("path")}>
          <input
            type="text"
            value={path}
            placeholder={name}
            autocomplete="off"
            spellcheck={false}
            onInput={(event: Event) => setPath(typed(event))}
          />
        </Field>
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
          {faultOf("public") !== undefined && <Problem error={refusal} />}
        </fieldset>
        <Check
          label={t.buckets.httpRoot}
          hint={t.buckets.httpRootHint(serverUrl)}
          checked={isRoot}
          onChange={setRoot}
        />
        {faultOf("is_http_root") !== undefined && <Problem error={refusal} />}
        {isRoot && <p class="notice">{t.buckets.rootWarning}</p>}
        {rights.globally({ static_bucket: "write" }) && (
          <Field label={t.buckets.hosts} hint={t.buckets.hostsHint} error={faultOf("hosts")}>
            <input
              type="text"
              value={hosts}
              autocomplete="off"
              spellcheck={false}
              onInput={(event: Event) => setHosts(typed(event))}
            />
          </Field>
        )}
        <Check label={t.buckets.cors} hint={t.buckets.corsHint} checked={cors} onChange={setCors} />
        <Check
          label={t.buckets.cleanUrls}
          hint={t.buckets.cleanUrlsHint}
          checked={cleanUrls}
          onChange={setCleanUrls}
        />
        {refusal !== undefined && !shownFields.includes(field) && <Problem error={refusal} />}
        <footer>
          <Button onClick={onClose}>{t.frame.cancel}</Button>
          <Button kind="primary" type="submit" disabled={name === "" || !allowed} onClick={submit}>
            {t.frame.create}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
