import { signal } from "@preact/signals";
import { sessionState } from "../../../session/session-state.ts";
import { t } from "../../../text/text.ts";

export interface Draft {
  readonly text: string;
  /** ETag of the edited version of the file. */
  readonly etag: string | undefined;
}

/** Unsaved texts by file. They outlive the page, so that going back in the history does not lose them. */
const drafts = sessionState(
  () => ({
    byFile: new Map<string, Draft>(),
    /** Keys of the drafts. The signal changes only when a draft is added or removed, not with every key press. */
    unsaved: signal<ReadonlySet<string>>(new Set()),
  }),
  { unsaved: ({ byFile }) => (byFile.size > 0 ? t.files.draftsUnsaved : undefined) },
);

/** Whether a file has a draft. Components that call it re-render when this changes. */
export function isUnsaved(bucket: string, path: string): boolean {
  return drafts.current()?.unsaved.value.has(`${bucket}/${path}`) ?? false;
}

export function draftOf(bucket: string, path: string): Draft | undefined {
  return drafts.current()?.byFile.get(`${bucket}/${path}`);
}

/** Keeps a draft until it is dropped or the session ends. */
export function keepDraft(bucket: string, path: string, draft: Draft): void {
  const { byFile, unsaved } = drafts.current() ?? {};
  const key = `${bucket}/${path}`;
  byFile?.set(key, draft);
  if (unsaved?.peek().has(key) === false) unsaved.value = new Set(byFile?.keys());
}

export function dropDraft(bucket: string, path: string): void {
  const { byFile, unsaved } = drafts.current() ?? {};
  if (unsaved !== undefined && byFile?.delete(`${bucket}/${path}`)) unsaved.value = new Set(byFile.keys());
}
