import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Bucket, patterns } from "../../../client/index.ts";
import { go, linkTo } from "../../route.ts";
import { serverUrl, useSession } from "../../session/session.ts";
import { useUnsaved } from "../../session/unsaved-work.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { useLoad, WhenLoaded } from "../../ui/call.tsx";
import { Check, Choice, FieldProblem, Form, FormProblem, Submit, TextField } from "../../ui/form.tsx";
import { rich } from "../../ui/rich.tsx";
import { toast } from "../../ui/toasts.tsx";
import { HostCertificates } from "./host-certificates.tsx";
import { deleteBucket, mayMoveRoot, otherRoot, type SiteProblem, SiteProblemList } from "./parts.tsx";

interface SettingsTabProps {
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
      <HostCertificates bucket={bucket} />
      {rights.may("static-bucket_site_problems", name) && <SiteProblems bucket={bucket} />}
      {rights.may("static-bucket_delete", name) && <DangerZone bucket={bucket} />}
    </>
  );
}

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
  const change = (part: Partial<SettingsDraft>) => setDraft({ ...draft, ...part });
  const changes = changesOf(bucket, draft);
  const isDirty = Object.keys(changes).length > 0;
  const hostProblem = changes.hosts && hostsProblem(draft.hosts);
  const released = useUnsaved(isDirty, t.bucketTabs.unsaved(name));
  const mayMoveAddresses = rights.globally({ static_bucket: "write" });

  const save = async (moving: { readonly move_http_root?: true } = {}) => {
    await client.call("static-bucket_update", { name, ...changes, ...moving });
    released();
    toast(t.buckets.saved(name));
    onChange();
  };
  const submit = async () => {
    try {
      await save();
    } catch (error) {
      if (otherRoot(error) === undefined || !mayMoveAddresses) throw error;
      if (await mayMoveRoot(error, name)) await save({ move_http_root: true });
    }
  };
  return (
    <Form formRef={form} class="form card settings" label={t.bucketTabs.settings} onSubmit={submit}>
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
        <FieldProblem field="public" />
      </fieldset>
      <fieldset class="field">
        <legend>{t.bucketTabs.addresses}</legend>
        <Check
          label={t.buckets.httpRoot}
          hint={t.buckets.httpRootHint(serverUrl)}
          checked={draft.isRoot}
          onChange={(isRoot) => change({ isRoot })}
        />
        <FieldProblem field="is_http_root" />
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
        <TextField
          label={t.buckets.hosts}
          hint={t.buckets.hostsHint}
          field="hosts"
          error={hostProblem}
          value={draft.hosts}
          onChange={(hosts) => change({ hosts })}
        />
      ) : (
        <p class="hint">{t.bucketTabs.hostsNeed(draft.hosts)}</p>
      )}
      <TextField
        label={t.buckets.folder}
        hint={t.buckets.folderHint}
        field="path"
        value={draft.path}
        onChange={(path) => change({ path })}
      />
      <Check
        label={t.buckets.on}
        hint={t.buckets.onHint}
        checked={draft.enable}
        onChange={(enable) => change({ enable })}
      />
      <FormProblem />
      <footer class="row">
        <Submit disabled={!isDirty || hostProblem !== undefined}>{t.frame.save}</Submit>
        {isDirty && <Button onClick={() => setDraft(toDraft(bucket))}>{t.frame.discard}</Button>}
      </footer>
    </Form>
  );
}

function DangerZone({ bucket }: { readonly bucket: Bucket }) {
  const { client } = useSession();
  return (
    <section class="card danger-zone">
      <h2>{t.bucketTabs.danger}</h2>
      <p>{t.buckets.deleteText(bucket.path)}</p>
      <Button kind="danger" icon="trash" onClick={() => deleteBucket(client, bucket, () => go("#/buckets"))}>
        {t.buckets.deleteBucket}
      </Button>
    </section>
  );
}

/** What the form of the settings contains. */
interface SettingsDraft {
  readonly isPublic: boolean;
  readonly isRoot: boolean;
  readonly cors: boolean;
  readonly cleanUrls: boolean;
  readonly enable: boolean;
  /** Host names, separated by spaces. */
  readonly hosts: string;
  readonly path: string;
}

function toDraft(bucket: Bucket): SettingsDraft {
  return {
    isPublic: bucket.public !== false,
    isRoot: bucket.is_http_root,
    cors: bucket.cors,
    cleanUrls: bucket.clean_urls === true,
    enable: bucket.enable,
    hosts: bucket.hosts?.join(" ") ?? "",
    path: bucket.path,
  };
}

interface Changes {
  public?: boolean;
  is_http_root?: boolean;
  cors?: boolean;
  clean_urls?: boolean;
  enable?: boolean;
  hosts?: string[];
  path?: string;
}

/**
 * Settings that differ from the bucket's. Only they are sent: what somebody else has changed meanwhile stays, and host names need
 * more rights than the rest.
 */
function changesOf(bucket: Bucket, draft: SettingsDraft): Changes {
  const before = toDraft(bucket);
  const changes: Changes = {};
  if (draft.isPublic !== before.isPublic) changes.public = draft.isPublic;
  if (draft.isRoot !== before.isRoot) changes.is_http_root = draft.isRoot;
  if (draft.cors !== before.cors) changes.cors = draft.cors;
  if (draft.cleanUrls !== before.cleanUrls) changes.clean_urls = draft.cleanUrls;
  if (draft.enable !== before.enable) changes.enable = draft.enable;
  const hosts = namesIn(draft.hosts);
  if (hosts.join(" ") !== before.hosts) changes.hosts = hosts;
  if (draft.path !== before.path) changes.path = draft.path;
  return changes;
}

/** Host names in a text, separated by spaces or commas. */
export function namesIn(hosts: string): string[] {
  return hosts.split(/[\s,]+/).filter((host) => host !== "");
}

/** Why the server would refuse a name for a bucket; undefined for a valid one. */
export function nameProblem(name: string): string | undefined {
  return patterns.bucketName.test(name) ? undefined : t.buckets.badName;
}

/** Why the server would refuse host names; undefined for valid ones. */
export function hostsProblem(hosts: string): string | undefined {
  const wrong = namesIn(hosts).find((host) => !patterns.hostName.test(host.toLowerCase()));
  return wrong && t.buckets.badHost(wrong);
}

/** What is wrong with `_headers` and `_redirects` of the files that the bucket is served from. */
function SiteProblems({ bucket }: { readonly bucket: Bucket }) {
  const { client } = useSession();
  const { name } = bucket;
  const list = useLoad(
    (signal): Promise<SiteProblem[]> => client.call("static-bucket_site_problems", { name }, { signal }),
    [client, bucket],
  );
  const linkToFile = (file: string) => (
    <a class="mono" href={linkTo("buckets", [name], { file })}>
      {file}
    </a>
  );
  return (
    <section class="card form site-rules">
      <h2>{t.bucketTabs.rules}</h2>
      <p class="muted">
        {rich(t.bucketTabs.rulesAbout, {
          headers: linkToFile("_headers"),
          redirects: linkToFile("_redirects"),
        })}
      </p>
      <WhenLoaded of={list} rows={1}>
        {(problems) =>
          problems.length === 0 ? (
            <p class="notice good">{t.bucketTabs.noProblems}</p>
          ) : (
            <SiteProblemList problems={problems} />
          )
        }
      </WhenLoaded>
    </section>
  );
}
