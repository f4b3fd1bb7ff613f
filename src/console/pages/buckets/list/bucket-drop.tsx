import { useState } from "preact/hooks";
import { useSession } from "../../../session.ts";
import { hasFiles, takeDrop } from "../../../stray-drops.ts";
import { t } from "../../../text/text.ts";
import { toast } from "../../../ui/toasts.tsx";
import type { BucketRecord } from "../bucket-access.ts";
import { runOrShowError } from "../uploads/upload-start.ts";
import { contentOf, useUpload } from "../uploads/use-upload.tsx";

/** Makes a bucket's row a drop target that uploads to the top of the bucket. */
export function useBucketDrop(record: BucketRecord) {
  const { client, rights } = useSession();
  const [hovering, setHovering] = useState(false);
  const { start, question } = useUpload();
  const why = refusal(record, rights.overWebdav(record.name));
  const listeners = {
    onDragOver: (event: DragEvent) => {
      if (hasFiles(event)) setHovering(why === undefined && isFree());
    },
    onDragLeave: (event: DragEvent) => {
      const { currentTarget, relatedTarget } = event;
      if (!(currentTarget as Element).contains(relatedTarget as Element | null)) setHovering(false);
    },
    onDrop: (event: DragEvent) => {
      const { dataTransfer } = event;
      if (dataTransfer === null || !hasFiles(event)) return;
      takeDrop(event);
      setHovering(false);
      if (!isFree()) return;
      if (why !== undefined) return toast(why, "notice");
      const { name } = record;
      runOrShowError(
        contentOf(dataTransfer).then((dropped) =>
          start({ bucket: name, files: client.bucket(name), into: "" }, dropped),
        ),
      );
    },
  };
  return { hovering, listeners, question };
}

/** Whether no dialog is open. A row contains its dialogs, so drops onto them arrive here too. */
function isFree(): boolean {
  return document.querySelector("dialog[open]") === null;
}

/** Reason why nothing can be uploaded into the bucket; undefined when it can. */
function refusal({ name, bucket }: BucketRecord, mayWrite: boolean): string | undefined {
  if (bucket === null) return t.buckets.missingForDrop(name);
  if (bucket?.enable === false) return t.buckets.offForDrop(name);
  if (!mayWrite) return t.buckets.deniedForDrop(name);
  return undefined;
}
