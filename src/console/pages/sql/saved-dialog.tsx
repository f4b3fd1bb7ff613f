import { useState } from "preact/hooks";
import { time } from "../../format.ts";
import { t } from "../../text/text.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { useLoad } from "../../ui/call.tsx";
import { confirm, Dialog } from "../../ui/dialog.tsx";
import { Field, typed } from "../../ui/form.tsx";
import { Problem } from "../../ui/problem.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { showError, toast } from "../../ui/toasts.tsx";
import { maxNameChars, maxSavedChars, type SavedStatements } from "./saved-statements.ts";

export interface SavedDialogProps {
  readonly saved: SavedStatements;
  /** Text of the editor, which can be saved. */
  readonly text: string;
  readonly onPick: (sql: string) => void;
  readonly onClose: () => void;
}

/** Saved statements. A click puts one into the editor; the editor's text can be saved under a name. */
export function SavedDialog({ saved, text, onPick, onClose }: SavedDialogProps) {
  const { value, error, reload } = useLoad((signal) => saved.list(signal), [saved]);
  const remove = async (name: string) => {
    const asked = { title: t.sql.deleteSaved(name), text: t.sql.deleteSavedText, danger: true };
    if (!(await confirm({ ...asked, action: t.frame.delete }))) return;
    await saved.delete(name);
    reload();
  };
  return (
    <Dialog title={t.sql.saved} onClose={onClose} wide>
      <p class="muted">{t.sql.savedText}</p>
      <SaveForm saved={saved} text={text} onSaved={reload} />
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value === undefined && error === undefined && <Skeleton rows={3} />}
      {value?.length === 0 && <p class="empty">{t.sql.nothingSaved}</p>}
      <ul class="sql-history">
        {value?.map(({ name, sql, savedAt }) => (
          <li key={name}>
            <button type="button" onClick={() => onPick(sql)}>
              <strong>{name}</strong>
              <code>{sql}</code>
              <small>{time(savedAt)}</small>
            </button>
            <IconButton icon="trash" label={t.sql.deleteNamed(name)} onClick={() => remove(name)} />
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

interface SaveFormProps {
  readonly saved: SavedStatements;
  readonly text: string;
  readonly onSaved: () => void;
}

function SaveForm({ saved, text, onSaved }: SaveFormProps) {
  const [name, setName] = useState("");
  const [busy, setBusy] = useState(false);
  const problem = problemOf(text);
  const save = async () => {
    const wanted = name.trim();
    const asked = { title: t.sql.replaceSaved(wanted), text: t.sql.replaceSavedText, danger: true };
    const isNew = await saved.save(wanted, text, { replace: false });
    if (!isNew && !(await confirm({ ...asked, action: t.sql.replace }))) return;
    if (!isNew) await saved.save(wanted, text, { replace: true });
    setName("");
    toast(t.sql.savedAs(wanted));
    onSaved();
  };
  const onSubmit = (event: Event) => {
    event.preventDefault();
    if (name.trim() === "" || problem !== undefined || busy) return;
    setBusy(true);
    save()
      .catch(showError)
      .finally(() => setBusy(false));
  };
  return (
    <form class="row sql-save" onSubmit={onSubmit}>
      <Field label={t.sql.saveName} hint={problem}>
        <input
          type="text"
          maxLength={maxNameChars}
          value={name}
          onInput={(event: Event) => setName(typed(event))}
        />
      </Field>
      <Button type="submit" kind="primary" busy={busy} disabled={problem !== undefined || name.trim() === ""}>
        {t.frame.save}
      </Button>
    </form>
  );
}

/** Why the text of the editor cannot be saved. */
function problemOf(text: string): string | undefined {
  if (text.trim() === "") return t.sql.nothingToSave;
  return text.length > maxSavedChars ? t.sql.tooLongToSave(t.sql.countCharacters(maxSavedChars)) : undefined;
}
