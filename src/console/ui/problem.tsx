import {
  FileDenied,
  NotNodeServer,
  PermissionDenied,
  RpcError,
  TimedOut,
  Unreachable,
} from "../../client/index.ts";
import { refusalOf } from "../text/refusal.ts";
import { t } from "../text/text.ts";
import { Icon } from "./icons.tsx";

/** Sentence about an error, for the person at the screen. */
export function explain(error: unknown): string {
  return toSentence(reasonOf(error));
}

/** Sentence about an error of one file, to stand beside the name of the file: without its path. */
export function explainFor(path: string, error: unknown): string {
  const reason = reasonOf(error);
  return toSentence(reason.startsWith(`${path}: `) ? reason.slice(path.length + 2) : reason);
}

function toSentence(reason: string): string {
  // The server begins in lower case. What it begins with is not a name then: names have signs, or stand after a word.
  return reason.replace(/^[a-z](?=[a-z]* )/, (first) => first.toUpperCase());
}

/** The same, to stand within a sentence. */
export function reasonOf(error: unknown): string {
  if (error instanceof PermissionDenied) return t.frame.denied(error.detail);
  if (error instanceof FileDenied && error.status === 401) return t.frame.fileTokenRefused(error.message);
  if (error instanceof FileDenied) return t.frame.fileDenied(error.message);
  // The error's own message is only the address and "Failed to fetch", whatever the cause.
  if (isUnreachable(error)) return t.frame.unreachable;
  if (error instanceof RpcError) return refusalOf(error.data) ?? error.detail;
  return error instanceof Error ? error.message : String(error);
}

/** Whether the server gave no answer at all. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof Unreachable && !(error instanceof TimedOut || error instanceof NotNodeServer);
}

/** Error message in the page, with a retry button if `retry` is given. */
export function Problem({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  return (
    <div class="problem" role="alert">
      <Icon name="warning" />
      <p>{explain(error)}</p>
      {retry !== undefined && (
        <button type="button" class="button" onClick={retry}>
          <span>{t.frame.tryAgain}</span>
        </button>
      )}
    </div>
  );
}
