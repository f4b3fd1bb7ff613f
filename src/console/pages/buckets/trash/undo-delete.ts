import { ClientError, type FileVersion, type NodeServerClient } from "../../../../client/index.ts";
import { listed } from "../../../format.ts";
import { t } from "../../../text/text.ts";
import { toast } from "../../../ui/toasts.tsx";
import { visibleText } from "../../../ui/visible-text.ts";

interface DeletedPaths {
  readonly bucket: string;
  readonly paths: readonly string[];
}

/** Calls per batch. */
const batchSize = 100;

/** Puts back what was just deleted: the newest version of each path. Throws after the rest if one cannot be restored. */
export async function undoDelete(
  client: NodeServerClient,
  { bucket: name, paths }: DeletedPaths,
): Promise<void> {
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
