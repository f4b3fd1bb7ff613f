import { useMemo, useState } from "preact/hooks";
import { plural } from "../../format.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Check } from "../../ui/field.tsx";
import { Warnings } from "./check.tsx";
import { type DiffLine, diffLines, hasSecrets, hideSecrets, withContext } from "./diff.ts";
import type { ConfigDraft } from "./draft.ts";
import type { Finding } from "./problems.ts";

/** Step of saving a draft. */
export type SaveStep =
  /** The changes are shown before they are saved. */
  | { readonly kind: "review" }
  /** The file has changed since the draft was started. */
  | { readonly kind: "conflict"; readonly theirs: string };

export interface SaveDialogProps {
  readonly draft: ConfigDraft;
  readonly step: SaveStep;
  /** Warnings about the text to save. */
  readonly warnings: readonly Finding[];
  readonly onStep: (step: SaveStep | undefined) => void;
}

/** Next step of saving; undefined when the file already has this content. */
export async function nextStep(draft: ConfigDraft): Promise<SaveStep | undefined> {
  const now = await draft.read();
  if (now === draft.text.value) {
    draft.file.value = now;
    return undefined;
  }
  return now === draft.file.value ? { kind: "review" } : { kind: "conflict", theirs: now };
}

export function SaveDialog({ draft, step, warnings, onStep }: SaveDialogProps) {
  const close = () => onStep(undefined);
  const file = draft.file.value ?? "";
  if (step.kind === "conflict")
    return (
      <Dialog title="Somebody else changed the file" onClose={close} wide>
        <p>It has changed since you started editing. These are the changes:</p>
        <DiffView before={file} after={step.theirs} />
        <footer>
          <Button onClick={close}>Keep editing</Button>
          <Button
            onClick={() => {
              draft.reset(step.theirs);
              close();
            }}
          >
            Discard mine, use theirs
          </Button>
          <Button
            kind="danger"
            onClick={() => {
              draft.file.value = step.theirs;
              onStep({ kind: "review" });
            }}
          >
            Keep mine
          </Button>
        </footer>
      </Dialog>
    );
  const write = async () => {
    // Somebody may have changed the file while the changes were reviewed.
    const next = await nextStep(draft);
    if (next?.kind === "review") await draft.write();
    onStep(next?.kind === "conflict" ? next : undefined);
  };
  return (
    <Dialog title="Save these changes?" onClose={close} wide>
      <p>The server checks the whole text, writes it to its file and applies it at once.</p>
      <Warnings warnings={warnings} />
      <DiffView before={file} after={draft.text.value} />
      <footer>
        <Button onClick={close}>Keep editing</Button>
        <Button kind="primary" onClick={write}>
          Save and apply
        </Button>
      </footer>
    </Dialog>
  );
}

/** Line diff of two texts. Passwords are hidden until requested. */
function DiffView({ before, after }: { readonly before: string; readonly after: string }) {
  const [showsSecrets, setShowsSecrets] = useState(false);
  const parts = useMemo(() => withContext(diffLines(before, after)), [before, after]);
  const secret = parts.some((part) => typeof part !== "number" && hasSecrets(part.text));
  return (
    <>
      {/* A scrolling element must be focusable to be scrolled by keyboard. */}
      <section class="config-diff" aria-label="Changes" tabIndex={0}>
        {parts.map((part, at) =>
          typeof part === "number" ? (
            <p key={at}>… {plural(part, "unchanged line")}</p>
          ) : (
            <Line key={at} line={part} showsSecrets={showsSecrets} />
          ),
        )}
      </section>
      {secret && <Check label="Show passwords" checked={showsSecrets} onChange={setShowsSecrets} />}
    </>
  );
}

function Line({
  line: { kind, text },
  showsSecrets,
}: {
  readonly line: DiffLine;
  readonly showsSecrets: boolean;
}) {
  const shown = showsSecrets ? text : hideSecrets(text);
  if (kind === "same") return <div>{`  ${shown}`}</div>;
  return kind === "added" ? (
    <ins>
      <span class="unseen">added: </span>+ {shown}
    </ins>
  ) : (
    <del>
      <span class="unseen">removed: </span>− {shown}
    </del>
  );
}
