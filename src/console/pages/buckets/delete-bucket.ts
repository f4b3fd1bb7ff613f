import type { NodeServerClient } from "../../../client/index.ts";
import { t } from "../../text/text.ts";
import { act } from "../../ui/call.tsx";

/** Asks, and deletes the record of a bucket. */
export function deleteBucket(
  client: NodeServerClient,
  { name, path }: { readonly name: string; readonly path: string },
  after: () => void,
): Promise<boolean> {
  return act({
    ask: {
      title: t.buckets.deleteQuestion(name),
      text: t.buckets.deleteText(path),
      action: t.buckets.deleteBucket,
      danger: true,
    },
    run: () => client.call("static-bucket_delete", { name }),
    done: t.buckets.deleted(name),
    after,
  });
}
