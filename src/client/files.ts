import { hasOldRequest, isBrowser, uploadInBrowser } from "./browser-upload.ts";
import { Body, type Content, isWhole, pieceBytes, piecesOf, sizeOf, toBytes } from "./content.ts";
import { ClientError, NotNodeServer } from "./errors.ts";
import { toFileError } from "./file-error.ts";
import { type BucketEntry, listingQuestion, parseListing } from "./listing.ts";
import { bodyLength, bodyPieces, bodyText } from "./response-body.ts";
import { retried } from "./retried.ts";
import { toUnreachable } from "./unreachable.ts";
import type { Fetch } from "./wire.ts";

export interface Transfer {
  readonly signal?: AbortSignal | undefined;
  /** `total` is undefined where nobody knows it. */
  readonly onProgress?: ((bytes: number, total: number | undefined) => void) | undefined;
}

export interface Upload extends Transfer {
  /** When the file was changed last, to be kept. */
  readonly modified?: Date | undefined;
  /** Makes the folders on its way that are missing. */
  readonly makeFolders?: boolean | undefined;
  /** Only over the file that has this ETag; a `FileConflict` when somebody else changed it. */
  readonly ifMatch?: string | undefined;
  /** Only where nothing stands yet; a `FileConflict` otherwise. */
  readonly onlyNew?: boolean | undefined;
}

export interface Uploaded {
  /** For `ifMatch` next time. Undefined where a proxy keeps it back. */
  readonly etag: string | undefined;
}

export interface NewFolder {
  readonly signal?: AbortSignal | undefined;
  /** Makes the folders on its way as well, true by default. False asks once, and nothing that is known to exist is asked for. */
  readonly parents?: boolean | undefined;
}

interface Request {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: Uint8Array | Blob | Body | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Statuses that are no failures here. */
  readonly allowed?: readonly number[];
}

/** How the files of a bucket are reached. */
export interface FileAccess {
  /** The address of the bucket. */
  readonly base: string;
  /** The `Authorization` header, asked for every request; undefined without a token. */
  readonly authorization: () => Promise<string | undefined>;
  readonly fetch: Fetch;
  readonly onError: ((error: ClientError) => boolean | Promise<boolean>) | undefined;
}

/** The files of one bucket, over WebDAV: any size, as a stream, with progress. */
export class BucketFiles {
  /** @internal */
  constructor(private readonly access: FileAccess) {}

  /** Where a file is, for other programs. */
  address(path: string): string {
    // An address resolves them, and so would lead to another bucket.
    if (path.split("/").some((name) => name === "." || name === ".."))
      throw new ClientError(`"${path}" is no path in a bucket: a name in it is only dots`);
    return `${this.access.base}/${path.split("/").map(encodeURIComponent).join("/")}`;
  }

  /** What a folder holds, folders first, each by name; the bucket itself unless one is named. */
  async list(folder = "", { signal }: Pick<Transfer, "signal"> = {}): Promise<BucketEntry[]> {
    const headers = { depth: "1", "content-type": "application/xml" };
    const body = new TextEncoder().encode(listingQuestion);
    const response = await this.#ask("PROPFIND", folder, { headers, body, signal, allowed: [207] });
    const text = await bodyText(response, { path: folder, signal });
    if (response.status !== 207)
      throw new NotNodeServer(
        `${this.access.base} is no node-server: it answers ${response.status} to PROPFIND`,
      );
    return parseListing(text, folder, this.access.base);
  }

  /** Puts a file in place whole: readers see the old one or the new one. */
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
    let told = 0;
    const tell = (bytes: number) => {
      if (bytes <= told) return;
      told = bytes;
      onProgress?.(bytes, total);
    };
    let etag: string | null;
    if (hasOldRequest() && whole !== undefined && onProgress !== undefined)
      etag = await retried(this.access.onError, async () =>
        uploadInBrowser({
          address: this.address(path),
          path,
          headers: { ...(await this.#identity()), ...headers },
          content: whole,
          signal,
          onProgress: tell,
        }),
      );
    else {
      const body = await toBody(whole ?? content, tell, onProgress !== undefined);
      // In pieces the request does not tell its length, and a server that waits for so many bytes takes no part for the whole.
      if (body instanceof Body && total !== undefined) headers["x-expected-entity-length"] = String(total);
      etag = (await this.#change("PUT", path, { headers, signal, body })).get("etag");
    }
    if (total === 0) onProgress?.(0, 0);
    else if (total !== undefined) tell(total);
    return { etag: etag ?? undefined };
  }

  /** The whole file. `onProgress` is told while it comes. */
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

  /** The answer itself, to be read as a stream. */
  open(path: string, { signal }: Pick<Transfer, "signal"> = {}): Promise<Response> {
    return this.#ask("GET", path, { signal });
  }

  /** Makes a folder, and those on its way; one that is there already stays as it is. */
  async makeFolder(path: string, { signal, parents = true }: NewFolder = {}): Promise<void> {
    const names = path.split("/").filter((segment) => segment !== "");
    for (let depth = parents ? 1 : names.length; depth <= names.length; depth += 1)
      // 405: it is there already.
      await this.#change("MKCOL", names.slice(0, depth).join("/"), { signal, allowed: [405] });
  }

  /** Removes a file, or a folder with all it holds; what is not there is removed already. */
  async remove(path: string, { signal }: Pick<Transfer, "signal"> = {}): Promise<void> {
    await this.#change("DELETE", path, { signal, allowed: [404] });
  }

  /** Moves a file or a folder; replaces what stands at `to`. */
  async move(from: string, to: string, { signal }: Pick<Transfer, "signal"> = {}): Promise<void> {
    const destination = new URL(this.address(to)).pathname;
    await this.#change("MOVE", from, { signal, headers: { destination } });
  }

  async #change(method: string, path: string, request: Request): Promise<Headers> {
    const response = await this.#ask(method, path, request);
    // Unread answers keep their connections.
    await response.arrayBuffer().catch(() => {});
    if (response.status === 200)
      throw new NotNodeServer(`${this.access.base} is no node-server: it answers 200 to ${method}`);
    return response.headers;
  }

  #ask(method: string, path: string, request: Request): Promise<Response> {
    // A stream has been read by then, and cannot be sent again.
    if (request.body instanceof Body) return this.#send(method, path, request);
    return retried(this.access.onError, () => this.#send(method, path, request));
  }

  async #send(
    method: string,
    path: string,
    { headers, body, signal, allowed = [] }: Request,
  ): Promise<Response> {
    let response: Response;
    // A browser's own `fetch` refuses to be called as a method.
    const { fetch } = this.access;
    const address = this.address(path);
    const identity = await this.#identity();
    try {
      response = await fetch(address, {
        method,
        headers: { ...identity, ...headers },
        // Nothing that a browser keeps goes along, and no challenge, such as one of a proxy, makes it ask its user for a password.
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
      throw toUnreachable(this.access.base, error);
    } finally {
      if (body instanceof Body) body.close();
    }
    if (allowed.includes(response.status) || (response.ok && response.status !== 207)) return response;
    throw toFileError(path, response.status, await response.text().catch(() => ""));
  }

  async #identity(): Promise<Record<string, string>> {
    const authorization = await this.access.authorization();
    return authorization === undefined ? {} : { authorization };
  }
}

/** What is small goes at once and with its length; so does what is in memory, when nobody asks how far it is. */
async function toBody(
  content: Uint8Array | Blob | Content,
  tell: (bytes: number) => void,
  watched: boolean,
): Promise<Uint8Array | Blob | Body> {
  if (content instanceof Blob && content.size <= pieceBytes)
    return new Uint8Array(await content.arrayBuffer());
  const inMemory = content instanceof Uint8Array;
  if (inMemory && (!watched || content.length <= pieceBytes)) return content;
  if (isBrowser() && (inMemory || content instanceof Blob)) return content;
  return new Body(content, tell);
}

/** All of it, unless `signal` fires before; the source may be stuck then, so nobody waits for it. */
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
