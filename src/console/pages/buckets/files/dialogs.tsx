import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import {
  type BucketFiles,
  ClientError,
  FileError,
  type FileVersion,
  type NodeServerClient,
} from "../../../../client/index.ts";
import { bytes, listed, number } from "../../../format.ts";
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
import { toast, toastWithAction } from "../../../ui/toasts.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import type { OpenBucket } from "../bucket-access.ts";
import { join, nameOf, nameProblem, nameWithoutExtension, parentOf, sameName } from "../path.ts";
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

interface DeleteDialogProps extends ChangeDialogProps {
  /** Called when what was deleted is back. */
  readonly onUndone: () => void;
}

/** Dialog that says how much would be deleted, and deletes it. */
export function DeleteDialog({
  openBucket,
  path,
  chosen: now,
  onClose,
  onDone,
  onUndone,
}: DeleteDialogProps) {
  const { name, access } = openBucket;
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
  const batch = useBatch();
  const [started, setStarted] = useState(false);
  const close = started ? onDone : onClose;
  const remove = async () => {
    setStarted(true);
    const items = chosen.map((entry) => ({
      name: entry.name,
      run: (signal: AbortSignal) =>
        access.files?.remove(join(path, entry.name), { signal }) ?? Promise.resolve(),
    }));
    if (!(await batch.run(items))) return;
    const paths = chosen.map((entry) => join(path, entry.name));
    if ((retention.value?.days ?? 0) === 0) toast(t.files.deletedOne(what));
    else
      toastWithAction(t.files.deletedOne(what), {
        label: t.files.undo,
        run: () => undoDelete(client, { bucket: name, paths }).finally(onUndone),
      });
    onDone();
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
      <BatchProgress batch={batch} />
      <footer>
        <Button onClick={batch.running ? batch.cancel : close}>
          {started && !batch.running ? t.frame.close : t.frame.cancel}
        </Button>
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

/** One change of a batch. */
interface BatchItem {
  readonly name: string;
  readonly run: (signal: AbortSignal) => Promise<unknown>;
}

interface Batch {
  readonly running: boolean;
  readonly done: number;
  readonly total: number;
  /** Sentences about failed items. */
  readonly failures: readonly string[];
  /** Resolves to true when all items succeeded. */
  readonly run: (items: readonly BatchItem[]) => Promise<boolean>;
  /** Aborts the current item and skips the rest. Finished items are not undone. */
  readonly cancel: () => void;
}

/** Runs changes one after the other, with one progress and one cancel. */
export function useBatch(): Batch {
  const [state, setState] = useState({
    running: false,
    done: 0,
    total: 0,
    failures: [] as readonly string[],
  });
  const abort = useRef(new AbortController());
  const cancel = () => abort.current.abort();
  useEffect(() => cancel, []);
  const run = async (items: readonly BatchItem[]) => {
    abort.current = new AbortController();
    const { signal } = abort.current;
    const failures: string[] = [];
    let done = 0;
    const publish = ({ running }: { readonly running: boolean }) =>
      setState({ running, done, total: items.length, failures: [...failures] });
    for (const { name, run: runItem } of items) {
      if (signal.aborted) break;
      publish({ running: true });
      try {
        await runItem(signal);
        done += 1;
      } catch (error) {
        if (signal.aborted) continue;
        // Errors about files name the path themselves.
        failures.push(
          error instanceof FileError
            ? visibleText(explain(error))
            : `${visibleText(name)}: ${explain(error)}`,
        );
      }
    }
    publish({ running: false });
    return done === items.length;
  };
  return { ...state, run, cancel };
}

const maxFailures = 10;

/** Progress of a batch, and its failures. */
export function BatchProgress({ batch: { running, done, total, failures } }: { readonly batch: Batch }) {
  return (
    <>
      {running && total > 1 && (
        <div role="status">
          <progress aria-label={t.files.progress} max={total} value={done + failures.length} />
          {t.files.progressOf(number(done + failures.length), number(total))}
        </div>
      )}
      {failures.length > 0 && (
        <div class="problem" role="alert">
          <Icon name="warning" />
          <ul class="files-names">
            {failures.slice(0, maxFailures).map((failure) => (
              <li key={failure}>{failure}</li>
            ))}
            {failures.length > maxFailures && <li>{t.files.andMore(failures.length - maxFailures)}</li>}
          </ul>
        </div>
      )}
    </>
  );
}

interface DeletedPaths {
  readonly bucket: string;
  readonly paths: readonly string[];
}

/** Calls per batch. */
const batchSize = 100;

/** Puts back what was just deleted: the newest version of each path. Throws after the rest if one cannot be restored. */
async function undoDelete(client: NodeServerClient, { bucket: name, paths }: DeletedPaths): Promise<void> {
  const failures: string[] = [];
  for (let at = 0; at < paths.length; at += batchSize) {
    const part = paths.slice(at, at + batchSize);
    const found = await client.batch(
      part.map((path) => ["static-bucket-file_history", { name, path, limit: 1 }] as const),
    );
    const versions: FileVersion[] = [];
    for (const [index, answer] of found.entries()) {
      const newest = answer instanceof ClientError ? undefined : answer[0];
      // Below the path of a folder something else may have been deleted since.
      if (newest !== undefined && newest.path === part[index]) versions.push(newest);
      else failures.push(visibleText(part[index] ?? ""));
    }
    if (versions.length === 0) continue;
    const answers = await client.batch(
      versions.map(({ path, version }) => ["static-bucket-file_restore", { name, path, version }] as const),
    );
    for (const [index, answer] of answers.entries())
      if (answer instanceof ClientError) failures.push(visibleText(versions[index]?.path ?? ""));
  }
  if (failures.length > 0) throw new Error(t.files.notRestored(listed(failures.slice(0, 5)), name));
  toast(t.files.restoredAll(t.frame.countItems(paths.length)));
}
