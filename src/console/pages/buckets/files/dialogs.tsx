import { useLayoutEffect, useRef, useState } from "preact/hooks";
import {
  type BucketFiles,
  changeMany,
  FileError,
  type NodeServerClient,
  type VersionName,
} from "../../../../client/index.ts";
import { bytes, listed } from "../../../format.ts";
import { go } from "../../../route.ts";
import { useSession } from "../../../session/session.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { useLoad } from "../../../ui/call.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { FileName } from "../../../ui/file-name.tsx";
import { Check, FieldError, FormDialog, TextField } from "../../../ui/form.tsx";
import { Icon } from "../../../ui/icons.tsx";
import { explain, reasonOf } from "../../../ui/problem.tsx";
import { toast } from "../../../ui/toasts.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import type { OpenBucket } from "../bucket-access.ts";
import { join, nameOf, nameProblem, nameWithoutExtension, parentOf, sameName } from "../path.ts";
import { runChange } from "./changes.tsx";
import { type Entry, planMove, renameProblem } from "./model.ts";
import { linkToPath } from "./view.ts";

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
  const submit = async () => {
    const fault = nameProblem(name);
    if (fault !== undefined) throw new FieldError("name", fault);
    const taken = new FieldError("name", t.files.taken(name));
    if (entries.some((entry) => sameName(entry.name, name))) throw taken;
    const target = join(path, name);
    try {
      if (kind === "folder") await files.makeFolder(target, { parents: false });
      else await files.upload(target, "", { onlyNew: true });
    } catch (error) {
      throw error instanceof FileError && error.status === 412 ? taken : error;
    }
    onDone();
    go(kind === "folder" ? linkToPath(bucket, target) : linkToPath(bucket, path, { file: name }));
  };
  return (
    <FormDialog
      title={kind === "folder" ? t.files.newFolder : t.files.newTextFile}
      action={t.frame.create}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField
        label={t.frame.name}
        hint={kind === "file" ? t.files.extensionHint : undefined}
        field="name"
        value={name}
        onChange={setName}
      />
    </FormDialog>
  );
}

interface RenameDialogProps {
  readonly openBucket: OpenBucket;
  /** Folder of the entry. */
  readonly path: string;
  readonly entry: Entry;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Dialog that gives an entry another name or path. */
export function RenameDialog({ openBucket, path, entry: now, onClose, onDone }: RenameDialogProps) {
  // The entry that was chosen: it leaves the list as it is renamed.
  const [entry] = useState(now);
  const from = join(path, entry.name);
  const name = nameOf(from);
  const [target, setTarget] = useState(from);
  const [taken, setTaken] = useState<string>();
  const [replace, setReplace] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  // Preselect what is changed most often: the name without its extension.
  useLayoutEffect(() => {
    const start = target.length - name.length;
    const { length } = entry.folder ? name : nameWithoutExtension(name);
    input.current?.setSelectionRange(start, start + length);
  }, []);

  const submit = async () => {
    const { files } = openBucket.access;
    const wrong = renameProblem(from, target);
    if (wrong !== undefined) throw new FieldError("path", wrong);
    if (files === undefined) return;
    if (target === from) return onClose();
    try {
      const { replacing, missing } = await planMove(parentOf(from), { from, to: target }, (folder) =>
        files.list(folder),
      );
      if (replacing !== undefined && !replace) return setTaken(visibleText(replacing));
      for (const folder of missing) await files.makeFolder(folder, { parents: false });
      await files.move(from, target);
    } catch (error) {
      throw new FieldError("path", explain(error));
    }
    toast(t.files.isNow(visibleText(name), visibleText(target)));
    onDone();
  };

  return (
    <FormDialog
      title={t.files.rename}
      action={t.files.rename}
      disabled={taken !== undefined && !replace}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField
        label={t.files.pathInBucket}
        hint={t.files.pathHint}
        field="path"
        inputRef={input}
        value={target}
        onChange={(path) => {
          setTarget(path);
          setTaken(undefined);
          setReplace(false);
        }}
      />
      {taken !== undefined && (
        <div class="notice" role="alert">
          <Check
            label={t.files.replaceExisting(taken)}
            hint={t.files.replacesOne}
            checked={replace}
            onChange={setReplace}
          />
        </div>
      )}
    </FormDialog>
  );
}

interface ChangeDialogProps {
  readonly openBucket: OpenBucket;
  /** Folder of the entries. */
  readonly path: string;
  readonly chosen: readonly Entry[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Dialog that says how much would be deleted, and deletes it. */
export function DeleteDialog({ openBucket, path, chosen: now, onClose, onDone }: ChangeDialogProps) {
  const { name } = openBucket;
  const { client } = useSession();
  // Keeps the initial selection: entries leave it as they are deleted.
  const [chosen] = useState(now);
  const folders = chosen.filter(({ folder }) => folder);
  const contents = useLoad(async (signal) => {
    const all = { count: 0, size: 0 };
    for (const folder of folders) {
      const below = { name, path: join(path, folder.name) };
      for (const { size } of await client.call("static-bucket-file_list", below, { signal })) {
        all.count += 1;
        all.size += size;
      }
    }
    return all;
  }, []);
  const retention = useLoad(
    (signal) => client.call("static-bucket-file_retention", { name }, { signal }).catch(() => undefined),
    [],
  );
  const what = chosen.length === 1 ? visibleText(chosen[0]?.name ?? "") : t.frame.countItems(chosen.length);
  const [started, setStarted] = useState(false);
  const [failures, setFailures] = useState<readonly string[]>([]);
  const close = started ? onDone : onClose;
  const remove = async () => {
    setStarted(true);
    const paths = chosen.map((entry) => join(path, entry.name));
    const failures = await runChange({
      title: t.files.deleting(t.frame.countItems(paths.length)),
      total: paths.length,
      run: (options) =>
        changeMany(paths, (paths) => client.call("static-bucket-file_delete_many", { name, paths }), options),
      doneText: t.files.deletedOne(what),
      undo: ({ versions }) => (versions.length === 0 ? undefined : () => restoreMany(client, name, versions)),
    }).catch((error) => [explain(error)]);
    if (failures === undefined || failures.length === 0) onDone();
    else setFailures(failures);
  };
  return (
    <Dialog title={t.files.deleteQuestion(what)} onClose={close}>
      <div class="dialog-text">
        {chosen.length > 1 && <NameList names={chosen.map((entry) => entry.name)} />}
        {folders.length > 0 && (
          <p aria-live="polite">
            {folders.length === 1
              ? t.files.folderHolds(visibleText(folders[0]?.name ?? ""))
              : t.files.foldersHold(folders.length)}
            {contents.value !== undefined
              ? t.files.heldFiles(t.frame.countFiles(contents.value.count), bytes(contents.value.size))
              : contents.error !== undefined
                ? t.files.heldUnknown(reasonOf(contents.error))
                : t.files.counting}
          </p>
        )}
        <p>{retention.loading ? "…" : undoText(retention.value)}</p>
      </div>
      <Failures of={failures} />
      <footer>
        <Button onClick={close}>{started ? t.frame.close : t.frame.cancel}</Button>
        {/* Disabled until the counts and the retention are known. */}
        <Button kind="danger" busy={started || contents.loading || retention.loading} onClick={remove}>
          {t.frame.delete}
        </Button>
      </footer>
    </Dialog>
  );
}

/** Without an answer, because the token may not list or the server is older, nothing is promised. */
function undoText(retention: { readonly days: number } | undefined): string {
  if (retention === undefined || retention.days === 0) return t.files.noUndo;
  return t.files.restoreHint(t.frame.countDays(retention.days));
}

const maxListed = 8;

/** The first names of a selection, and how many others there are. */
export function NameList({ names }: { readonly names: readonly string[] }) {
  return (
    <ul class="files-names">
      {names.slice(0, maxListed).map((name) => (
        <li key={name}>
          <FileName name={name} />
        </li>
      ))}
      {names.length > maxListed && (
        <li class="muted">{t.files.andOthers(t.frame.countOthers(names.length - maxListed))}</li>
      )}
    </ul>
  );
}

const maxFailures = 10;

/** Sentences about what could not be changed. */
export function Failures({ of: failures }: { readonly of: readonly string[] }) {
  if (failures.length === 0) return null;
  return (
    <div class="problem" role="alert">
      <Icon name="warning" />
      <ul class="files-names">
        {failures.slice(0, maxFailures).map((failure) => (
          <li key={failure}>{failure}</li>
        ))}
        {failures.length > maxFailures && <li>{t.files.andMore(failures.length - maxFailures)}</li>}
      </ul>
    </div>
  );
}

/** Restores versions; at a path at which something exists, nothing is replaced. */
export async function restoreMany(
  client: NodeServerClient,
  name: string,
  versions: readonly VersionName[],
): Promise<void> {
  const what = t.frame.countItems(versions.length);
  const failures = await runChange({
    title: t.files.restoring(what),
    total: versions.length,
    run: (options) =>
      changeMany(
        versions,
        (versions) => client.call("static-bucket-file_restore_many", { name, versions }),
        options,
      ),
    doneText: t.files.restoredAll(what),
    undo: () => undefined,
  });
  if (failures !== undefined && failures.length > 0)
    throw new Error(t.files.notRestored(listed(failures.slice(0, 5)), name));
}
