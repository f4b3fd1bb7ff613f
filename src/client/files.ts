import { ClientError, Unreachable } from "./errors.ts";

export interface Transfer {
  readonly signal?: AbortSignal;
  /** `total` is undefined where nobody knows it. */
  readonly onProgress?: (bytes: number, total: number | undefined) => void;
  /** When the file was changed last, to be kept. */
  readonly modified?: Date;
}

/** What a file can be given as. */
export type Content = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array>;

/** The server refused a file over WebDAV. */
export class FileError extends ClientError {
  override readonly name = "FileError";

  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** What of a browser's oldest request object is needed here. */
interface OldRequest {
  readonly status: number;
  readonly responseText: string;
  readonly upload: { onprogress: ((event: { loaded: number; total: number }) => void) | null };
  onload: (() => void) | null;
  onerror: (() => void) | null;
  onabort: (() => void) | null;
  open(method: string, address: string): void;
  setRequestHeader(name: string, value: string): void;
  send(content: Exclude<Content, ReadableStream<Uint8Array>>): void;
  abort(): void;
}
declare const XMLHttpRequest: (new () => OldRequest) | undefined;

/** The files of one bucket, over WebDAV: any size, as a stream, with progress. */
export class BucketFiles {
  constructor(
    private readonly base: string,
    private readonly authorization: string,
    private readonly fetch: typeof globalThis.fetch,
  ) {}

  /** Where a file is, for other programs. */
  address(path: string): string {
    return `${this.base}/${path.split("/").map(encodeURIComponent).join("/")}`;
  }

  /** Puts a file in place whole; the folders on its way must exist (`makeFolder`). */
  async upload(
    path: string,
    content: Content,
    { signal, onProgress, modified }: Transfer = {},
  ): Promise<void> {
    const headers: Record<string, string> =
      modified === undefined ? {} : { "x-oc-mtime": String(modified.getTime() / 1000) };
    const total = sizeOf(content);
    // A browser tells how far an upload is only in this old way.
    if (
      onProgress !== undefined &&
      typeof XMLHttpRequest !== "undefined" &&
      !(content instanceof ReadableStream)
    )
      return this.#send(new XMLHttpRequest(), this.address(path), content, headers, onProgress, signal);
    const counted =
      onProgress === undefined ? content : counting(toStream(content), (bytes) => onProgress(bytes, total));
    if (total !== undefined && counted instanceof ReadableStream)
      headers["x-expected-entity-length"] = String(total);
    await this.#ask("PUT", path, { headers, signal, body: counted });
  }

  /** The whole file. `onProgress` is told while it comes. */
  async download(path: string, { signal, onProgress }: Transfer = {}): Promise<Blob> {
    const response = await this.open(path, signal === undefined ? {} : { signal });
    if (onProgress === undefined || response.body === null) return response.blob();
    const length = response.headers.get("content-length");
    const total = length === null ? undefined : Number(length);
    return new Response(counting(response.body, (bytes) => onProgress(bytes, total))).blob();
  }

  /** The answer itself, to be read as a stream. */
  open(path: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<Response> {
    return this.#ask("GET", path, { signal });
  }

  /** Makes a folder, and those on its way. */
  async makeFolder(path: string): Promise<void> {
    const made: string[] = [];
    for (const name of path.split("/").filter((segment) => segment !== "")) {
      made.push(name);
      await this.#ask("MKCOL", made.join("/"), { allowed: [405] });
    }
  }

  /** Removes a file, or a folder with all it holds. */
  async remove(path: string): Promise<void> {
    await this.#ask("DELETE", path, { allowed: [404] });
  }

  async move(from: string, to: string): Promise<void> {
    await this.#ask("MOVE", from, {
      headers: { destination: new URL(this.address(to), "http://localhost").pathname },
    });
  }

  async #ask(
    method: string,
    path: string,
    more: {
      readonly headers?: Record<string, string>;
      readonly body?: Content;
      readonly signal?: AbortSignal | undefined;
      readonly allowed?: readonly number[];
    },
  ): Promise<Response> {
    const { headers, body, signal, allowed = [] } = more;
    let response: Response;
    try {
      response = await this.fetch(this.address(path), {
        method,
        headers: { authorization: this.authorization, ...headers },
        ...(body === undefined ? {} : { body }),
        ...(body instanceof ReadableStream ? { duplex: "half" } : {}),
        ...(signal === undefined ? {} : { signal }),
      } as RequestInit);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw new Unreachable(`${this.base} cannot be reached`, { cause: error });
    }
    if (response.ok || allowed.includes(response.status)) return response;
    throw await refusal(path, response.status, await response.text());
  }

  #send(
    request: OldRequest,
    address: string,
    content: Exclude<Content, ReadableStream<Uint8Array>>,
    headers: Readonly<Record<string, string>>,
    onProgress: (bytes: number, total: number | undefined) => void,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      request.open("PUT", address);
      for (const [name, value] of Object.entries({ ...headers, authorization: this.authorization }))
        request.setRequestHeader(name, value);
      request.upload.onprogress = ({ loaded, total }) => onProgress(loaded, total);
      request.onload = () => {
        if (request.status < 300) resolve();
        else void refusal(address, request.status, request.responseText).then(reject);
      };
      request.onerror = () => reject(new Unreachable(`${this.base} cannot be reached`));
      request.onabort = () => reject(signal?.reason ?? new ClientError("broken off"));
      signal?.addEventListener("abort", () => request.abort(), { once: true });
      request.send(content);
    });
  }
}

async function refusal(path: string, status: number, text: string): Promise<FileError> {
  const line = text.startsWith("<") ? "" : text.trim().replace(/^\d+ /, "");
  return new FileError(`${path}: ${line === "" ? `the server answers ${status}` : line}`, status);
}

function sizeOf(content: Content): number | undefined {
  if (typeof content === "string") return new TextEncoder().encode(content).length;
  if (content instanceof Uint8Array) return content.length;
  return content instanceof Blob ? content.size : undefined;
}

function toStream(content: Content): ReadableStream<Uint8Array> {
  if (content instanceof ReadableStream) return content;
  return (content instanceof Blob ? content : new Blob([content])).stream();
}

function counting(
  stream: ReadableStream<Uint8Array>,
  told: (bytes: number) => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let bytes = 0;
  return stream.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        bytes += chunk.length;
        controller.enqueue(chunk as Uint8Array<ArrayBuffer>);
        told(bytes);
      },
    }),
  );
}
