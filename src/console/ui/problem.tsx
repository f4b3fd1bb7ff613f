import {
  FileDenied,
  NotNodeServer,
  PermissionDenied,
  RpcError,
  TimedOut,
  Unreachable,
} from "../../client/index.ts";
import { Icon } from "./icons.tsx";

/** An error in a sentence for the person at the screen. */
export function explain(error: unknown): string {
  if (error instanceof PermissionDenied)
    return `This token may not do that. The server says: ${error.detail}`;
  if (error instanceof FileDenied && error.status === 401)
    return `The server no longer accepts the token that you are signed in with. ${error.message}`;
  if (error instanceof FileDenied)
    return `This token may not do that: files need all four permissions on the bucket. ${error.message}`;
  // Without its message, which names the address and the browser's own word for every cause, "Failed to fetch".
  if (isUnreachable(error)) return "The server cannot be reached. Try again when it is back.";
  if (error instanceof RpcError) return error.detail;
  return error instanceof Error ? error.message : String(error);
}

/** Whether nobody answered at all. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof Unreachable && !(error instanceof TimedOut || error instanceof NotNodeServer);
}

/** What went wrong, where it went wrong. */
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
