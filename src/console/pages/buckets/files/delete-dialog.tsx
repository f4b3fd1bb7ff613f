import { useState } from "preact/hooks";
import { bytes } from "../../../format.ts";
import { useSession } from "../../../session.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { useLoad } from "../../../ui/call.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { reasonOf } from "../../../ui/problem.tsx";
import { toast, toastWithAction } from "../../../ui/toasts.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import type { OpenBucket } from "../bucket-access.ts";
import { join } from "../path.ts";
import { undoDelete } from "../trash/undo-delete.ts";
import { BatchProgress, useBatch } from "./batch.tsx";
import type { Entry } from "./entries.ts";
import { NameList } from "./name-list.tsx";

interface ChangeDialogProps {
  readonly openBucket: OpenBucket;
  /** Folder of the entries. */
  readonly path: string;
  readonly chosen: readonly Entry[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}

interface DeleteDialogProps extends ChangeDialogProps {
  /** Called when what was deleted is back. */
  readonly onUndone: () => void;
}

/** Dialog that says how much would be deleted, and deletes it. */
export function DeleteDialog({
  openBucket,
  path,
  chosen: now,
  onClose,
  onDone,
  onUndone,
}: DeleteDialogProps) {
  const { name, access } = openBucket;
  const { client } = useSession();
  // Keeps the initial selection: entries leave it as they are deleted.
  const [chosen] = useState(now);
  const folders = chosen.filter(({ folder }) => folder);
  const contents = useLoad(async (signal) => {
    const all = { count: 0, size: 0 };
    for (const folder of folders) {
      const below = { name, path: join(path, folder.name) };
      for (const { size } of await client.call("static-bucket-file_list", below, { signal })) {
        all.count += 1;
        all.size += size;
      }
    }
    return all;
  }, []);
  const retention = useLoad(
    (signal) => client.call("static-bucket-file_retention", { name }, { signal }).catch(() => undefined),
    [],
  );
  const what = chosen.length === 1 ? visibleText(chosen[0]?.name ?? "") : t.frame.countItems(chosen.length);
  const batch = useBatch();
  const [started, setStarted] = useState(false);
  const close = started ? onDone : onClose;
  const remove = async () => {
    setStarted(true);
    const items = chosen.map((entry) => ({
      name: entry.name,
      run: (signal: AbortSignal) =>
        access.files?.remove(join(path, entry.name), { signal }) ?? Promise.resolve(),
    }));
    if (!(await batch.run(items))) return;
    const paths = chosen.map((entry) => join(path, entry.name));
    if ((retention.value?.days ?? 0) === 0) toast(t.files.deletedOne(what));
    else
      toastWithAction(t.files.deletedOne(what), {
        label: t.files.undo,
        run: () => undoDelete(client, { bucket: name, paths }).finally(onUndone),
      });
    onDone();
  };
  return (
    <Dialog title={t.files.deleteQuestion(what)} onClose={close}>
      <div class="dialog-text">
        {chosen.length > 1 && <NameList names={chosen.map((entry) => entry.name)} />}
        {folders.length > 0 && (
          <p aria-live="polite">
            {folders.length === 1
              ? t.files.folderHolds(visibleText(folders[0]?.name ?? ""))
              : t.files.foldersHold(folders.length)}
            {contents.value !== undefined
              ? t.files.heldFiles(t.frame.countFiles(contents.value.count), bytes(contents.value.size))
              : contents.error !== undefined
                ? t.files.heldUnknown(reasonOf(contents.error))
                : t.files.counting}
          </p>
        )}
        <p>{retention.loading ? "…" : undoText(retention.value)}</p>
      </div>
      <BatchProgress batch={batch} />
      <footer>
        <Button onClick={batch.running ? batch.cancel : close}>
          {started && !batch.running ? t.frame.close : t.frame.cancel}
        </Button>
        {/* Disabled until the counts and the retention are known. */}
        <Button kind="danger" busy={started || contents.loading || retention.loading} onClick={remove}>
          {t.frame.delete}
        </Button>
      </footer>
    </Dialog>
  );
}

/** Without an answer, because the token may not list or the server is older, nothing is promised. */
function undoText(retention: { readonly days: number } | undefined): string {
  if (retention === undefined || retention.days === 0) return t.files.noUndo;
  return t.files.restoreHint(t.frame.countDays(retention.days));
}
