import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { InvalidInput } from "../../../client/index.ts";
import { Editor } from "../../editor/editor.tsx";
import type { EditorHandle } from "../../editor/props.ts";
import { useSession } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { Check } from "../../ui/field.tsx";
import { Icon } from "../../ui/icons.tsx";
import { useLoad } from "../../ui/load.ts";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { showError, toast } from "../../ui/toasts.tsx";
import { checkText, ProblemList, useCheck } from "./check.tsx";
import { hasSecrets, secrets } from "./diff.ts";
import { draftOf, type Saved } from "./draft.ts";
import { type Finding, marksOf } from "./problems.ts";
import { nextStep, SaveDialog, type SaveStep } from "./save-dialog.tsx";

export default function ConfigPage() {
  const session = useSession();
  const draft = draftOf(session);
  const editor = useRef<EditorHandle>(null);
  const [step, setStep] = useState<SaveStep>();
  const [warnings, setWarnings] = useState<readonly Finding[]>([]);
  /** Text that was not saved because of its problems. */
  const [refusedText, setRefusedText] = useState<string>();
  const [showsSecrets, setShowsSecrets] = useState(false);
  const { error, reload } = useLoad(
    async (signal) => {
      // An existing draft is kept. Saving checks whether the file has changed since.
      if (!draft.isChanged) draft.reset(await draft.read(signal));
    },
    [draft],
  );
  const isRead = draft.file.value !== undefined;
  const text = draft.text.value;
  const checked = useCheck(session.client, isRead ? text : undefined);
  const saved = draft.saved.value;
  const marks = useMemo(
    () => [...marksOf(checked.problems, "error"), ...marksOf(checked.warnings, "warning")],
    [checked.problems, checked.warnings],
  );

  const save = async () => {
    if (!isRead || step !== undefined) return;
    const next = await nextStep(draft);
    if (next === undefined) return toast("Nothing to save: the file already has this content.");
    const found = await checkText(session.client, text);
    if (found.problems.length > 0) return setRefusedText(text);
    setWarnings(found.warnings);
    setStep(next);
  };
  useSaveKey(() => void save().catch(showError));

  const discard = async () => {
    const sure = {
      title: "Discard your changes?",
      text: "The text of the file is loaded again.",
      danger: true,
    };
    if (draft.isChanged && !(await confirm({ ...sure, action: "Discard" }))) return;
    draft.reset(await draft.read());
  };

  return (
    <Page
      title="Config"
      tall
      actions={
        <>
          {draft.isChanged && <span class="badge warn">Unsaved changes</span>}
          <Button onClick={discard} disabled={!isRead}>
            Reload
          </Button>
          <Button kind="primary" onClick={save} disabled={!isRead}>
            Save…
          </Button>
        </>
      }
    >
      {error !== undefined && <Problem error={error} retry={reload} />}
      {error instanceof InvalidInput && (
        <p>
          The console shows the file only if it is in the server's working directory, where the server may
          write it safely.
        </p>
      )}
      {saved !== undefined && <SavedView saved={saved} />}
      {isRead && (
        <>
          <div class="config-editor">
            <Editor
              label="Configuration"
              language="toml"
              value={text}
              revision={draft.revision.value}
              onChange={(next) => {
                draft.text.value = next;
              }}
              marks={marks}
              secrets={showsSecrets ? undefined : secrets}
              onSave={() => void save().catch(showError)}
              handle={editor}
            />
          </div>
          <ProblemList
            checked={checked}
            isRefused={refusedText === text}
            onGoTo={(position) => editor.current?.goTo(position)}
          />
          <div class="row">
            {hasSecrets(text) && (
              <Check label="Show passwords" checked={showsSecrets} onChange={setShowsSecrets} />
            )}
            <span class="hint">
              Ctrl+S saves · Esc, then Tab leaves the editor · a draft is kept until you sign out or close the
              tab
            </span>
          </div>
        </>
      )}
      {step !== undefined && <SaveDialog draft={draft} step={step} warnings={warnings} onStep={setStep} />}
    </Page>
  );
}

/** Handles Ctrl+S on the whole page, not only in the editor. */
function useSaveKey(save: () => void): void {
  const latest = useRef(save);
  latest.current = save;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "s" || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return;
      event.preventDefault();
      latest.current();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

/** Result of the last save. */
function SavedView({ saved }: { readonly saved: Saved }) {
  const className = classOf(saved);
  return (
    <div class={className} role="status">
      <Icon name={className === "notice good" ? "check" : "warning"} />
      <div>{messageOf(saved)}</div>
    </div>
  );
}

function classOf(saved: Saved): string {
  if (saved.kind !== "applied" && saved.kind !== "unchanged") return "problem";
  return saved.warnings.length > 0 ? "notice" : "notice good";
}

function messageOf(saved: Saved) {
  switch (saved.kind) {
    case "applied":
    case "unchanged":
      return (
        <>
          <p>Saved. The server says: {saved.message}.</p>
          {saved.warnings.map((warning) => (
            <p key={warning}>It warns: {warning}.</p>
          ))}
        </>
      );
    case "refused":
      return (
        <p>
          Saved, but not in effect. The server says: {saved.message}. Correct it and save again, or the next
          start may fail.
        </p>
      );
    case "unheard":
      return <p>Saved. The server did not say what became of it; look into its log.</p>;
    case "gone":
      return (
        <p>
          Saved, and the server has left this address: this console cannot reach it any more.{" "}
          {saved.address === undefined ? (
            "Its log says where it listens now."
          ) : (
            <>
              It should be at <a href={saved.address}>{saved.address}</a>.
            </>
          )}
        </p>
      );
  }
}
