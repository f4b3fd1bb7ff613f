import { useEffect, useState } from "preact/hooks";
import {
  changeMany,
  type ManyDone,
  type ManyOptions,
  type NodeServerClient,
} from "../../../../client/index.ts";
import { listed } from "../../../format.ts";
import { useSession } from "../../../session/session.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { explain } from "../../../ui/problem.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import type { OpenBucket } from "../bucket-access.ts";
import { join, nameOf } from "../path.ts";
import { PathPicker } from "../path-picker.tsx";
import { runChange } from "./changes.tsx";
import { Failures, NameList } from "./dialogs.tsx";
import { conflictsOf, type OnConflict, type Step, stepsOf, type Transfer, transferProblem } from "./model.ts";

interface TransferDialogProps {
  readonly openBucket: OpenBucket;
  readonly transfer: Transfer;
  /** Destination; undefined: the person chooses it. */
  readonly into?: string | undefined;
  readonly onClose: () => void;
  /** Called at the end, with the names that are new in the folder of the entries. */
  readonly onDone: (added: readonly string[]) => void;
}

/**
 * Moves or copies entries into a folder. Shows a dialog for choosing the folder, if `into` is undefined, for names that exist there, and
 * for failures; nothing otherwise.
 */
export function TransferDialog(props: TransferDialogProps) {
  const { openBucket, transfer, onClose, onDone } = props;
  const { kind, path, entries } = transfer;
  const { client } = useSession();
  const [failures, setFailures] = useState<readonly string[]>([]);
  const [into, setInto] = useState(props.into ?? path);
  const [taken, setTaken] = useState<readonly string[]>();
  const [fault, setFault] = useState<string>();
  const [started, setStarted] = useState(false);
  const problem = transferProblem(transfer, into);
  const conflicts = taken === undefined ? [] : conflictsOf(transfer, into, taken);
  const what =
    entries.length === 1 ? visibleText(entries[0]?.name ?? "") : t.frame.countItems(entries.length);

  const run = async (steps: readonly Step[]) => {
    if (steps.length === 0) return onClose();
    setStarted(true);
    const failures = await runChange({
      title: kind === "move" ? t.files.moving(what) : t.files.copying(what),
      total: steps.length,
      run: (options) => transferMany(client, { name: openBucket.name, kind, steps }, options),
      doneText: doneText(steps),
      undo: (done) => undoOf(steps, done),
    }).catch((error) => [explain(error)]);
    if (failures !== undefined && failures.length > 0) return setFailures(failures);
    onDone(into === path ? steps.map(({ to }) => nameOf(to)) : []);
  };
  const nameOfSteps = (steps: readonly Step[]) =>
    steps.length === 1 ? visibleText(nameOf(steps[0]?.from ?? "")) : t.frame.countItems(steps.length);
  const doneText = (steps: readonly Step[]) => {
    const [moved, folder] = [nameOfSteps(steps), visibleText(join(openBucket.name, into))];
    return kind === "copy" ? t.files.copiedTo(moved, folder) : t.files.movedTo(moved, folder);
  };
  const undoOf = (steps: readonly Step[], { failed, left }: ManyDone) => {
    const missed = new Set(failed.map(({ path }) => path));
    const moved = inOrder(steps)
      .slice(0, steps.length - left)
      .filter(({ from }) => !missed.has(from));
    // What was replaced is in the trash at best, so this move is not undone.
    if (kind === "copy" || moved.some(({ replaces }) => replaces)) return undefined;
    return () => moveBack(client, openBucket.name, moved);
  };
  const begin = async () => {
    setFault(undefined);
    try {
      const there = (await openBucket.access.list(into, new AbortController().signal)).map(
        ({ name }) => name,
      );
      if (conflictsOf(transfer, into, there).length > 0) return setTaken(there);
      await run(stepsOf(transfer, into, { taken: there, onConflict: "skip" }));
    } catch (error) {
      setFault(explain(error));
    }
  };
  useEffect(() => {
    if (props.into !== undefined) void begin();
  }, []);

  const isAsking = conflicts.length > 0 && !started;
  const isPicking = props.into === undefined && !isAsking && !started;
  const isShown = isPicking || isAsking || failures.length > 0 || fault !== undefined;
  if (!isShown) return null;
  const close = started ? () => onDone([]) : onClose;
  const answer = (onConflict: OnConflict) => run(stepsOf(transfer, into, { taken: taken ?? [], onConflict }));
  const cancel = <Button onClick={close}>{isPicking || isAsking ? t.frame.cancel : t.frame.close}</Button>;
  return (
    <Dialog
      // A new dialog for the question: it takes the focus.
      key={isAsking ? "ask" : "pick"}
      title={kind === "move" ? t.files.moveItems(what) : t.files.copyItems(what)}
      onClose={close}
    >
      {isPicking && <PathPicker makesFolders openBucket={openBucket} path={into} onPath={setInto} />}
      {isPicking && problem !== undefined && (
        <p class="muted" role="status">
          {visibleText(problem)}
        </p>
      )}
      {isAsking && <Conflicts names={conflicts} folder={join(openBucket.name, into)} />}
      {fault !== undefined && (
        <p class="problem" role="alert">
          {fault}
        </p>
      )}
      <Failures of={failures} />
      <footer>
        {cancel}
        {isPicking && (
          <Button kind="primary" disabled={problem !== undefined} onClick={begin}>
            {kind === "move" ? t.files.moveHere : t.files.copyHere}
          </Button>
        )}
        {isAsking && (
          <>
            {conflicts.length < entries.length && (
              <Button onClick={() => answer("skip")}>{t.files.skipThese}</Button>
            )}
            <Button onClick={() => answer("both")}>{t.files.keepBoth}</Button>
            <Button kind="danger" onClick={() => answer("replace")}>
              {t.files.replace}
            </Button>
          </>
        )}
      </footer>
    </Dialog>
  );
}

/** Names that exist at the destination, and what each answer does. */
function Conflicts({ names, folder }: { readonly names: readonly string[]; readonly folder: string }) {
  return (
    <div class="dialog-text">
      <p>{t.files.existThere(visibleText(folder))}</p>
      <NameList names={names} />
      <p>{t.files.conflictHint}</p>
    </div>
  );
}

/** Steps that may replace something come last: one call may replace for all of its steps or for none. */
function inOrder(steps: readonly Step[]): readonly Step[] {
  return [...steps].sort((a, b) => Number(a.replaces) - Number(b.replaces));
}

interface TransferSteps {
  readonly name: string;
  readonly kind: Transfer["kind"];
  readonly steps: readonly Step[];
}

/** Moves or copies. What has appeared at a destination meanwhile is replaced only if its step says so. */
function transferMany(
  client: NodeServerClient,
  { name, kind, steps }: TransferSteps,
  options: ManyOptions,
): Promise<ManyDone> {
  const call = (some: readonly Step[]) => {
    const overwrite = some[0]?.replaces ?? false;
    const pairs = some.filter(({ replaces }) => replaces === overwrite).map(({ from, to }) => ({ from, to }));
    return kind === "move"
      ? client.call("static-bucket-file_move_many", { name, moves: pairs, overwrite })
      : client.call("static-bucket-file_copy_many", { name, copies: pairs, overwrite });
  };
  return changeMany(inOrder(steps), call, options);
}

/** Moves everything back to where it was, and replaces nothing there. */
async function moveBack(client: NodeServerClient, name: string, moved: readonly Step[]): Promise<void> {
  const what =
    moved.length === 1 ? visibleText(nameOf(moved[0]?.from ?? "")) : t.frame.countItems(moved.length);
  const steps = moved.map(({ from, to }) => ({ from: to, to: from, replaces: false }));
  const failures = await runChange({
    title: t.files.moving(what),
    total: steps.length,
    run: (options) => transferMany(client, { name, kind: "move", steps }, options),
    doneText: t.files.movedBack(what),
    undo: () => undefined,
  });
  if (failures !== undefined && failures.length > 0)
    throw new Error(t.files.notMovedBack(listed(failures.slice(0, 5))));
}
