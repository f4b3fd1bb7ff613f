import type { NodeServerClient } from "../../../client/index.ts";
import { t } from "../../text/text.ts";
import { confirm } from "../../ui/dialog.tsx";
import { toast } from "../../ui/toasts.tsx";

/** Asks, and deletes the record of a bucket. Resolves to whether it was deleted. */
export async function deleteBucket(
  client: NodeServerClient,
  { name, path }: { readonly name: string; readonly path: string },
): Promise<boolean> {
  const sure = await confirm({
    title: t.buckets.deleteQuestion(name),
    text: t.buckets.deleteText(path),
    action: t.buckets.deleteBucket,
    danger: true,
  });
  if (!sure) return false;
  await client.call("static-bucket_delete", { name });
  toast(t.buckets.deleted(name));
  return true;
}
