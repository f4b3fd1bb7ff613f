import { plural } from "../../../format.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { FileName } from "../../../ui/visible-text.tsx";
import type { Plan } from "../plan.ts";
import type { Answer } from "./upload-start.ts";

export interface ReplaceQuestion {
  readonly plan: Plan;
  readonly answer: (answer: Answer) => void;
}

const maxListed = 8;

export function ReplaceDialog({ plan: { replacing, fresh }, answer }: ReplaceQuestion) {
  const all = replacing.length + fresh.length;
  const names = replacing.slice(0, maxListed).map(({ path }) => path);
  return (
    <Dialog title="Replace files?" onClose={() => answer("cancel")}>
      <p>
        {all === 1
          ? "The file already exists."
          : `${replacing.length.toLocaleString("en")} of ${plural(all, "file")} already exist.`}{" "}
        {replacing.length === 1 ? "“Replace” overwrites it." : "“Replace” overwrites them."}
      </p>
      <ul class="files-names">
        {names.map((name) => (
          <li key={name}>
            <FileName name={name} />
          </li>
        ))}
        {replacing.length > maxListed && (
          <li class="muted">and {plural(replacing.length - maxListed, "other")}</li>
        )}
      </ul>
      <footer>
        <Button onClick={() => answer("cancel")}>Cancel</Button>
        <Button onClick={() => answer("skip")}>{fresh.length === 0 ? "Skip" : "Skip these"}</Button>
        <Button kind="danger" onClick={() => answer("replace")}>
          Replace
        </Button>
      </footer>
    </Dialog>
  );
}

export type FolderAnswer = "contents" | "folder" | "cancel";

export interface FolderQuestion {
  readonly bucket: string;
  readonly folder: string;
  readonly answer: (answer: FolderAnswer) => void;
}

/** Asks whether a folder for an empty bucket is uploaded itself or only its content, which a website needs. */
export function FolderDialog({ bucket, folder, answer }: FolderQuestion) {
  const name = <FileName name={folder} />;
  return (
    <Dialog title="Upload a folder" onClose={() => answer("cancel")}>
      <p>
        The bucket {bucket} is empty. Upload the folder {name} itself, so that its files are below{" "}
        <code>
          {bucket}/{name}/
        </code>
        , or only its contents, directly below <code>{bucket}/</code>? A website belongs directly in its
        bucket.
      </p>
      <footer>
        <Button onClick={() => answer("cancel")}>Cancel</Button>
        <Button onClick={() => answer("folder")}>Upload the folder</Button>
        <Button kind="primary" onClick={() => answer("contents")}>
          Upload its contents
        </Button>
      </footer>
    </Dialog>
  );
}
