import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { toast } from "../../../ui/toasts.tsx";
import type { Opened } from "../opened.ts";
import { contentsOf, type Dropped, onlyFolder } from "./drop.ts";
import { type FolderAnswer, FolderDialog } from "./folder-dialog.tsx";
import { ReplaceDialog } from "./replace-dialog.tsx";
import { type Answer, startUpload } from "./upload-start.ts";

export interface UploadStart {
  readonly begin: (dropped: Dropped) => Promise<void>;
  /** The question that is asked now, to be shown. */
  readonly question: VNode | undefined;
}

/** Uploads into a folder of an open bucket, after asking what must be asked. */
export function useUpload({ name, door }: Opened, path: string): UploadStart {
  const [question, setQuestion] = useState<VNode>();
  const shown = useRef(true);
  useEffect(
    () => () => {
      shown.current = false;
    },
    [],
  );
  /** `unasked`: the answer of somebody who has gone on to another folder or page. */
  function ask<A>(unasked: A, dialog: (answer: (given: A) => void) => VNode): Promise<A> {
    return new Promise((resolve) => {
      if (!shown.current) return resolve(unasked);
      setQuestion(
        dialog((given) => {
          setQuestion(undefined);
          resolve(given);
        }),
      );
    });
  }
  const begin = async (dropped: Dropped) => {
    const { files } = door;
    if (files === undefined) return toast(door.why, "problem");
    const folder = path === "" ? onlyFolder(dropped) : undefined;
    const isFirst = folder !== undefined && (await files.list("")).length === 0;
    const wanted = isFirst
      ? await ask<FolderAnswer>("folder", (answer) => (
          <FolderDialog bucket={name} folder={folder} answer={answer} />
        ))
      : "folder";
    if (wanted === "cancel") return;
    const sent = wanted === "contents" && folder !== undefined ? contentsOf(dropped, folder) : dropped;
    await startUpload(name, files, path, sent, (plan) =>
      ask<Answer>("skip", (answer) => <ReplaceDialog plan={plan} answer={answer} />),
    );
  };
  return { begin, question };
}
