import { useState } from "preact/hooks";
import { bytes, plural } from "../../../format.ts";
import { useSession } from "../../../session.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { useLoad } from "../../../ui/load.ts";
import { explain } from "../../../ui/problem.tsx";
import { toast } from "../../../ui/toasts.tsx";
import { FileName, visibleText } from "../../../ui/visible-text.tsx";
import type { OpenBucket } from "../bucket-access.ts";
import { join } from "../path.ts";
import { BatchProgress, useBatch } from "./batch.tsx";
import type { Entry } from "./entries.ts";

export interface ChangeDialogProps {
  readonly openBucket: OpenBucket;
  /** Folder of the entries. */
  readonly path: string;
  readonly chosen: readonly Entry[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Dialog that says how much would be deleted, and deletes it. */
export function DeleteDialog({ openBucket, path, chosen: now, onClose, onDone }: ChangeDialogProps) {
  const { name, access } = openBucket;
  const { client } = useSession();
  // Keeps the initial selection: entries leave it as they are deleted.
  const [chosen] = useState(now);
  const folders = chosen.filter(({ folder }) => folder);
  const held = useLoad(async (signal) => {
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
  const what = chosen.length === 1 ? visibleText(chosen[0]?.name ?? "") : plural(chosen.length, "item");
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
    toast(chosen.length === 1 ? `${what} deleted.` : `${plural(chosen.length, "item")} deleted.`);
    onDone();
  };
  return (
    <Dialog title={`Delete ${what}?`} onClose={close}>
      <div class="dialog-text">
        {chosen.length > 1 && <Names chosen={chosen} />}
        {folders.length > 0 && (
          <p aria-live="polite">
            {folders.length === 1
              ? `The folder ${visibleText(folders[0]?.name ?? "")} holds `
              : `The ${folders.length} folders hold `}
            {held.value !== undefined
              ? `${plural(held.value.count, "file")} (${bytes(held.value.size)}), deleted as well.`
              : held.error !== undefined
                ? `files that cannot be counted (${explain(held.error)}); all are deleted as well.`
                : "… counting"}
          </p>
        )}
        <p>This cannot be undone.</p>
      </div>
      <BatchProgress batch={batch} />
      <footer>
        <Button onClick={batch.running ? batch.cancel : close}>
          {started && !batch.running ? "Close" : "Cancel"}
        </Button>
        <Button kind="danger" disabled={started || held.loading} onClick={remove}>
          Delete
        </Button>
      </footer>
    </Dialog>
  );
}

const maxListed = 8;

function Names({ chosen }: { readonly chosen: readonly Entry[] }) {
  return (
    <ul class="files-names">
      {chosen.slice(0, maxListed).map(({ name }) => (
        <li key={name}>
          <FileName name={name} />
        </li>
      ))}
      {chosen.length > maxListed && <li class="muted">and {plural(chosen.length - maxListed, "other")}</li>}
    </ul>
  );
}
