import { useEffect, useRef, useState } from "preact/hooks";
import { useSession } from "../../../session.ts";
import { toast } from "../../../ui/toasts.tsx";
import type { BucketRecord } from "../bucket-access.ts";
import { ReplaceDialog, type ReplaceQuestion } from "../uploads/upload-dialogs.tsx";
import { type AskToReplace, runOrShowError, startUpload } from "../uploads/upload-start.ts";
import { contentOf } from "../uploads/use-upload.tsx";

/** Makes a bucket's row a drop target that uploads to the top of the bucket. */
export function useBucketDrop(record: BucketRecord) {
  const { client, rights } = useSession();
  const [hovering, setHovering] = useState(false);
  const [question, setQuestion] = useState<ReplaceQuestion>();
  const shown = useRef(true);
  useEffect(
    () => () => {
      shown.current = false;
    },
    [],
  );
  const why = refusal(record, rights.overWebdav(record.name));
  const ask: AskToReplace = (plan) =>
    new Promise((resolve) => {
      // The person has left the page and cannot be asked, so nothing is replaced.
      if (!shown.current) return resolve("skip");
      setQuestion({
        plan,
        answer: (answer) => {
          setQuestion(undefined);
          resolve(answer);
        },
      });
    });
  const listeners = {
    onDragOver: (event: DragEvent) => {
      if (event.dataTransfer?.types.includes("Files") !== true) return;
      event.preventDefault();
      setHovering(why === undefined && isFree());
    },
    onDragLeave: (event: DragEvent) => {
      const { currentTarget, relatedTarget } = event;
      if (!(currentTarget as Element).contains(relatedTarget as Element | null)) setHovering(false);
    },
    onDrop: (event: DragEvent) => {
      const { dataTransfer } = event;
      if (dataTransfer?.types.includes("Files") !== true) return;
      event.preventDefault();
      setHovering(false);
      if (!isFree()) return;
      if (why !== undefined) return toast(why, "notice");
      const { name } = record;
      runOrShowError(
        contentOf(dataTransfer).then((dropped) =>
          startUpload({ bucket: name, files: client.bucket(name), into: "" }, dropped, ask),
        ),
      );
    },
  };
  return { hovering, listeners, dialog: question === undefined ? null : <ReplaceDialog {...question} /> };
}

/** Whether no dialog is open. A row contains its dialogs, so drops onto them arrive here too. */
function isFree(): boolean {
  return document.querySelector("dialog[open]") === null;
}

/** Reason why nothing can be uploaded into the bucket; undefined when it can. */
function refusal({ name, bucket }: BucketRecord, mayWrite: boolean): string | undefined {
  if (bucket === null) return `There is no bucket ${name}, so nothing can be uploaded into it.`;
  if (bucket?.enable === false)
    return `The bucket ${name} is off. Turn it on in its settings to upload files.`;
  if (!mayWrite)
    return `This token may not upload into ${name}: it needs Read, Write, Delete and List on the bucket.`;
  return undefined;
}
