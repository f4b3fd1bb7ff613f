import { ago, bytes, number, time } from "../../../format.ts";
import { go, linkTo } from "../../../route.ts";
import { serverUrl, useSession } from "../../../session.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { toClipboard } from "../../../ui/copy.tsx";
import { type MenuItem, MoreMenu } from "../../../ui/more-menu.tsx";
import { toast } from "../../../ui/toasts.tsx";
import { Badges } from "../badges.tsx";
import type { BucketRecord } from "../bucket-access.ts";
import { deleteBucket } from "../delete-bucket.ts";
import { MountDialog } from "../mount/mount-dialog.tsx";
import { bucketToMount, closeMount, openMount } from "../mount/mount-route.ts";
import { onHost, publicUrl } from "../path.ts";
import { shortAddress, siteUrl } from "../site-link.tsx";
import { useBucketDrop } from "./bucket-drop.tsx";

export interface BucketRowProps {
  readonly record: BucketRecord;
  /** Called to create a bucket that the token names and that does not exist. */
  readonly onCreate: (name: string) => void;
  readonly onChange: () => void;
}

export function BucketRow({ record, onCreate, onChange }: BucketRowProps) {
  const { name, bucket } = record;
  const { rights } = useSession();
  const drop = useBucketDrop(record);
  const link = linkTo("buckets", [name]);
  const openRow = ({ target }: MouseEvent) => {
    const isOwnClick = (target as Element).closest("a, button, dialog, [popover]") === null;
    // Selecting text in a row opens nothing.
    if (isOwnClick && bucket !== null && getSelection()?.isCollapsed !== false) go(link);
  };
  const actions = useActions(record, onChange);
  return (
    <tr
      class={`buckets-row${drop.hovering ? " dropping" : ""}${bucket === null ? "" : " opens"}`}
      onClick={openRow}
      {...drop.listeners}
    >
      <th scope="row" class="buckets-name">
        {bucket === null ? <span>{name}</span> : <a href={link}>{name}</a>}
      </th>
      <Counts record={record} />
      <td class="buckets-access">
        <span class="row">
          <Badges bucket={bucket} />
        </span>
      </td>
      <td class="buckets-address">
        <Addresses record={record} />
      </td>
      <td class="buckets-actions">
        {bucket === null && rights.may("static-bucket_create", name) && (
          <Button onClick={() => onCreate(name)}>{t.buckets.createIt}</Button>
        )}
        {actions.length > 0 && <MoreMenu label={t.buckets.actionsOf(name)} items={actions} />}
        {drop.question}
        {bucketToMount() === name && <MountDialog bucket={name} onClose={closeMount} />}
      </td>
    </tr>
  );
}

function Counts({ record: { usage } }: { readonly record: BucketRecord }) {
  if (usage == null)
    return (
      <td class="buckets-uncounted muted" colSpan={3}>
        {usage === null && t.buckets.counting}
      </td>
    );
  return (
    <>
      <td class="number buckets-files" data-stacked={t.frame.countFiles(usage.files)}>
        <span>{number(usage.files)}</span>
      </td>
      <td class="number buckets-size">{bytes(usage.bytes)}</td>
      {usage.newest === null ? (
        <td class="buckets-changed none" />
      ) : (
        <td class="buckets-changed muted" title={time(usage.newest)}>
          {ago(usage.newest)}
        </td>
      )}
    </>
  );
}

/** Every address of the bucket; each opens the site if a browser can. */
function Addresses({ record }: { readonly record: BucketRecord }) {
  const { bucket } = record;
  if (bucket == null) return null;
  const open = siteUrl(record);
  const urls = bucket.hosts?.map((host) => `${onHost(serverUrl, host)}/`) ?? [
    publicUrl(serverUrl, { ...record, path: "" }),
  ];
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

function useActions(record: BucketRecord, onChange: () => void): MenuItem[] {
  const { name, bucket } = record;
  const { client, rights } = useSession();
  if (bucket === null) return [];
  const actions: MenuItem[] = [{ label: t.buckets.mount, icon: "drive", onSelect: () => openMount(name) }];
  if (bucket?.enable !== false)
    actions.push({
      label: t.buckets.copyAddress,
      icon: "copy",
      onSelect: async () => {
        await toClipboard(publicUrl(serverUrl, { name, bucket, path: "" }));
        toast(t.buckets.addressCopied);
      },
    });
  if (bucket === undefined) return actions;
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
      onSelect: async () => {
        if (await deleteBucket(client, bucket)) onChange();
      },
    });
  return actions;
}
