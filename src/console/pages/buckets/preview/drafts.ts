import { effect, signal } from "@preact/signals";
import { signedIn } from "../../../session.ts";
import { mayBeUnfinished } from "../../../unfinished.ts";

export interface Draft {
  readonly text: string;
  /** Of the file that it was made from. */
  readonly etag: string | undefined;
}

/** Texts that were changed and not saved. They outlive the page: a step back in the history must not lose them. */
const drafts = signal<ReadonlyMap<string, Draft>>(new Map());

export function draftOf(bucket: string, path: string): Draft | undefined {
  return drafts.peek().get(`${bucket}/${path}`);
}

export function keepDraft(bucket: string, path: string, draft: Draft): void {
  drafts.value = new Map(drafts.peek()).set(`${bucket}/${path}`, draft);
}

export function dropDraft(bucket: string, path: string): void {
  const left = new Map(drafts.peek());
  if (left.delete(`${bucket}/${path}`)) drafts.value = left;
}

effect(() => {
  if (signedIn.value.state !== "in") drafts.value = new Map();
});

mayBeUnfinished(() => (drafts.peek().size > 0 ? "changed files are not saved" : undefined));
