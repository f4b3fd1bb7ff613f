import { useState } from "preact/hooks";
import type { Bucket } from "../../../../client/index.ts";
import { linkTo } from "../../../route.ts";
import { serverUrl, useSession } from "../../../session.ts";
import { Button, IconButton } from "../../../ui/button.tsx";
import { CopyButton } from "../../../ui/copy.tsx";
import { confirm } from "../../../ui/dialog.tsx";
import { Icon } from "../../../ui/icons.tsx";
import { toast } from "../../../ui/toasts.tsx";
import type { BucketRecord } from "../bucket-access.ts";
import { MountDialog } from "../mount/mount-dialog.tsx";
import { publicUrl } from "../path.ts";
import { useBucketDrop } from "./bucket-drop.tsx";
import { BucketForm } from "./bucket-form.tsx";

export interface BucketRowProps {
  readonly record: BucketRecord;
  /** Called to create a bucket that the token names and that does not exist. */
  readonly onCreate: (name: string) => void;
  readonly onChange: () => void;
}

export function BucketRow({ record, onCreate, onChange }: BucketRowProps) {
  const { name, bucket } = record;
  const { client, rights } = useSession();
  const drop = useBucketDrop(record);
  const [open, setOpen] = useState<"settings" | "mount">();
  const close = () => setOpen(undefined);
  const mayChange = bucket != null && rights.inBucket(name, { static_bucket: "write" });
  const mayDelete = bucket != null && rights.inBucket(name, { static_bucket: "delete" });
  const remove = async () => {
    const sure = await confirm({
      title: `Delete the bucket ${name}?`,
      text: `Its files are no longer served. The files themselves stay on the server's disk, in the folder ${bucket?.path}; a new bucket with that folder shows them again.`,
      action: "Delete bucket",
      danger: true,
    });
    if (!sure) return;
    await client.call("static-bucket_delete", { name });
    toast(`Bucket ${name} deleted. Its files are kept: a new bucket with the same path has them again.`);
    onChange();
  };
  return (
    <li class={`card buckets-row${drop.hovering ? " dropping" : ""}`} {...drop.listeners}>
      <div class="buckets-name">
        <Icon name="buckets" />
        {bucket === null ? <strong>{name}</strong> : <a href={linkTo("buckets", [name])}>{name}</a>}
        <Badges bucket={bucket} />
      </div>
      <div class="actions">
        {bucket === null && rights.inBucket(name, { static_bucket: "write" }) && (
          <Button onClick={() => onCreate(name)}>Create it</Button>
        )}
        {bucket !== null && bucket?.enable !== false && (
          <CopyButton
            label="Copy URL"
            text={publicUrl(serverUrl, { bucket: name, isRoot: bucket?.is_http_root ?? false, path: "" })}
          />
        )}
        {bucket !== null && <Button onClick={() => setOpen("mount")}>Mount</Button>}
        {mayChange && (
          <IconButton icon="config" label={`Settings of ${name}`} onClick={() => setOpen("settings")} />
        )}
        {mayDelete && <IconButton icon="trash" label={`Delete ${name}`} onClick={remove} />}
      </div>
      {drop.dialog}
      {open === "mount" && <MountDialog bucket={name} onClose={close} />}
      {open === "settings" && bucket != null && (
        <BucketForm
          bucket={bucket}
          onClose={close}
          onDone={() => {
            close();
            onChange();
          }}
        />
      )}
    </li>
  );
}

export function Badges({ bucket }: { readonly bucket: Bucket | null | undefined }) {
  if (bucket === null) return <span class="badge warn">Does not exist</span>;
  if (bucket === undefined) return null;
  return (
    <>
      {bucket.is_http_root && <span class="badge accent">HTTP root</span>}
      {bucket.cors && <span class="badge">CORS</span>}
      {!bucket.enable && <span class="badge warn">Off</span>}
      {bucket.path !== bucket.name && <span class="muted mono">{bucket.path}</span>}
    </>
  );
}
