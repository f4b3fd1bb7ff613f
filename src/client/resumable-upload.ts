import { hasXhr, uploadInBrowser } from "./browser-upload.ts";
import { Body, sizeOf } from "./content.ts";
import { ClientError } from "./errors.ts";
import { FileError, toFileError } from "./file-error.ts";
import { fileErrorOf, sendFileRequest } from "./file-request.ts";
import { Backoff, isTemporary, type RetryOptions } from "./retry.ts";
import type { Fetch } from "./wire.ts";

/** Bytes of one request: what a proxy that buffers requests may lose. */
const requestBytes = 16 * 1024 * 1024;

export interface ResumableUpload {
  /** The path of the file in its bucket, for errors. */
  readonly path: string;
  /** The address at which uploads of the file begin, `…/node/static-upload/<bucket>/<path>`. */
  readonly address: string;
  readonly content: Uint8Array | Blob;
  /** Of the request that begins the upload. */
  readonly headers: Readonly<Record<string, string>>;
  /** In Unix milliseconds. */
  readonly modified: number | undefined;
  /** In hexadecimal. */
  readonly sha256: string | undefined;
  /** What an earlier `onResumable` gave; true looks for an unfinished upload of the same path, size, time and hash. */
  readonly resume: string | true | undefined;
  /** Whether failures that pass are waited for. */
  readonly retry: boolean;
  readonly onRetry: RetryOptions["onRetry"];
  readonly onResumable: ((resume: string) => void) | undefined;
  readonly onResumed: ((bytes: number) => void) | undefined;
  readonly onProgress: ((bytes: number) => void) | undefined;
  readonly signal: AbortSignal | undefined;
  /** The `Authorization` header. */
  readonly identity: () => Promise<Record<string, string>>;
  readonly fetch: Fetch;
  readonly onError: ((error: ClientError) => boolean | Promise<boolean>) | undefined;
}

interface State {
  readonly offset: number;
  readonly etag: string | null;
  readonly isFinished: boolean;
}

interface UploadEntry {
  readonly address: string;
  readonly path: string;
  readonly length: number;
  readonly modified: number | null;
  readonly sha256: string | null;
}

/**
 * Uploads a file in several requests, and goes on after failures that pass. Undefined if the server does not know such uploads.
 * Resolves to the new ETag.
 */
export async function uploadResumably(
  upload: ResumableUpload,
): Promise<{ readonly etag: string | null } | undefined> {
  return new Sender(upload).run();
}

class Sender {
  readonly #upload: ResumableUpload;
  readonly #size: number;
  /** The address of the upload on the server. */
  #at: string | undefined;

  constructor(upload: ResumableUpload) {
    this.#upload = upload;
    this.#size = sizeOf(upload.content);
  }

  async run(): Promise<{ readonly etag: string | null } | undefined> {
    const { resume, signal, onResumed } = this.#upload;
    if (typeof resume === "string") this.#at = resume;
    const backoff = new Backoff(this.#upload);
    /** Where the server is known to be; undefined if it has to be asked. */
    let state: State | undefined;
    let mayBeginAnew = true;
    let isFirst = true;
    for (let reached = -1; ; ) {
      signal?.throwIfAborted();
      try {
        if (this.#at === undefined && resume === true) this.#at = await this.#findUnfinished();
        if (this.#at === undefined) {
          isFirst = false;
          state = await this.#begin();
          if (state === undefined) return undefined;
        }
        state ??= await this.#ask();
        if (isFirst) onResumed?.(state.offset);
        isFirst = false;
        if (state.isFinished) return { etag: state.etag };
        if (state.offset > reached) {
          reached = state.offset;
          backoff.restart();
        }
        this.#upload.onProgress?.(state.offset);
        state = await this.#send(state.offset);
      } catch (error) {
        if (signal?.aborted) throw signal.reason;
        state = undefined;
        if (error instanceof FileError && error.reason === "no_upload" && mayBeginAnew) {
          mayBeginAnew = false;
          this.#at = undefined;
          reached = -1;
          continue;
        }
        if (!this.#upload.retry || !(error instanceof ClientError) || !(await this.#mayPass(error)))
          throw error;
        await backoff.wait(error);
      }
    }
  }

  async #mayPass(error: ClientError): Promise<boolean> {
    if (error instanceof FileError && ["upload_busy", "upload_offset"].includes(error.reason ?? ""))
      return true;
    return isTemporary(error) || ((await this.#upload.onError?.(error)) ?? false);
  }

  /** Undefined if the server has no such address: it is older, or a proxy lets only WebDAV through. */
  async #begin(): Promise<State | undefined> {
    const { address, headers, sha256, onResumable } = this.#upload;
    const digest = sha256 === undefined ? {} : { "repr-digest": `sha-256=:${base64Of(sha256)}:` };
    const response = await this.#request("POST", address, {
      headers: { ...headers, ...digest, "upload-length": String(this.#size) },
      allowed: [404, 405],
    });
    const location = response.headers.get("location");
    if (!response.ok || location === null) {
      const text = await response.text().catch(() => "");
      // Without this header the answer is not one of this protocol.
      if (response.headers.get("tus-resumable") === null) return undefined;
      throw toFileError({ path: this.#upload.path, status: response.status, text });
    }
    await response.arrayBuffer().catch(() => {});
    this.#at = location;
    onResumable?.(location);
    return stateIn(response.headers);
  }

  async #findUnfinished(): Promise<string | undefined> {
    const { address, modified, sha256 } = this.#upload;
    const response = await this.#request("GET", address, { allowed: [404, 405] });
    const text = await response.text().catch(() => "");
    if (!response.ok || response.headers.get("tus-resumable") === null) return undefined;
    const { uploads } = JSON.parse(text) as { uploads: UploadEntry[] };
    const same = uploads.filter(
      (one) =>
        isSamePath(new URL(one.address, address).href, address) &&
        one.length === this.#size &&
        one.modified === (modified ?? null) &&
        one.sha256 === (sha256 ?? null),
    );
    const found = same.at(-1)?.address;
    if (found !== undefined) this.#upload.onResumable?.(found);
    return found;
  }

  async #ask(): Promise<State> {
    const response = await this.#request("HEAD", this.#target(), { allowed: [404] });
    if (response.status === 404)
      throw toFileError({
        path: this.#upload.path,
        status: 404,
        text: "the upload has ended",
        reason: "no_upload",
      });
    return stateIn(response.headers);
  }

  async #send(offset: number): Promise<State> {
    const { content, path, onProgress, signal } = this.#upload;
    const end = Math.min(offset + requestBytes, this.#size);
    const piece = content instanceof Blob ? content.slice(offset, end) : content.subarray(offset, end);
    const report = onProgress && ((bytes: number) => onProgress(offset + bytes));
    const headers = { "upload-offset": String(offset), "content-type": "application/offset+octet-stream" };
    if (hasXhr() && report !== undefined) {
      const answer = await uploadInBrowser({
        method: "PATCH",
        address: this.#target(),
        path,
        headers: { ...(await this.#upload.identity()), ...tus, ...headers },
        content: piece,
        signal,
        onProgress: report,
      });
      return stateIn({ get: (name) => answer.getResponseHeader(name) });
    }
    const body = report === undefined || hasXhr() ? piece : new Body(piece, report);
    const response = await this.#request("PATCH", this.#target(), { headers, body });
    await response.arrayBuffer().catch(() => {});
    return stateIn(response.headers);
  }

  /** The token is only ever sent to the server of this client, whatever address was kept. */
  #target(): string {
    const { address } = this.#upload;
    const at = new URL(this.#at ?? "", address);
    if (at.origin !== new URL(address).origin || !isSamePath(at.href, address))
      throw new ClientError("the upload to resume is of another file");
    return at.href;
  }

  async #request(
    method: string,
    address: string,
    {
      headers,
      body,
      allowed = [],
    }: {
      readonly headers?: Record<string, string>;
      readonly body?: Uint8Array | Blob | Body;
      readonly allowed?: readonly number[];
    },
  ): Promise<Response> {
    const { fetch, identity, signal, path } = this.#upload;
    const response = await sendFileRequest(fetch, {
      method,
      address,
      headers: { ...(await identity()), ...tus, ...headers },
      body,
      signal,
      server: new URL(address).origin,
    });
    if (response.ok || allowed.includes(response.status)) return response;
    throw await fileErrorOf(response, path);
  }
}

const tus = { "tus-resumable": "1.0.0" };

/**
 * Whether two addresses have the same path. The server writes some characters plainly that `encodeURIComponent` encodes, such as
 * the `@` of a deploy.
 */
function isSamePath(one: string, other: string): boolean {
  const namesOf = (address: string) => new URL(address).pathname.split("/").map(decoded);
  return JSON.stringify(namesOf(one)) === JSON.stringify(namesOf(other));
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function stateIn(headers: { get(name: string): string | null }): State {
  return {
    offset: Number(headers.get("upload-offset") ?? 0),
    etag: headers.get("etag"),
    isFinished: headers.get("upload-put-status") !== null,
  };
}

function base64Of(hex: string): string {
  const bytes = hex.match(/../g)?.map((pair) => Number.parseInt(pair, 16)) ?? [];
  return btoa(String.fromCharCode(...bytes));
}
