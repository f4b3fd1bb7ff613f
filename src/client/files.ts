import { hasXhr, isBrowser, uploadInBrowser } from "./browser-upload.ts";
import { Body, type Content, isWhole, pieceBytes, piecesOf, sizeOf, toBytes } from "./content.ts";
import { ClientError, NotNodeServer } from "./errors.ts";
import { toFileError } from "./file-error.ts";
import { type BucketEntry, listingRequest, parseListing } from "./listing.ts";
import { bodyLength, bodyPieces, bodyText } from "./response-body.ts";
import { retried } from "./retried.ts";
import { toUnreachable } from "./unreachable.ts";
import type { Fetch } from "./wire.ts";

export interface Transfer {
  readonly signal?: AbortSignal | undefined;
  /** `total` is undefined where it is not known. */
  readonly onProgress?: ((bytes: number, total: number | undefined) => void) | undefined;
}

export interface Upload extends Transfer {
  /** The time of the last change, to be stored with the file. */
  readonly modified?: Date | undefined;
  /** Makes missing parent folders. */
  readonly makeFolders?: boolean | undefined;
  /** Replaces only the file that has this ETag; throws `FileConflict` when it was changed. */
  readonly ifMatch?: string | undefined;
  /** Throws `FileConflict` when something exists at the path. */
  readonly onlyNew?: boolean | undefined;
}

export interface Uploaded {
  /** For `ifMatch` of the next upload. Undefined where a proxy removes it. */
  readonly etag: string | undefined;
}

export interface NewFolder {
  readonly signal?: AbortSignal | undefined;
  /** Also makes missing parent folders; default true. False sends one request, for a folder whose parent exists. */
  readonly parents?: boolean | undefined;
}

interface Request {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: Uint8Array | Blob | Body | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Statuses that are not failures of this request. */
  readonly allowed?: readonly number[];
}

/** FileAccess is how the files of a bucket are reached. */
export interface FileAccess {
  /** The address of the bucket. */
  readonly base: string;
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
      throw new ClientError(`"${path}" is no path in a bucket: a name in it is only dots`);
    return `${this.#access.base}/${path.split("/").map(encodeURIComponent).join("/")}`;
  }

  /** Lists a folder, by default the bucket itself: folders first, then files, each by name. */
  async list(folder = "", { signal }: Pick<Transfer, "signal"> = {}): Promise<BucketEntry[]> {
    const headers = { depth: "1", "content-type": "application/xml" };
    const body = new TextEncoder().encode(listingRequest);
    const response = await this.#ask("PROPFIND", folder, { headers, body, signal, allowed: [207] });
    const text = await bodyText(response, { path: folder, signal });
    if (response.status !== 207)
      throw new NotNodeServer(
        `${this.#access.base} is no node-server: it answers ${response.status} to PROPFIND`,
      );
    return parseListing(text, folder, this.#access.base);
  }

  /** Uploads a file. It is replaced atomically: readers see the old one or the new one. */
  async upload(path: string, content: Content, options: Upload = {}): Promise<Uploaded> {
    const { signal, onProgress, modified, makeFolders, ifMatch, onlyNew } = options;
    if (makeFolders) await this.makeFolder(path.split("/").slice(0, -1).join("/"), { signal });
    const headers: Record<string, string> = {};
    if (modified !== undefined) headers["x-oc-mtime"] = String(modified.getTime() / 1000);
    if (ifMatch !== undefined) headers["if-match"] = ifMatch;
    if (onlyNew) headers["if-none-match"] = "*";
    // Browsers send streams over HTTP/2 only, if at all.
    const whole = isWhole(content)
      ? toBytes(content)
      : isBrowser()
        ? await collect(content, signal)
        : undefined;
    const total = whole === undefined ? undefined : sizeOf(whole);
    let reported = 0;
    const report = (bytes: number) => {
      if (bytes <= reported) return;
      reported = bytes;
      onProgress?.(bytes, total);
    };
    let etag: string | null;
    if (hasXhr() && whole !== undefined && onProgress !== undefined)
      etag = await retried(this.#access.onError, async () =>
        uploadInBrowser({
          address: this.address(path),
          path,
          headers: { ...(await this.#identity()), ...headers },
          content: whole,
          signal,
          onProgress: report,
        }),
      );
    else {
      const body = await toBody(whole ?? content, onProgress && report);
      // A chunked request has no Content-Length. With this header the server rejects an upload that was cut short.
      if (body instanceof Body && total !== undefined) headers["x-expected-entity-length"] = String(total);
      etag = (await this.#change("PUT", path, { headers, signal, body })).get("etag");
    }
    if (total === 0) onProgress?.(0, 0);
    else if (total !== undefined) report(total);
    return { etag: etag ?? undefined };
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

  /** Removes a file, or a folder with all it holds. A missing one is no error. */
  async remove(path: string, { signal }: Pick<Transfer, "signal"> = {}): Promise<void> {
    await this.#change("DELETE", path, { signal, allowed: [404] });
  }

  /** Moves a file or a folder; replaces what exists at `to`. */
  async move(from: string, to: string, { signal }: Pick<Transfer, "signal"> = {}): Promise<void> {
    const destination = new URL(this.address(to)).pathname;
    await this.#change("MOVE", from, { signal, headers: { destination } });
  }

  async #change(method: string, path: string, request: Request): Promise<Headers> {
    const response = await this.#ask(method, path, request);
    // An unread response keeps its connection.
    await response.arrayBuffer().catch(() => {});
    if (response.status === 200)
      throw new NotNodeServer(`${this.#access.base} is no node-server: it answers 200 to ${method}`);
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
    let response: Response;
    // A browser's `fetch` throws when it is called as a method.
    const { fetch } = this.#access;
    const address = this.address(path);
    const identity = await this.#identity();
    try {
      response = await fetch(address, {
        method,
        headers: { ...identity, ...headers },
        // No cookies or stored credentials; and no 401, such as one of a proxy, makes a browser ask for a password.
        credentials: "omit",
        ...(signal === undefined ? {} : { signal }),
        ...(body instanceof Body
          ? { body: body.stream, duplex: "half" }
          : body === undefined
            ? {}
            : { body }),
      } as RequestInit);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (body instanceof Body && body.failure !== undefined) throw body.failure.error;
      throw toUnreachable(this.#access.base, error);
    } finally {
      if (body instanceof Body) body.close();
    }
    if (allowed.includes(response.status) || (response.ok && response.status !== 207)) return response;
    const text = await response.text().catch(() => "");
    const reason = response.headers.get("x-error-reason");
    throw toFileError({ path, status: response.status, text, reason });
  }

  async #identity(): Promise<Record<string, string>> {
    const authorization = await this.#access.authorization();
    return authorization === undefined ? {} : { authorization };
  }
}

/** Chooses the body of a request: at once and with its length, if it is small or in memory without `onProgress`; else a stream. */
async function toBody(
  content: Uint8Array | Blob | Content,
  onProgress: ((bytes: number) => void) | undefined,
): Promise<Uint8Array | Blob | Body> {
  if (content instanceof Blob && content.size <= pieceBytes)
    return new Uint8Array(await content.arrayBuffer());
  const inMemory = content instanceof Uint8Array;
  if (inMemory && (onProgress === undefined || content.length <= pieceBytes)) return content;
  if (isBrowser() && (inMemory || content instanceof Blob)) return content;
  return new Body(content, onProgress ?? (() => {}));
}

/** Collects a stream, unless `signal` fires first; then it does not wait for the source, which may be stuck. */
async function collect(content: Content, signal: AbortSignal | undefined): Promise<Blob> {
  signal?.throwIfAborted();
  const pieces = piecesOf(content);
  let stop = () => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(signal?.reason);
  });
  signal?.addEventListener("abort", stop);
  const parts: Uint8Array[] = [];
  try {
    for (;;) {
      const { done, value } = await Promise.race([pieces.next(), stopped]);
      if (done) return new Blob(parts as Uint8Array<ArrayBuffer>[]);
      parts.push(value);
    }
  } finally {
    signal?.removeEventListener("abort", stop);
    pieces.return().catch(() => {});
  }
}
