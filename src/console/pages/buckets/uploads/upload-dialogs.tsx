import { number, sentences } from "../../../format.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { FileName } from "../../../ui/file-name.tsx";
import { rich } from "../../../ui/rich.tsx";
import type { Plan } from "../transfer-plan.ts";
import type { Answer } from "./upload-start.ts";

interface ReplaceQuestion {
  readonly plan: Plan;
  readonly answer: (answer: Answer) => void;
}

const maxListed = 8;

export function ReplaceDialog({ plan: { replacing, fresh }, answer }: ReplaceQuestion) {
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

export type FolderAnswer = "contents" | "folder" | "cancel";

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
export function FolderDialog({ into, folders, isFirst, answer }: FolderQuestion) {
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
