import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import type { Desk } from "./desk.ts";
import { DiffView } from "./diff-view.tsx";
import { Warnings } from "./problem-list.tsx";
import type { Finding } from "./problems.ts";

/** A step on the way from a draft to the file. */
export type Step =
  /** The changes are shown before they are made. */
  | { readonly kind: "review" }
  /** The file is no longer the one that the draft began with. */
  | { readonly kind: "conflict"; readonly theirs: string };

export interface SavingProps {
  readonly desk: Desk;
  readonly step: Step;
  /** About the text that is to be saved. */
  readonly warnings: readonly Finding[];
  readonly onStep: (step: Step | undefined) => void;
}

/** Where a draft that is to be saved goes next; undefined when it is what the file holds already. */
export async function nextStep(desk: Desk): Promise<Step | undefined> {
  const now = await desk.read();
  if (now === desk.text.value) {
    desk.file.value = now;
    return undefined;
  }
  return now === desk.file.value ? { kind: "review" } : { kind: "conflict", theirs: now };
}

export function Saving({ desk, step, warnings, onStep }: SavingProps) {
  const close = () => onStep(undefined);
  const file = desk.file.value ?? "";
  if (step.kind === "conflict")
    return (
      <Dialog title="Somebody else changed the file" onClose={close} wide>
        <p>It is no longer what you began with. This is what happened to it meanwhile:</p>
        <DiffView before={file} after={step.theirs} />
        <footer>
          <Button onClick={close}>Keep editing</Button>
          <Button
            onClick={() => {
              desk.take(step.theirs);
              close();
            }}
          >
            Drop mine, take theirs
          </Button>
          <Button
            kind="danger"
            onClick={() => {
              desk.file.value = step.theirs;
              onStep({ kind: "review" });
            }}
          >
            Keep mine
          </Button>
        </footer>
      </Dialog>
    );
  const write = async () => {
    // Somebody may have been quicker while the changes were looked at.
    const next = await nextStep(desk);
    if (next?.kind === "review") await desk.write();
    onStep(next?.kind === "conflict" ? next : undefined);
  };
  return (
    <Dialog title="Save these changes?" onClose={close} wide>
      <p>The server checks the whole text, writes it to its file and applies it at once.</p>
      <Warnings warnings={warnings} />
      <DiffView before={file} after={desk.text.value} />
      <footer>
        <Button onClick={close}>Keep editing</Button>
        <Button kind="primary" onClick={write}>
          Save and apply
        </Button>
      </footer>
    </Dialog>
  );
}
