import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { FileName } from "../../../ui/visible-text.tsx";

export type FolderAnswer = "contents" | "folder" | "cancel";

export interface FolderQuestion {
  readonly bucket: string;
  readonly folder: string;
  readonly answer: (answer: FolderAnswer) => void;
}

/** Asks, before one folder goes to the top of an empty bucket, whether its content alone is meant: a site wants that. */
export function FolderDialog({ bucket, folder, answer }: FolderQuestion) {
  const name = <FileName name={folder} />;
  return (
    <Dialog title="Upload a folder" onClose={() => answer("cancel")}>
      <p>
        The bucket {bucket} is empty. Upload the folder {name} as it is, so that its files are below{" "}
        <code>
          {bucket}/{name}/
        </code>
        , or only what it holds, directly below <code>{bucket}/</code>? A website belongs directly into its
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
