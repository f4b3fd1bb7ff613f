import { useState } from "preact/hooks";
import { type BucketFiles, FileError } from "../../../../client/index.ts";
import { go } from "../../../route.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Field, typed } from "../../../ui/form.tsx";
import { explain } from "../../../ui/problem.tsx";
import { join, nameProblem, sameName } from "../path.ts";
import type { Entry } from "./entries.ts";
import { linkToPath } from "./folder-view.ts";

interface NewDialogProps {
  readonly kind: "file" | "folder";
  readonly bucket: string;
  readonly files: BucketFiles;
  readonly path: string;
  readonly entries: readonly Entry[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Dialog that creates a folder, or an empty text file, and opens it. */
export function NewDialog({ kind, bucket, files, path, entries, onClose, onDone }: NewDialogProps) {
  const [name, setName] = useState("");
  const [refusal, setRefusal] = useState<string>();
  const taken = () => setRefusal(t.files.taken(name));
  const submit = async () => {
    const fault = nameProblem(name);
    if (fault !== undefined) return setRefusal(fault);
    if (entries.some((entry) => sameName(entry.name, name))) return taken();
    const target = join(path, name);
    try {
      if (kind === "folder") await files.makeFolder(target, { parents: false });
      else await files.upload(target, "", { onlyNew: true });
    } catch (error) {
      return error instanceof FileError && error.status === 412 ? taken() : setRefusal(explain(error));
    }
    onDone();
    go(kind === "folder" ? linkToPath(bucket, target) : linkToPath(bucket, path, { file: name }));
  };
  return (
    <Dialog title={kind === "folder" ? t.files.newFolder : t.files.newTextFile} onClose={onClose}>
      <form class="form" onSubmit={(event: Event) => event.preventDefault()}>
        <Field
          label={t.frame.name}
          error={refusal}
          {...(kind === "file" ? { hint: t.files.extensionHint } : {})}
        >
          <input
            type="text"
            value={name}
            autocomplete="off"
            spellcheck={false}
            onInput={(event: Event) => {
              setName(typed(event));
              setRefusal(undefined);
            }}
          />
        </Field>
        <footer>
          <Button onClick={onClose}>{t.frame.cancel}</Button>
          <Button kind="primary" type="submit" onClick={submit}>
            {t.frame.create}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
