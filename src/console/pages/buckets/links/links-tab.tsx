import { useState } from "preact/hooks";
import type { StoredLink } from "../../../../client/index.ts";
import { ago, number, time } from "../../../format.ts";
import { useSession } from "../../../session.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { useLoad } from "../../../ui/call.tsx";
import { confirm } from "../../../ui/dialog.tsx";
import { Problem } from "../../../ui/problem.tsx";
import { Skeleton } from "../../../ui/skeleton.tsx";
import { toast } from "../../../ui/toasts.tsx";
import { FileName } from "../../../ui/visible-text.tsx";
import { linkKinds, MakeLink } from "./link-form.tsx";

/** Signed links of a bucket. */
export function LinksTab({ name }: { readonly name: string }) {
  const session = useSession();
  const { client, rights } = session;
  const maySee = rights.may("static-bucket_links", name);
  const mayRevokeAll = rights.inBucket(name, { static_bucket: "write" });
  const { value, error, reload } = useLoad(
    async (signal) => (maySee ? client.call("static-bucket_links", { name }, { signal }) : []),
    [client, name],
  );
  const [creating, setCreating] = useState(false);
  const kinds = linkKinds(rights, name);
  const revokeAll = async () => {
    const sure = await confirm({
      title: t.bucketTabs.revokeAllQuestion(name),
      text: t.bucketTabs.revokeAllText,
      action: t.bucketTabs.revokeAll,
      danger: true,
    });
    if (!sure) return;
    await client.call("static-bucket_unlink", { name });
    toast(t.bucketTabs.allRevoked);
    reload();
  };
  const revoke = async (link: StoredLink) => {
    const sure = await confirm({
      title: t.bucketTabs.revokeQuestion,
      text: t.bucketTabs.revokeText(link.path === "" ? name : link.path),
      action: t.bucketTabs.revoke,
      danger: true,
    });
    if (!sure) return;
    await client.call("static-bucket_unlink", { name, id: link.id });
    toast(t.bucketTabs.revoked);
    reload();
  };
  return (
    <>
      <div class="row spread">
        <p class="muted">{t.bucketTabs.linksAbout}</p>
        <div class="actions">
          {mayRevokeAll && <Button onClick={revokeAll}>{t.bucketTabs.revokeAll}</Button>}
          {kinds.length > 0 && (
            <Button icon="link" kind="primary" onClick={() => setCreating(true)}>
              {t.bucketTabs.newLink}
            </Button>
          )}
        </div>
      </div>
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value === undefined && error === undefined && <Skeleton />}
      {value?.length === 0 && (
        <p class="card empty">{maySee ? t.bucketTabs.noLinks : t.bucketTabs.mayNotSeeLinks}</p>
      )}
      {value !== undefined && value.length > 0 && (
        <div class="table-box">
          <table class="table stacked">
            <thead>
              <tr>
                <th scope="col">{t.bucketTabs.path}</th>
                <th scope="col">{t.bucketTabs.kind}</th>
                <th scope="col">{t.bucketTabs.uses}</th>
                <th scope="col">{t.bucketTabs.by}</th>
                <th scope="col">{t.bucketTabs.made}</th>
                <th scope="col">{t.bucketTabs.ends}</th>
                <th scope="col">
                  <span class="unseen">{t.buckets.actions}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {value.map((link) => (
                <LinkRow
                  key={link.id}
                  link={link}
                  onRevoke={mayRevokeAll || link.by === session.me.token_key ? () => revoke(link) : undefined}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {creating && <MakeLink name={name} kinds={kinds} onClose={() => setCreating(false)} onMade={reload} />}
    </>
  );
}

interface LinkRowProps {
  readonly link: StoredLink;
  /** Undefined when the token may not revoke it. */
  readonly onRevoke: (() => Promise<void>) | undefined;
}

function LinkRow({ link, onRevoke }: LinkRowProps) {
  const { me } = useSession();
  const { path, kind, selected, password, max_downloads, downloads = 0 } = link;
  return (
    <tr>
      <th scope="row" class="path">
        {path === "" ? t.bucketTabs.wholeBucket : <FileName name={path} />}
        {selected !== undefined && <span class="muted"> · {t.frame.countItems(selected)}</span>}
      </th>
      <td>
        <span class="row">
          {kindTitle(kind)}
          {password && <span class="badge">{t.bucketTabs.withPassword}</span>}
        </span>
      </td>
      <td data-label={t.bucketTabs.uses}>
        {max_downloads === undefined
          ? t.bucketTabs.unlimited
          : t.bucketTabs.usesOf(number(downloads), number(max_downloads))}
      </td>
      <td data-label={t.bucketTabs.by}>
        {link.by === me.token_key && me.username ? me.username : <span class="mono">{link.by}</span>}
      </td>
      <td title={time(link.created)} data-label={t.bucketTabs.made}>
        {ago(link.created)}
      </td>
      <td title={time(link.expires)} data-label={t.bucketTabs.ends}>
        {ago(link.expires)}
      </td>
      <td class="row-actions">
        {onRevoke !== undefined && (
          <Button kind="quiet" onClick={onRevoke}>
            {t.bucketTabs.revoke}
          </Button>
        )}
      </td>
    </tr>
  );
}

function kindTitle(kind: StoredLink["kind"]): string {
  if (kind === "upload") return t.bucketTabs.dropBox;
  return kind === "zip" ? t.bucketTabs.folderZip : t.bucketTabs.oneFile;
}
