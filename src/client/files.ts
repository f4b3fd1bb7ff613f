import { hasXhr, isBrowser, uploadInBrowser } from "./browser-upload.ts";
import { Body, type Content, isSame, isWhole, sizeOf, toBytes } from "./content.ts";
import { ClientError, NotNodeServer } from "./errors.ts";
import { FileConflict } from "./file-error.ts";
import type { NewFolder, Relocation, Transfer, Upload, Uploaded } from "./file-options.ts";
import { fileErrorOf, sendFileRequest } from "./file-request.ts";
import { type BucketEntry, listingRequest, parseEntry, parseListing } from "./listing.ts";
import { collect, toBody } from "./request-body.ts";
import { bodyLength, bodyPieces, bodyText } from "./response-body.ts";
import { uploadResumably } from "./resumable-upload.ts";
import { retried, withRetries } from "./retry.ts";
import type { Fetch } from "./wire.ts";

/** Larger content is sent in several requests, which go on after a failure where the server has got to. */
const minResumableBytes = 16 * 1024 * 1024;

interface Request {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: Uint8Array | Blob | Body | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Statuses that are not failures of this request. */
  readonly allowed?: readonly number[];
}

interface Sending {
  readonly headers: Readonly<Record<string, string>>;
  readonly report: ((bytes: number) => void) | undefined;
}

/** FileAccess is how the files of a bucket are reached. */
export interface FileAccess {
  /** The address of the bucket. */
  readonly base: string;
  /** The address below which its resumable uploads begin. */
  readonly uploads: string;
  /** The `Authorization` header, called for every request; undefined without a token. */
  readonly authorization: () => Promise<string | undefined>;
  readonly fetch: Fetch;
  readonly onError: ((error: ClientError) => boolean | Promise<boolean>) | undefined;
}

/** BucketFiles reads and writes the files of one bucket over WebDAV, of any size, with progress. */
export class BucketFiles {
  readonly #access: FileAccess;

  /** @internal */
  constructor(access: FileAccess) {
    this.#access = access;
  }

  /** The address of a file, for other programs. */
  address(path: string): string {
    // URLs resolve dot segments, which would lead to another bucket.
    if (path.split("/").some((name) => name === "." || name === ".."))
      throw new ClientError(`"${path}" is not a path inside a bucket: a name in it is only dots`);
    return `${this.#access.base}/${path.split("/").map(encodeURIComponent).join("/")}`;
  }

  /** Lists a folder, by default the bucket itself: folders first, then files, each by name. */
  async list(folder = "", { signal }: Pick<Transfer, "signal"> = {}): Promise<BucketEntry[]> {
    const headers = { depth: "1", "content-type": "application/xml" };
    const body = new TextEncoder().encode(listingRequest);
    const response = await this.#ask("PROPFIND", folder, { headers, body, signal, allowed: [207] });
    const text = await bodyText(response, { path: folder, signal });
    if (response.status !== 207) throw this.#notWebdav(response);
    return parseListing(text, folder, this.#access.base);
  }

  /** Finds a file or a folder; undefined if nothing is at the path. The bucket itself is a folder without a name. */
  async find(path: string, { signal }: Pick<Transfer, "signal"> = {}): Promise<BucketEntry | undefined> {
    const headers = { depth: "0", "content-type": "application/xml" };
    const body = new TextEncoder().encode(listingRequest);
    const response = await this.#ask("PROPFIND", path, { headers, body, signal, allowed: [207, 404] });
    const text = await bodyText(response, { path, signal });
    if (response.status === 404) return undefined;
    if (response.status !== 207) throw this.#notWebdav(response);
    return parseEntry(text, path, this.#access.base);
  }

  /** Uploads a file. It is replaced atomically: readers see the old one or the new one. */
  async upload(path: string, content: Content, options: Upload = {}): Promise<Uploaded> {
    const { signal, onProgress, modified, makeFolders, ifMatch, onlyNew, writeOnly } = options;
    if (makeFolders && !writeOnly) await this.makeFolder(path.split("/").slice(0, -1).join("/"), { signal });
    const headers: Record<string, string> = {};
    if (modified !== undefined) headers["x-oc-mtime"] = String(modified.getTime() / 1000);
    if (ifMatch !== undefined) headers["if-match"] = ifMatch;
    if (onlyNew) headers["if-none-match"] = "*";
    // Browsers send streams over HTTP/2 only, if at all.
    const whole = isWhole(content)
      ? toBytes(content)
      : isBrowser() || writeOnly
        ? await collect(content, signal)
        : undefined;
    const total = whole === undefined ? undefined : sizeOf(whole);
    let reported = 0;
    const report = (bytes: number) => {
      if (bytes <= reported) return;
      reported = bytes;
      onProgress?.(bytes, total);
    };
    const sending = { ...options, headers, report: onProgress && report };
    const resumed =
      whole !== undefined && (writeOnly || sizeOf(whole) > minResumableBytes)
        ? await this.#uploadResumably(path, whole, sending)
        : undefined;
    const { etag } =
      resumed ??
      (whole !== undefined && options.retry === true
        ? await this.#putWithRetries(path, whole, sending)
        : { etag: await this.#put(path, whole ?? content, sending) });
    if (total === 0) onProgress?.(0, 0);
    else if (total !== undefined) report(total);
    return { etag: etag ?? undefined };
  }

  /** Sends a file in one request, and resolves to its ETag. */
  async #put(
    path: string,
    content: Uint8Array | Blob | Content,
    { headers, report, signal }: Upload & Sending,
  ): Promise<string | null> {
    const hasSize = content instanceof Uint8Array || content instanceof Blob;
    if (hasXhr() && hasSize && report !== undefined)
      return retried(this.#access.onError, async () => {
        const answer = await uploadInBrowser({
          method: "PUT",
          address: this.address(path),
          path,
          headers: { ...(await this.#identity()), ...headers },
          content,
          signal,
          onProgress: report,
        });
        return answer.getResponseHeader("etag");
      });
    const body = await toBody(content, report);
    // A chunked request has no Content-Length. With this header the server rejects an upload that was cut short.
    const length: Record<string, string> =
      body instanceof Body && hasSize ? { "x-expected-entity-length": String(sizeOf(content)) } : {};
    return (await this.#change("PUT", path, { headers: { ...headers, ...length }, signal, body })).get(
      "etag",
    );
  }

  /**
   * Sends a file in one request, and again after failures that pass. PUT may be repeated: it is idempotent (RFC 9110 §9.2.2), and
   * the server replaces a file only by a whole one. But an attempt whose answer was lost may have stored the file. The next one,
   * with `If-None-Match` or `If-Match`, then meets that file and is refused with 412. So a 412 after a failure is not a conflict if
   * the content there is the one that was sent; in a browser also the first one, because browsers repeat a request themselves
   * when a connection that they had kept open breaks.
   */
  #putWithRetries(
    path: string,
    content: Uint8Array | Blob,
    sending: Upload & Sending,
  ): Promise<{ readonly etag: string | null }> {
    return withRetries(async (failures) => {
      try {
        return { etag: await this.#put(path, content, sending) };
      } catch (error) {
        const isRefused = error instanceof FileConflict && error.status === 412;
        const stored =
          isRefused && (failures > 0 || isBrowser())
            ? await this.#findSame(path, content, sending)
            : undefined;
        if (stored === undefined) throw error;
        return stored;
      }
    }, sending);
  }

  /** The file at the path, if it has just this content. */
  async #findSame(
    path: string,
    content: Uint8Array | Blob,
    options: Pick<Transfer, "signal">,
  ): Promise<{ readonly etag: string } | undefined> {
    const found = await this.find(path, options);
    if (found === undefined || found.folder || found.size !== sizeOf(content)) return undefined;
    return (await isSame(content, await this.download(path, options))) ? found : undefined;
  }

  #uploadResumably(
    path: string,
    content: Uint8Array | Blob,
    { headers, report, modified, ...options }: Upload & Sending,
  ): Promise<{ readonly etag: string | null } | undefined> {
    const { base, uploads, fetch, onError } = this.#access;
    return uploadResumably({
      path,
      address: uploads + this.address(path).slice(base.length),
      content,
      headers,
      modified: modified?.getTime(),
      sha256: options.sha256,
      resume: options.resume,
      retry: options.retry ?? true,
      onRetry: options.onRetry,
      onResumable: options.onResumable,
      onResumed: options.onResumed,
      onProgress: report,
      signal: options.signal,
      identity: () => this.#identity(),
      fetch,
      onError,
    });
  }

  /** Downloads a whole file. */
  async download(path: string, { signal, onProgress }: Transfer = {}): Promise<Blob> {
    const response = await this.open(path, { signal });
    const total = bodyLength(response);
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for await (const part of bodyPieces(response, { path, signal })) {
      parts.push(part);
      bytes += part.length;
      onProgress?.(bytes, total);
    }
    const type = response.headers.get("content-type") ?? "";
    return new Blob(parts as Uint8Array<ArrayBuffer>[], { type });
  }

  /** Requests a file and returns the response, to be read as a stream. */
  open(path: string, { signal }: Pick<Transfer, "signal"> = {}): Promise<Response> {
    return this.#ask("GET", path, { signal });
  }

  /** Makes a folder and its missing parents; an existing one stays as it is. */
  async makeFolder(path: string, { signal, parents = true }: NewFolder = {}): Promise<void> {
    const names = path.split("/").filter((segment) => segment !== "");
    for (let depth = parents ? 1 : names.length; depth <= names.length; depth += 1)
      // 405: it exists already.
      await this.#change("MKCOL", names.slice(0, depth).join("/"), { signal, allowed: [405] });
  }

  /** Removes a file, or a folder with all it holds. A missing one is not an error. */
  async remove(path: string, { signal }: Pick<Transfer, "signal"> = {}): Promise<void> {
    await this.#change("DELETE", path, { signal, allowed: [404] });
  }

  /** Moves a file or a folder; replaces what exists at `to`, unless `overwrite` is false. */
  async move(from: string, to: string, options: Relocation = {}): Promise<void> {
    await this.#relocate("MOVE", { from, to }, options);
  }

  /** Copies a file, or a folder with all it holds, within the bucket; replaces what exists at `to`, unless `overwrite` is false. */
  async copy(from: string, to: string, options: Relocation = {}): Promise<void> {
    await this.#relocate("COPY", { from, to }, options);
  }

  async #relocate(
    method: "MOVE" | "COPY",
    { from, to }: { readonly from: string; readonly to: string },
    { signal, overwrite = true }: Relocation,
  ): Promise<void> {
    const destination = new URL(this.address(to)).pathname;
    await this.#change(method, from, {
      signal,
      headers: { destination, ...(overwrite ? {} : { overwrite: "F" }) },
    });
  }

  #notWebdav({ status }: Response): NotNodeServer {
    return new NotNodeServer(`${this.#access.base} is not a node-server: it answers ${status} to PROPFIND`);
  }

  async #change(method: string, path: string, request: Request): Promise<Headers> {
    const response = await this.#ask(method, path, request);
    // An unread response keeps its connection.
    await response.arrayBuffer().catch(() => {});
    if (response.status === 200)
      throw new NotNodeServer(`${this.#access.base} is not a node-server: it answers 200 to ${method}`);
    return response.headers;
  }

  #ask(method: string, path: string, request: Request): Promise<Response> {
    // A stream was read by the first attempt, so it cannot be sent again.
    if (request.body instanceof Body) return this.#send(method, path, request);
    return retried(this.#access.onError, () => this.#send(method, path, request));
  }

  async #send(
    method: string,
    path: string,
    { headers, body, signal, allowed = [] }: Request,
  ): Promise<Response> {
    // A browser's `fetch` throws when it is called as a method.
    const { fetch, base: server } = this.#access;
    const response = await sendFileRequest(fetch, {
      method,
      address: this.address(path),
      headers: { ...(await this.#identity()), ...headers },
      body,
      signal,
      server,
    });
    if (allowed.includes(response.status) || (response.ok && response.status !== 207)) return response;
    throw await fileErrorOf(response, path);
  }

  async #identity(): Promise<Record<string, string>> {
    const authorization = await this.#access.authorization();
    return authorization === undefined ? {} : { authorization };
  }
}
