import { effect, signal } from "@preact/signals";
import { signedIn } from "../../../session.ts";
import { t } from "../../../text/text.ts";
import { registerUnsavedWork } from "../../../unsaved-work.ts";

export interface Draft {
  readonly text: string;
  /** ETag of the edited version of the file. */
  readonly etag: string | undefined;
}

/** Unsaved texts by file. They outlive the page, so that going back in the history does not lose them. */
const drafts = new Map<string, Draft>();
/** Keys of the drafts. The signal changes only when a draft is added or removed, not with every key press. */
const unsaved = signal<ReadonlySet<string>>(new Set());

/** Whether a file has a draft. Components that call it re-render when this changes. */
export function isUnsaved(bucket: string, path: string): boolean {
  return unsaved.value.has(`${bucket}/${path}`);
}

export function draftOf(bucket: string, path: string): Draft | undefined {
  return drafts.get(`${bucket}/${path}`);
}

export function keepDraft(bucket: string, path: string, draft: Draft): void {
  const key = `${bucket}/${path}`;
  drafts.set(key, draft);
  if (!unsaved.peek().has(key)) unsaved.value = new Set(drafts.keys());
}

export function dropDraft(bucket: string, path: string): void {
  if (drafts.delete(`${bucket}/${path}`)) unsaved.value = new Set(drafts.keys());
}

effect(() => {
  if (signedIn.value.state === "signed-in") return;
  drafts.clear();
  unsaved.value = new Set();
});

registerUnsavedWork(() => (drafts.size > 0 ? t.files.draftsUnsaved : undefined));
