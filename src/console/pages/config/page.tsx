import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { InvalidInput } from "../../../client/index.ts";
import { Editor } from "../../editor/editor.tsx";
import type { EditorHandle } from "../../editor/props.ts";
import { listed } from "../../format.ts";
import { useSession } from "../../session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { useLoad } from "../../ui/call.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { Check } from "../../ui/form.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { rich } from "../../ui/rich.tsx";
import { showError, toast } from "../../ui/toasts.tsx";
import { checkText, ProblemList, useCheck } from "./check.tsx";
import { type ConfigKey, descriptionOf, keyAt, suggestConfig, typeOf } from "./config-keys.ts";
import { hasSecrets, secrets } from "./diff.ts";
import { draftOf, type SaveResult } from "./draft.ts";
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
  const [cursorLine, setCursorLine] = useState(1);
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
    if (next === undefined) return toast(t.config.nothingToSave);
    const found = await checkText(session.client, text);
    if (found.problems.length > 0) return setRefusedText(text);
    setWarnings(found.warnings);
    setStep(next);
  };
  useSaveKey(() => void save().catch(showError));

  const discard = async () => {
    const sure = {
      title: t.config.discardQuestion,
      text: t.config.discardText,
      danger: true,
    };
    if (draft.isChanged && !(await confirm({ ...sure, action: t.frame.discard }))) return;
    draft.reset(await draft.read());
  };

  return (
    <Page
      title={t.frame.config}
      tall
      actions={
        <>
          {draft.isChanged && <span class="badge warn">{t.config.unsavedBadge}</span>}
          <Button onClick={discard} disabled={!isRead}>
            {t.frame.reload}
          </Button>
          <Button kind="primary" onClick={save} disabled={!isRead}>
            {t.config.saveDots}
          </Button>
        </>
      }
    >
      {error !== undefined && <Problem error={error} retry={reload} />}
      {error instanceof InvalidInput && <p>{t.config.whereHint}</p>}
      {saved !== undefined && <SavedView saved={saved} />}
      {isRead && (
        <>
          <div class="config-editor">
            <Editor
              label={t.config.configuration}
              language="toml"
              value={text}
              revision={draft.revision.value}
              onChange={(next) => {
                draft.text.value = next;
              }}
              suggest={suggestConfig}
              onCursor={({ line }) => setCursorLine(line)}
              marks={marks}
              secrets={showsSecrets ? undefined : secrets}
              onSave={() => void save().catch(showError)}
              handle={editor}
            />
          </div>
          <KeyHelp documented={keyAt(text, cursorLine)} />
          <ProblemList
            checked={checked}
            isRefused={refusedText === text}
            onGoTo={(position) => editor.current?.goTo(position)}
          />
          <div class="row">
            {hasSecrets(text) && (
              <Check label={t.config.showPasswords} checked={showsSecrets} onChange={setShowsSecrets} />
            )}
            <span class="hint">{t.config.keysHint}</span>
          </div>
        </>
      )}
      {step !== undefined && <SaveDialog draft={draft} step={step} warnings={warnings} onStep={setStep} />}
    </Page>
  );
}

/** Documentation of the key that the cursor is on. */
function KeyHelp({ documented }: { readonly documented: ConfigKey | undefined }) {
  return (
    // A scrolling element must be focusable to be scrolled by keyboard.
    <section class="config-help" aria-label={t.config.keyHelp} aria-live="polite" tabIndex={0}>
      {documented === undefined ? (
        <p class="muted">{t.config.keyHelpHint}</p>
      ) : (
        <>
          <p>
            <code>{documented.name}</code>{" "}
            <span class="muted">
              {typeOf(documented)}
              {documented.default !== undefined && `, ${t.config.defaultIs(documented.default)}`}
              {documented.isRequired && `, ${t.config.required}`}
            </span>
          </p>
          <p>{withCode(descriptionOf(documented))}</p>
        </>
      )}
    </section>
  );
}

/** Text with the parts between backticks as code. */
function withCode(text: string) {
  return text.split("`").map((part, at) => (at % 2 === 1 ? <code key={part}>{part}</code> : part));
}

/** Handles Ctrl+S on the whole page, not only in the editor. */
function useSaveKey(save: () => void): void {
  const latest = useRef(save);
  latest.current = save;
  useLayoutEffect(() => {
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
function SavedView({ saved }: { readonly saved: SaveResult }) {
  const className = classOf(saved);
  return (
    <div class={className} role="status">
      <Icon name={className === "notice good" ? "check" : "warning"} />
      <div>{messageOf(saved)}</div>
    </div>
  );
}

function classOf(saved: SaveResult): string {
  if (saved.kind !== "applied" && saved.kind !== "unchanged") return "problem";
  return saved.warnings.length > 0 ? "notice" : "notice good";
}

function messageOf(saved: SaveResult) {
  switch (saved.kind) {
    case "applied":
    case "unchanged":
      return (
        <>
          <p>
            {saved.kind === "applied" ? t.config.savedApplied(listed(saved.keys)) : t.config.savedUnchanged}
          </p>
          {saved.warnings.map((warning) => (
            <p key={warning}>{t.config.warns(warning)}</p>
          ))}
        </>
      );
    case "refused":
      return <p>{t.config.savedRefused(saved.why)}</p>;
    case "unheard":
      return <p>{t.config.savedUnheard}</p>;
    case "gone":
      return (
        <p>
          {rich(t.config.savedGone, {
            where:
              saved.address === undefined
                ? t.config.seeLog
                : rich(t.config.shouldBeAt, { link: <a href={saved.address}>{saved.address}</a> }),
          })}
        </p>
      );
  }
}
