import { Body } from "./content.ts";
import { toFileError } from "./file-error.ts";
import { toUnreachable } from "./unreachable.ts";
import type { Fetch } from "./wire.ts";

/** FileRequest is a request about a file, by WebDAV or for a resumable upload. */
export interface FileRequest {
  readonly method: string;
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | Blob | string | Body | undefined;
  readonly signal: AbortSignal | undefined;
  /** The server's address, named where it cannot be reached. */
  readonly server: string;
}

/** sendFileRequest throws what the body's source threw, the signal's reason, or Unreachable; every status is returned. */
export async function sendFileRequest(
  fetch: Fetch,
  { method, address, headers, body, signal, server }: FileRequest,
): Promise<Response> {
  try {
    return await fetch(address, {
      method,
      headers,
      // No cookies or stored credentials; and no 401, such as one of a proxy, makes a browser ask for a password.
      credentials: "omit",
      ...(signal === undefined ? {} : { signal }),
      ...(body instanceof Body ? { body: body.stream, duplex: "half" } : body === undefined ? {} : { body }),
    } as RequestInit);
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    if (body instanceof Body && body.failure !== undefined) throw body.failure.error;
    throw toUnreachable(server, error);
  } finally {
    if (body instanceof Body) body.close();
  }
}

/** fileErrorOf returns what a refused request about a file at `path` throws. */
export async function fileErrorOf(response: Response, path: string): Promise<Error> {
  const text = await response.text().catch(() => "");
  const reason = response.headers.get("x-error-reason");
  const retryAfter = response.headers.get("retry-after");
  return toFileError({ path, status: response.status, text, reason, retryAfter });
}
