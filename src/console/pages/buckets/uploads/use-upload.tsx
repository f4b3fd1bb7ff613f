import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import {
  type BucketFiles,
  FileError,
  Unreachable,
  type UploadRetry,
  withRetries,
} from "../../../../client/index.ts";
import { untilReachable, whenReachable } from "../../../connection.ts";
import { number, sentences } from "../../../format.ts";
import { signedIn } from "../../../session/session.ts";
import { onSessionEnd } from "../../../session/session-state.ts";
import { registerUnsavedWork } from "../../../session/unsaved-work.ts";
import { hasFiles, takeDrop } from "../../../stray-drops.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { FileName } from "../../../ui/file-name.tsx";
import { rich } from "../../../ui/rich.tsx";
import { showError, toast } from "../../../ui/toasts.tsx";
import { type Plan, planUpload } from "../files/model.ts";
import { join, parentOf } from "../path.ts";
import {
  contentsOf,
  type DropContents,
  type DroppedEntry,
  droppedFolders,
  type Incoming,
  walk,
} from "./drop.ts";
import { type UploadRequest, uploads } from "./queue.ts";

interface UploadStart {
  readonly start: (target: UploadTarget, dropped: DropContents) => Promise<void>;
  /** Open dialog, to be rendered. */
  readonly question: VNode | undefined;
}

/** Starts uploads, with the dialogs that they need: one question about all dropped folders, and one about all files that exist. */
export function useUpload(): UploadStart {
  const [question, setQuestion] = useState<VNode>();
  const shown = useRef(true);
  useEffect(
    () => () => {
      shown.current = false;
    },
    [],
  );
  /** `fallback` is the answer when the person has left the page. */
  function ask<A>(fallback: A, dialog: (answer: (given: A) => void) => VNode): Promise<A> {
    return new Promise((resolve) => {
      if (!shown.current) return resolve(fallback);
      setQuestion(
        dialog((given) => {
          setQuestion(undefined);
          resolve(given);
        }),
      );
    });
  }
  const withoutFolders = async ({ bucket, files, into, writeOnly }: UploadTarget, dropped: DropContents) => {
    if (writeOnly) return dropped;
    const folders = droppedFolders(dropped);
    const contents = folders.length > 0 ? contentsOf(dropped) : undefined;
    if (contents === undefined) return dropped;
    const isFirst = into === "" && (await untilReachable(() => files.list(""))).length === 0;
    const question = { into: join(bucket, into), folders, isFirst };
    const wanted = await ask<FolderAnswer>("folder", (answer) => (
      <FolderDialog {...question} answer={answer} />
    ));
    if (wanted === "cancel") return undefined;
    return wanted === "contents" ? contents : dropped;
  };
  const start = async (target: UploadTarget, dropped: DropContents) => {
    const wanted = await withoutFolders(target, dropped);
    if (wanted === undefined) return;
    await startUpload(target, wanted, (plan) =>
      ask<Answer>("skip", (answer) => <ReplaceDialog plan={plan} answer={answer} />),
    );
  };
  return { start, question };
}

/**
 * Makes the whole page a drop target. Returns the path of the folder whose row files are dragged over, or "" elsewhere;
 * undefined while nothing is dragged.
 */
export function useDrop(
  onDrop: (dropped: Promise<DropContents>, folder: string) => void,
): string | undefined {
  const [hovering, setHovering] = useState<string>();
  const latest = useRef(onDrop);
  latest.current = onDrop;
  useEffect(() => {
    const listening = new AbortController();
    const on = (type: "dragover" | "dragleave" | "drop", listen: (event: DragEvent) => void) =>
      addEventListener(type, listen, { signal: listening.signal });
    const isFree = () => document.querySelector("dialog[open]") === null;
    on("dragover", (event) => {
      if (hasFiles(event)) setHovering(isFree() ? folderAt(event) : undefined);
    });
    on("dragleave", ({ relatedTarget }) => {
      if (relatedTarget === null) setHovering(undefined);
    });
    // No `dragleave` comes if the element under the mouse was replaced. Only when a drag is over does the mouse send this again.
    addEventListener("pointermove", () => setHovering(undefined), { signal: listening.signal });
    on("drop", (event) => {
      if (!hasFiles(event)) return;
      takeDrop(event);
      setHovering(undefined);
      if (isFree() && event.dataTransfer !== null)
        latest.current(contentOf(event.dataTransfer), folderAt(event));
    });
    return () => listening.abort();
  }, []);
  return hovering;
}

/** Path of the folder whose row is under the mouse, or "". */
function folderAt({ target }: DragEvent): string {
  const row = target instanceof Element ? target.closest<HTMLElement>("[data-folder]") : null;
  return row?.dataset.folder ?? "";
}

/** Files and folders of a drop. Call it during the event: the browser discards the items afterwards. */
export function contentOf({ items }: DataTransfer): Promise<DropContents> {
  const entries: DroppedEntry[] = [];
  const files: DropContents["files"] = [];
  for (const item of items) {
    const entry = item.webkitGetAsEntry();
    const file = item.getAsFile();
    if (entry !== null) entries.push(entry);
    else if (file !== null) files.push({ path: file.name, file });
  }
  return walk(entries).then((found) => ({ ...found, files: [...files, ...found.files] }));
}

interface ReplaceQuestion {
  readonly plan: Plan;
  readonly answer: (answer: Answer) => void;
}

const maxListed = 8;

function ReplaceDialog({ plan: { replacing, fresh }, answer }: ReplaceQuestion) {
  const all = replacing.length + fresh.length;
  const names = replacing.slice(0, maxListed).map(({ path }) => path);
  return (
    <Dialog title={t.files.replaceQuestion} onClose={() => answer("cancel")}>
      <p>
        {sentences(
          all === 1
            ? t.files.fileExists
            : t.files.someExist(number(replacing.length), t.frame.countFiles(all)),
          replacing.length === 1 ? t.files.overwritesOne : t.files.overwritesSome,
        )}
      </p>
      <ul class="files-names">
        {names.map((name) => (
          <li key={name}>
            <FileName name={name} />
          </li>
        ))}
        {replacing.length > maxListed && (
          <li class="muted">{t.files.andOthers(t.frame.countOthers(replacing.length - maxListed))}</li>
        )}
      </ul>
      <footer>
        <Button onClick={() => answer("cancel")}>{t.frame.cancel}</Button>
        <Button onClick={() => answer("skip")}>
          {fresh.length === 0 ? t.files.skip : t.files.skipThese}
        </Button>
        <Button kind="danger" onClick={() => answer("replace")}>
          {t.files.replace}
        </Button>
      </footer>
    </Dialog>
  );
}

type FolderAnswer = "contents" | "folder" | "cancel";

interface FolderQuestion {
  /** Folder that the upload goes into, with the name of its bucket. */
  readonly into: string;
  /** Names of the dropped folders. */
  readonly folders: readonly string[];
  /** Whether the bucket is empty, so that this may become a website. */
  readonly isFirst: boolean;
  readonly answer: (answer: FolderAnswer) => void;
}

/** Asks whether dropped folders are uploaded themselves or only what they contain. */
function FolderDialog({ into, folders, isFirst, answer }: FolderQuestion) {
  const [first = ""] = folders;
  const isOne = folders.length === 1;
  const target = (
    <code>
      <FileName name={into} />/
    </code>
  );
  const below = (
    <code>
      <FileName name={`${into}/${first}`} />/
    </code>
  );
  return (
    <Dialog title={t.files.uploadAFolder} onClose={() => answer("cancel")}>
      <p>
        {rich(
          sentences(
            isOne ? t.files.folderQuestion : t.files.foldersQuestion(number(folders.length)),
            isFirst && t.files.websiteHint,
          ),
          { name: <FileName name={first} />, below, target },
        )}
      </p>
      <footer>
        <Button onClick={() => answer("cancel")}>{t.frame.cancel}</Button>
        {/* The usual answer comes last. */}
        {(isFirst ? (["folder", "contents"] as const) : (["contents", "folder"] as const)).map((one, at) => (
          <Button key={one} kind={at === 1 ? "primary" : "plain"} onClick={() => answer(one)}>
            {one === "folder"
              ? isOne
                ? t.files.uploadTheFolder
                : t.files.uploadTheFolders
              : isOne
                ? t.files.uploadContents
                : t.files.uploadTheirContents}
          </Button>
        ))}
      </footer>
    </Dialog>
  );
}

type Answer = "replace" | "skip" | "cancel";

/** Asks once about all files that would be replaced. */
type AskToReplace = (plan: Plan) => Promise<Answer>;

interface UploadTarget {
  readonly bucket: string;
  readonly files: BucketFiles;
  /** Folder in the bucket. */
  readonly into: string;
  /** Whether the token may write files and see nothing: the server then says which exist. */
  readonly writeOnly?: boolean;
}

/** Plans an upload, asks if files would be replaced, and queues it. */
async function startUpload(target: UploadTarget, dropped: DropContents, ask: AskToReplace): Promise<void> {
  const { files, into, writeOnly } = target;
  if (writeOnly) {
    const folders = new FolderCreator(files, new Set());
    uploads.add(dropped.files.map((file) => createRequest(file, { ...target, folders, replace: false })));
    return;
  }
  const list = (folder: string) => untilReachable(() => files.list(folder));
  const plan = await planUpload(into, dropped.files, dropped.emptyFolders, list);
  const answer = plan.replacing.length === 0 ? "skip" : await ask(plan);
  if (answer === "cancel" || signedIn.peek().state !== "signed-in") return;
  const folders = new FolderCreator(files, plan.missing);
  const replacing = answer === "replace" ? plan.replacing : [];
  uploads.add([
    ...plan.fresh.map((incoming) => createRequest(incoming, { ...target, folders, replace: false })),
    ...replacing.map((incoming) => createRequest(incoming, { ...target, folders, replace: true })),
  ]);
  await folders.createEmpty(dropped.emptyFolders, into);
  if (answer === "skip" && plan.replacing.length > 0)
    toast(t.files.skipped(t.frame.countFiles(plan.replacing.length)));
}

interface RequestOptions extends UploadTarget {
  readonly folders: FolderCreator;
  readonly replace: boolean;
}

function createRequest({ path, file }: Incoming, options: RequestOptions): UploadRequest {
  const { bucket, files, folders, writeOnly } = options;
  const modified = new Date(file.lastModified);
  let onlyNew = !options.replace;
  // A large file goes on where an earlier attempt stopped, also one of another visit: the server finds it by path, size and time.
  let resume: string | true | undefined = true;
  const onResumable = (address: string) => {
    resume = address;
  };
  return {
    bucket,
    path,
    size: file.size,
    send: async (sending) => {
      const onRetry = (retry: UploadRetry) => {
        sending.onRetry(retry);
        return retry.error instanceof Unreachable ? afterOutage() : undefined;
      };
      const options = { ...sending, onRetry };
      await withRetries(() => folders.create(parentOf(path)), options);
      try {
        const conditions = { modified, onlyNew, writeOnly };
        await files.upload(path, file, { ...options, ...conditions, resume, onResumable, retry: true });
      } catch (error) {
        if (!(error instanceof FileError && error.status === 412)) throw error;
        // The next attempt may replace, because the person has seen this message. What was begun may not.
        onlyNew = false;
        resume = undefined;
        throw new Error(writeOnly ? t.files.existsAlready : t.files.addedMeanwhile);
      }
    },
  };
}

/** Resolves when a server that did not answer does so again; never if it answers other requests all the time. */
async function afterOutage(): Promise<void> {
  if (!(await whenReachable())) await new Promise(() => {});
}

/** Creates each missing folder once, when the first file needs it, parents first. */
class FolderCreator {
  readonly #files: BucketFiles;
  readonly #missing: ReadonlySet<string>;
  readonly #created = new Map<string, Promise<void>>();

  constructor(files: BucketFiles, missing: ReadonlySet<string>) {
    this.#files = files;
    this.#missing = missing;
  }

  create(path: string): Promise<void> {
    if (!this.#missing.has(path)) return Promise.resolve();
    const before = this.#created.get(path);
    if (before !== undefined) return before;
    const now = this.create(parentOf(path)).then(() => this.#files.makeFolder(path, { parents: false }));
    this.#created.set(path, now);
    // A retry creates the folder again.
    now.catch(() => this.#created.delete(path));
    return now;
  }

  async createEmpty(folders: readonly string[], into: string): Promise<void> {
    for (const folder of folders) await this.create(into === "" ? folder : `${into}/${folder}`);
    if (folders.length > 0) uploads.arrived.value += 1;
  }
}

// Signing out cancels all uploads, and the next person does not see their names.
onSessionEnd(() => {
  uploads.cancelAll();
  uploads.clear();
});

registerUnsavedWork(() => (uploads.busy ? t.files.underWay : undefined));

/** Nonstandard attribute that all browsers support. */
const wholeFolder = { webkitdirectory: true };

interface ChooserProps {
  readonly label: string;
  readonly kind?: "plain" | "primary";
  /** Chooses a folder, and not files. */
  readonly folders?: boolean;
  readonly multiple?: boolean;
  /** Endings and types of the files that can be chosen. */
  readonly accept?: string;
  readonly onChoose: (dropped: DropContents) => Promise<unknown>;
}

/** Button for a hidden file input, which cannot be styled. */
export function Chooser({
  label,
  kind = "plain",
  folders = false,
  multiple,
  accept,
  onChoose,
}: ChooserProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button
        icon={folders ? "uploadFolder" : "upload"}
        title={label}
        kind={kind}
        onClick={() => input.current?.click()}
      >
        {label}
      </Button>
      <input
        ref={input}
        type="file"
        multiple={multiple}
        accept={accept}
        {...(folders ? wholeFolder : {})}
        class="unseen"
        aria-hidden="true"
        tabIndex={-1}
        aria-label={label}
        onChange={() => {
          const box = input.current;
          if (box === null) return;
          const files = [...(box.files ?? [])].map((file) => ({
            path: file.webkitRelativePath || file.name,
            file,
          }));
          // Without a reset, choosing the same files again would fire no event.
          box.value = "";
          runOrShowError(onChoose({ files, emptyFolders: [] }));
        }}
      />
    </>
  );
}

/** Shows the error of work that no button waits for. */
export function runOrShowError(work: Promise<unknown>): void {
  work.catch(showError);
}
