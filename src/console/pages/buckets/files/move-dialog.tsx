import { useState } from "preact/hooks";
import { type BucketFiles, FileNotFound } from "../../../../client/index.ts";
import { plural } from "../../../format.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Check, Field, typed } from "../../../ui/field.tsx";
import { explain } from "../../../ui/problem.tsx";
import { toast } from "../../../ui/toasts.tsx";
import { join, nameOf, parentOf, sameName } from "../path.ts";
import type { ChangeDialogProps } from "./delete-dialog.tsx";
import { faultInMoves, type Move, movesTo } from "./moves.ts";
import { useSteps } from "./steps.ts";
import { StepsProgress } from "./steps-progress.tsx";

/** Renames or moves one thing to a path, or several into a folder. */
export function MoveDialog({ opened, path, chosen: now, onClose, onDone }: ChangeDialogProps) {
  const [chosen] = useState(now);
  const one = chosen.length === 1 ? chosen[0] : undefined;
  const [target, setTarget] = useState(one === undefined ? path : join(path, one.name));
  const [fault, setFault] = useState<string>();
  const [taken, setTaken] = useState<readonly string[]>([]);
  const [replace, setReplace] = useState(false);
  const steps = useSteps();
  const [begun, setBegun] = useState(false);
  const close = begun ? onDone : onClose;

  const submit = async () => {
    const { files } = opened.door;
    const moves = movesTo(path, chosen, target, one !== undefined);
    const wrong = faultInMoves(target, moves, one !== undefined);
    if (wrong !== undefined || files === undefined) return setFault(wrong);
    if (moves.length === 0) return onClose();
    try {
      const folder = parentOf(moves[0]?.to ?? "");
      const there = await namesThere(files, folder);
      const inTheWay = there === undefined ? [] : takenNames(moves, there);
      if (inTheWay.length > 0 && !replace) return setTaken(inTheWay);
      if (there === undefined) await files.makeFolder(folder);
    } catch (error) {
      return setFault(explain(error));
    }
    setBegun(true);
    const changes = moves.map(({ from, to }) => ({
      name: nameOf(from),
      make: (signal: AbortSignal) => files.move(from, to, { signal }),
    }));
    if (!(await steps.run(changes))) return;
    toast(one === undefined ? `${plural(moves.length, "item")} moved.` : `${one.name} is now ${target}.`);
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
              ? "Empty is the top of the bucket. A folder that is missing is made."
              : "Folders that are missing are made."
          }
          error={fault}
        >
          <input
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
              label={`Replace what is there already: ${taken.slice(0, 5).join(", ")}${taken.length > 5 ? ` and ${plural(taken.length - 5, "other")}` : ""}`}
              hint="What stands there now is lost."
              checked={replace}
              onChange={setReplace}
            />
          </div>
        )}
        <StepsProgress steps={steps} />
        <footer>
          <Button onClick={steps.running ? steps.cancel : close}>
            {begun && !steps.running ? "Close" : "Cancel"}
          </Button>
          <Button
            kind="primary"
            type="submit"
            disabled={begun || (taken.length > 0 && !replace)}
            onClick={submit}
          >
            {one === undefined ? "Move" : "Rename"}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

/** Undefined when there is no such folder. */
async function namesThere(files: BucketFiles, folder: string): Promise<string[] | undefined> {
  try {
    return (await files.list(folder)).map(({ name }) => name);
  } catch (error) {
    if (error instanceof FileNotFound) return undefined;
    throw error;
  }
}

/** A file that only changes the form of its own name replaces nothing. */
function takenNames(moves: readonly Move[], there: readonly string[]): string[] {
  return moves
    .filter(({ from, to }) => !sameName(from, to) && there.some((name) => sameName(name, nameOf(to))))
    .map(({ to }) => nameOf(to));
}
