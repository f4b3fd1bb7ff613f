import { useState } from "preact/hooks";
import { serverUrl, useSession } from "../../../session.ts";
import { t } from "../../../text/text.ts";
import { Check, Choice, FieldProblem, FormDialog, TextField } from "../../../ui/form.tsx";
import { showError, toast } from "../../../ui/toasts.tsx";
import { mayMoveRoot } from "../parts.tsx";
import { namesIn } from "../settings/settings-tab.tsx";

interface BucketFormProps {
  /** Suggested name. */
  readonly name?: string;
  readonly onClose: () => void;
  readonly onDone: (name: string) => void;
}

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
  const allowed = name === "" || rights.may("static-bucket_create", name);

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
      if (!rights.globally({ static_bucket: "write" }) || !(await mayMoveRoot(error, name))) throw error;
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
      disabled={name === "" || !allowed}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField
        label={t.frame.name}
        hint={t.buckets.nameHint}
        field="name"
        error={allowed ? undefined : t.buckets.mayNotCreate}
        value={name}
        onChange={setName}
      />
      <TextField
        label={t.buckets.folder}
        hint={t.buckets.folderHintNew}
        field="path"
        placeholder={name}
        value={path}
        onChange={setPath}
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
    </FormDialog>
  );
}
