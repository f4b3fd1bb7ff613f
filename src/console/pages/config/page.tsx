import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { InvalidInput } from "../../../client/index.ts";
import { Editor } from "../../editor/editor.tsx";
import type { EditorHandle } from "../../editor/props.ts";
import { useSession } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { Check } from "../../ui/field.tsx";
import { useLoad } from "../../ui/load.ts";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { showError, toast } from "../../ui/toasts.tsx";
import { checkText, useCheck } from "./check.ts";
import { deskOf } from "./desk.ts";
import { ProblemList } from "./problem-list.tsx";
import { type Finding, marksOf } from "./problems.ts";
import { SavedView } from "./saved-view.tsx";
import { nextStep, Saving, type Step } from "./saving.tsx";
import { hasSecrets, secrets } from "./secrets.ts";

export default function ConfigPage() {
  const session = useSession();
  const desk = deskOf(session);
  const editor = useRef<EditorHandle>(null);
  const [step, setStep] = useState<Step>();
  const [warnings, setWarnings] = useState<readonly Finding[]>([]);
  /** The text that was not saved because of its problems. */
  const [refused, setRefused] = useState<string>();
  const [shows, setShows] = useState(false);
  const { error, reload } = useLoad(
    async (signal) => {
      // A draft from before waits; whether the file is still the same is looked into when it is saved.
      if (!desk.isChanged) desk.take(await desk.read(signal));
    },
    [desk],
  );
  const isRead = desk.file.value !== undefined;
  const text = desk.text.value;
  const checked = useCheck(session.client, isRead ? text : undefined);
  const saved = desk.saved.value;
  const marks = useMemo(
    () => [...marksOf(checked.problems, "error"), ...marksOf(checked.warnings, "warning")],
    [checked.problems, checked.warnings],
  );

  const save = async () => {
    if (!isRead || step !== undefined) return;
    const next = await nextStep(desk);
    if (next === undefined) return toast("Nothing to save: this is what the file holds.");
    const found = await checkText(session.client, text);
    if (found.problems.length > 0) return setRefused(text);
    setWarnings(found.warnings);
    setStep(next);
  };
  useSaveKey(() => void save().catch(showError));

  const drop = async () => {
    const sure = {
      title: "Drop your changes?",
      text: "The text becomes that of the file again.",
      danger: true,
    };
    if (desk.isChanged && !(await confirm({ ...sure, action: "Drop" }))) return;
    desk.take(await desk.read());
  };

  return (
    <Page
      title="Config"
      tall
      actions={
        <>
          {desk.isChanged && <span class="badge warn">Unsaved changes</span>}
          <Button onClick={drop} disabled={!isRead}>
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
        <p>The console shows the file only where the server may write it safely: in its working directory.</p>
      )}
      {saved !== undefined && <SavedView saved={saved} />}
      {isRead && (
        <>
          <div class="config-editor">
            <Editor
              label="Configuration"
              language="toml"
              value={text}
              revision={desk.revision.value}
              onChange={(next) => {
                desk.text.value = next;
              }}
              marks={marks}
              secrets={shows ? undefined : secrets}
              onSave={() => void save().catch(showError)}
              handle={editor}
            />
          </div>
          <ProblemList
            checked={checked}
            isRefused={refused === text}
            onGoTo={(place) => editor.current?.goTo(place)}
          />
          <div class="row">
            {hasSecrets(text) && <Check label="Show passwords" checked={shows} onChange={setShows} />}
            <span class="hint">
              Ctrl+S saves · Esc, then Tab leaves the editor · a draft is kept until you sign out or close the
              tab
            </span>
          </div>
        </>
      )}
      {step !== undefined && <Saving desk={desk} step={step} warnings={warnings} onStep={setStep} />}
    </Page>
  );
}

/** Ctrl+S anywhere on the page, not only in the editor. */
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
