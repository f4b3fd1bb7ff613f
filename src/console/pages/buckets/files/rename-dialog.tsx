import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Check, Field, typed } from "../../../ui/form.tsx";
import { explain } from "../../../ui/problem.tsx";
import { toast } from "../../../ui/toasts.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import type { OpenBucket } from "../bucket-access.ts";
import { join, nameOf, nameWithoutExtension, parentOf } from "../path.ts";
import { planMove, renameProblem } from "../transfer-plan.ts";
import type { Entry } from "./entries.ts";

interface RenameDialogProps {
  readonly openBucket: OpenBucket;
  /** Folder of the entry. */
  readonly path: string;
  readonly entry: Entry;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Dialog that gives an entry another name or path. */
export function RenameDialog({ openBucket, path, entry: now, onClose, onDone }: RenameDialogProps) {
  // The entry that was chosen: it leaves the list as it is renamed.
  const [entry] = useState(now);
  const from = join(path, entry.name);
  const name = nameOf(from);
  const [target, setTarget] = useState(from);
  const [fault, setFault] = useState<string>();
  const [taken, setTaken] = useState<string>();
  const [replace, setReplace] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  // Preselect what is changed most often: the name without its extension.
  useLayoutEffect(() => {
    const start = target.length - name.length;
    const { length } = entry.folder ? name : nameWithoutExtension(name);
    input.current?.setSelectionRange(start, start + length);
  }, []);

  const submit = async () => {
    const { files } = openBucket.access;
    const wrong = renameProblem(from, target);
    if (wrong !== undefined || files === undefined) return setFault(wrong);
    if (target === from) return onClose();
    try {
      const { replacing, missing } = await planMove(parentOf(from), { from, to: target }, (folder) =>
        files.list(folder),
      );
      if (replacing !== undefined && !replace) return setTaken(visibleText(replacing));
      for (const folder of missing) await files.makeFolder(folder, { parents: false });
      await files.move(from, target);
    } catch (error) {
      return setFault(explain(error));
    }
    toast(t.files.isNow(visibleText(name), visibleText(target)));
    onDone();
  };

  return (
    <Dialog title={t.files.rename} onClose={onClose}>
      <form class="form" onSubmit={(event: Event) => event.preventDefault()}>
        <Field label={t.files.pathInBucket} hint={t.files.pathHint} error={fault}>
          <input
            ref={input}
            type="text"
            value={target}
            autocomplete="off"
            spellcheck={false}
            onInput={(event: Event) => {
              setTarget(typed(event));
              setFault(undefined);
              setTaken(undefined);
              setReplace(false);
            }}
          />
        </Field>
        {taken !== undefined && (
          <div class="notice" role="alert">
            <Check
              label={t.files.replaceExisting(taken)}
              hint={t.files.replacesOne}
              checked={replace}
              onChange={setReplace}
            />
          </div>
        )}
        <footer>
          <Button onClick={onClose}>{t.frame.cancel}</Button>
          <Button kind="primary" type="submit" disabled={taken !== undefined && !replace} onClick={submit}>
            {t.files.rename}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
