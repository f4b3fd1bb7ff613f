import { InvalidInput } from "../../../client/index.ts";
import { serverUrl } from "../../connection.ts";
import { t } from "../../text/text.ts";
import { confirm } from "../../ui/dialog.tsx";

/**
 * Asks whether the HTTP root is taken from the bucket that has it. False when it is refused, and when the error is about
 * something else.
 */
export async function mayMoveRoot(error: unknown, name: string): Promise<boolean> {
  const root = otherRoot(error);
  if (root === undefined) return false;
  return confirm({
    title: t.bucketTabs.moveRootQuestion(name),
    text: t.bucketTabs.moveRootText(root, name, serverUrl),
    action: t.bucketTabs.moveRoot,
  });
}

/** Name of the bucket that is the HTTP root, if a refusal is about that. */
export function otherRoot(error: unknown): string | undefined {
  if (!(error instanceof InvalidInput) || error.data.field !== "is_http_root") return undefined;
  const { bucket } = error.data;
  return typeof bucket === "string" ? bucket : undefined;
}
