import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { plural } from "../../../format.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Check, Field, typed } from "../../../ui/field.tsx";
import { explain } from "../../../ui/problem.tsx";
import { toast } from "../../../ui/toasts.tsx";
import { visibleText } from "../../../ui/visible-text.tsx";
import { join, nameOf, nameWithoutExtension } from "../path.ts";
import { movesProblem, movesTo, planMoves } from "../plan.ts";
import { BatchProgress, useBatch } from "./batch.tsx";
import type { ChangeDialogProps } from "./delete-dialog.tsx";

/** Dialog that renames or moves one entry to a path, or several into a folder. */
export function MoveDialog({ openBucket, path, chosen: now, onClose, onDone }: ChangeDialogProps) {
  const [chosen] = useState(now);
  const one = chosen.length === 1 ? chosen[0] : undefined;
  const [target, setTarget] = useState(one === undefined ? path : join(path, one.name));
  const [fault, setFault] = useState<string>();
  const [taken, setTaken] = useState<readonly string[]>([]);
  const [replace, setReplace] = useState(false);
  const batch = useBatch();
  const [started, setStarted] = useState(false);
  const close = started ? onDone : onClose;
  const input = useRef<HTMLInputElement>(null);
  // Preselect what is changed most often: the name without its extension, or the target folder.
  useLayoutEffect(() => {
    const start = one === undefined ? 0 : target.length - one.name.length;
    const length =
      one === undefined ? target.length : (one.folder ? one.name : nameWithoutExtension(one.name)).length;
    input.current?.setSelectionRange(start, start + length);
  }, []);

  const submit = async () => {
    const { files } = openBucket.access;
    const moves = movesTo(path, chosen, target, one !== undefined);
    const wrong = movesProblem(target, moves, one !== undefined);
    if (wrong !== undefined || files === undefined) return setFault(wrong);
    if (moves.length === 0) return onClose();
    try {
      const { replacing, missing } = await planMoves(path, moves, (folder) => files.list(folder));
      if (replacing.length > 0 && !replace) return setTaken(replacing.map(visibleText));
      for (const folder of missing) await files.makeFolder(folder, { parents: false });
    } catch (error) {
      return setFault(explain(error));
    }
    setStarted(true);
    const items = moves.map(({ from, to }) => ({
      name: nameOf(from),
      run: (signal: AbortSignal) => files.move(from, to, { signal }),
    }));
    if (!(await batch.run(items))) return;
    toast(
      one === undefined
        ? `${plural(moves.length, "item")} moved.`
        : `${visibleText(one.name)} is now ${visibleText(target)}.`,
    );
    onDone();
  };

  return (
    <Dialog
      title={one === undefined ? `Move ${plural(chosen.length, "item")}` : "Rename or move"}
      onClose={close}
    >
      <form class="form" onSubmit={(event: Event) => event.preventDefault()}>
        <Field
          label={one === undefined ? "Into the folder" : "Path in the bucket"}
          hint={
            one === undefined
              ? "Leave empty for the top of the bucket. Missing folders are created."
              : "Missing folders are created."
          }
          error={fault}
        >
          <input
            ref={input}
            type="text"
            value={target}
            autocomplete="off"
            spellcheck={false}
            onInput={(event: Event) => {
              setTarget(typed(event));
              setFault(undefined);
              setTaken([]);
              setReplace(false);
            }}
          />
        </Field>
        {taken.length > 0 && (
          <div class="notice" role="alert">
            <Check
              label={`Replace existing: ${taken.slice(0, 5).join(", ")}${taken.length > 5 ? ` and ${plural(taken.length - 5, "other")}` : ""}`}
              hint={
                taken.length === 1 ? "The existing file is replaced." : "The existing files are replaced."
              }
              checked={replace}
              onChange={setReplace}
            />
          </div>
        )}
        <BatchProgress batch={batch} />
        <footer>
          <Button onClick={batch.running ? batch.cancel : close}>
            {started && !batch.running ? "Close" : "Cancel"}
          </Button>
          <Button
            kind="primary"
            type="submit"
            disabled={started || (taken.length > 0 && !replace)}
            onClick={submit}
          >
            {one === undefined ? "Move" : "Rename"}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
