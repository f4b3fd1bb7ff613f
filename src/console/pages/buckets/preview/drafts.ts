import { effect, signal } from "@preact/signals";
import { signedIn } from "../../../session.ts";
import { registerUnsavedWork } from "../../../unsaved-work.ts";

export interface Draft {
  readonly text: string;
  /** Of the file that it was made from. */
  readonly etag: string | undefined;
}

/** Texts that were changed and not saved. They outlive the page: a step back in the history must not lose them. */
const drafts = new Map<string, Draft>();
/** The files that have a draft. It changes with these, not with every key that is typed. */
const unsaved = signal<ReadonlySet<string>>(new Set());

/** Whether a file has a draft, for a component that shows it. */
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

registerUnsavedWork(() => (drafts.size > 0 ? "changed files are not saved" : undefined));
