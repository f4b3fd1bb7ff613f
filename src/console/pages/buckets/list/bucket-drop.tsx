import { useEffect, useRef, useState } from "preact/hooks";
import { useSession } from "../../../session.ts";
import { toast } from "../../../ui/toasts.tsx";
import type { BucketRecord } from "../records.ts";
import { ReplaceDialog, type ReplaceQuestion } from "../uploads/replace-dialog.tsx";
import { type AskToReplace, runOrShowError, startUpload } from "../uploads/upload-start.ts";
import { contentOf } from "../uploads/use-drop.ts";

/** Lets files and folders be dropped onto a bucket's row, which uploads them to the top of the bucket. */
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
      // Nobody on another page can be asked, so nothing is replaced.
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
        contentOf(dataTransfer).then((dropped) => startUpload(name, client.bucket(name), "", dropped, ask)),
      );
    },
  };
  return { hovering, listeners, dialog: question === undefined ? null : <ReplaceDialog {...question} /> };
}

/** The dialogs of a row stand inside it, so that drops onto them come here too. */
function isFree(): boolean {
  return document.querySelector("dialog[open]") === null;
}

/** Why nothing can be uploaded into the bucket; undefined when it can. */
function refusal({ name, bucket }: BucketRecord, mayWrite: boolean): string | undefined {
  if (bucket === null) return `There is no bucket ${name}, so nothing can be uploaded into it.`;
  if (bucket?.enable === false)
    return `The bucket ${name} is off. Turn it on in its settings to upload files.`;
  if (!mayWrite)
    return `This token may not upload into ${name}: it needs Read, Write, Delete and List on the bucket.`;
  return undefined;
}
