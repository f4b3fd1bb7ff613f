import {
  FileDenied,
  NotNodeServer,
  PermissionDenied,
  RpcError,
  TimedOut,
  Unreachable,
} from "../../client/index.ts";
import { Icon } from "./icons.tsx";

/** Sentence about an error, for the person at the screen. */
export function explain(error: unknown): string {
  if (error instanceof PermissionDenied)
    return `This token may not do that. The server says: ${error.detail}`;
  if (error instanceof FileDenied && error.status === 401)
    return `The server no longer accepts the token that you are signed in with. ${error.message}`;
  if (error instanceof FileDenied)
    return `This token may not do that: files need all four permissions on the bucket. ${error.message}`;
  // The error's own message is only the address and "Failed to fetch", whatever the cause.
  if (isUnreachable(error)) return "The server cannot be reached. Try again when it is back.";
  if (error instanceof RpcError) return error.detail;
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
          <span>Try again</span>
        </button>
      )}
    </div>
  );
}
