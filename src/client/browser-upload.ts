import { Unreachable } from "./errors.ts";
import { toFileError } from "./file-error.ts";

/** XhrLike is the part of `XMLHttpRequest` that is used here. */
export interface XhrLike {
  readonly status: number;
  readonly responseText: string;
  getResponseHeader(name: string): string | null;
  readonly upload: { onprogress: ((event: { loaded: number }) => void) | null };
  onload: (() => void) | null;
  onerror: (() => void) | null;
  onabort: (() => void) | null;
  open(method: string, address: string): void;
  setRequestHeader(name: string, value: string): void;
  send(content: Uint8Array | Blob): void;
  abort(): void;
}

/** Pages have `XMLHttpRequest`; service workers, Node and Bun do not. */
export function hasXhr(): boolean {
  return "XMLHttpRequest" in globalThis;
}

/** Whether this is a browser, whose `fetch` cannot send a stream over HTTP/1.1. */
export function isBrowser(): boolean {
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  return hasXhr() || process?.versions?.node === undefined;
}

export interface BrowserUpload {
  readonly method: "PUT" | "PATCH";
  readonly address: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly content: Uint8Array | Blob;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: (bytes: number) => void;
}

/** Uploads a file by `XMLHttpRequest`, because `fetch` reports no progress of an upload. Resolves to the request, once it was answered. */
export function uploadInBrowser(upload: BrowserUpload): Promise<XhrLike> {
  const { method, address, path, headers, content, signal, onProgress } = upload;
  const { XMLHttpRequest } = globalThis as unknown as { XMLHttpRequest: new () => XhrLike };
  const request = new XMLHttpRequest();
  const abort = () => request.abort();
  const sent = new Promise<XhrLike>((resolve, reject) => {
    signal?.throwIfAborted();
    request.open(method, address);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded }) => onProgress(loaded);
    request.onload = () => {
      if (request.status === 201 || request.status === 204) resolve(request);
      else {
        const reason = request.getResponseHeader("x-error-reason");
        const retryAfter = request.getResponseHeader("retry-after");
        reject(toFileError({ path, status: request.status, text: request.responseText, reason, retryAfter }));
      }
    };
    request.onerror = () => reject(new Unreachable(`${address} cannot be reached`));
    request.onabort = () => reject(signal?.reason);
    signal?.addEventListener("abort", abort);
    request.send(content);
  });
  return sent.finally(() => signal?.removeEventListener("abort", abort));
}
