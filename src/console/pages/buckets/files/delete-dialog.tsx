import { useState } from "preact/hooks";
import { bytes, plural } from "../../../format.ts";
import { useSession } from "../../../session.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { useLoad } from "../../../ui/load.ts";
import { explain } from "../../../ui/problem.tsx";
import { toast } from "../../../ui/toasts.tsx";
import { FileName, visibleText } from "../../../ui/visible-text.tsx";
import type { Opened } from "../opened.ts";
import { join } from "../path.ts";
import type { Entry } from "./entry.ts";
import { useSteps } from "./steps.ts";
import { StepsProgress } from "./steps-progress.tsx";

export interface ChangeDialogProps {
  readonly opened: Opened;
  /** The folder. */
  readonly path: string;
  readonly chosen: readonly Entry[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Asks, telling how much would be gone, and deletes. */
export function DeleteDialog({ opened, path, chosen: now, onClose, onDone }: ChangeDialogProps) {
  const { name, door } = opened;
  const { client } = useSession();
  // What is gone already leaves the selection, but not the question.
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
  const steps = useSteps();
  const [begun, setBegun] = useState(false);
  const close = begun ? onDone : onClose;
  const remove = async () => {
    setBegun(true);
    const changes = chosen.map((entry) => ({
      name: entry.name,
      make: (signal: AbortSignal) =>
        door.files?.remove(join(path, entry.name), { signal }) ?? Promise.resolve(),
    }));
    if (!(await steps.run(changes))) return;
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
      <StepsProgress steps={steps} />
      <footer>
        <Button onClick={steps.running ? steps.cancel : close}>
          {begun && !steps.running ? "Close" : "Cancel"}
        </Button>
        <Button kind="danger" disabled={begun || held.loading} onClick={remove}>
          Delete
        </Button>
      </footer>
    </Dialog>
  );
}

const shown = 8;

function Names({ chosen }: { readonly chosen: readonly Entry[] }) {
  return (
    <ul class="files-names">
      {chosen.slice(0, shown).map(({ name }) => (
        <li key={name}>
          <FileName name={name} />
        </li>
      ))}
      {chosen.length > shown && <li class="muted">and {plural(chosen.length - shown, "other")}</li>}
    </ul>
  );
}
