import { useMemo, useState } from "preact/hooks";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Check } from "../../ui/form.tsx";
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

interface SaveDialogProps {
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
      <Dialog title={t.config.conflictTitle} onClose={close} wide>
        <p>{t.config.conflictText}</p>
        <DiffView before={file} after={step.theirs} />
        <footer>
          <Button onClick={close}>{t.config.keepEditing}</Button>
          <Button
            onClick={() => {
              draft.reset(step.theirs);
              close();
            }}
          >
            {t.config.useTheirs}
          </Button>
          <Button
            kind="danger"
            onClick={() => {
              draft.file.value = step.theirs;
              onStep({ kind: "review" });
            }}
          >
            {t.config.keepMine}
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
    <Dialog title={t.config.saveQuestion} onClose={close} wide>
      <p>{t.config.saveText}</p>
      <Warnings warnings={warnings} />
      <DiffView before={file} after={draft.text.value} />
      <footer>
        <Button onClick={close}>{t.config.keepEditing}</Button>
        <Button kind="primary" onClick={write}>
          {t.config.saveAndApply}
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
      <section class="config-diff" aria-label={t.config.changes} tabIndex={0}>
        {parts.map((part, at) =>
          typeof part === "number" ? (
            <p key={at}>… {t.config.countUnchanged(part)}</p>
          ) : (
            <Line key={at} line={part} showsSecrets={showsSecrets} />
          ),
        )}
      </section>
      {secret && <Check label={t.config.showPasswords} checked={showsSecrets} onChange={setShowsSecrets} />}
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
      <span class="unseen">{t.config.added} </span>+ {shown}
    </ins>
  ) : (
    <del>
      <span class="unseen">{t.config.removed} </span>− {shown}
    </del>
  );
}
