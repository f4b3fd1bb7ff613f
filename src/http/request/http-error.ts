/** HttpErrorOptions is what an error's response has beside its status and its line of text. */
interface HttpErrorOptions {
  /** The condition of RFC 4918 §16 that failed, as the content of an `error` element. */
  readonly condition?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** For 405: what exists at the path, which decides the methods that `Allow` names. */
  readonly target?: "file" | "folder";
}

/** HttpError is a request that ends with an error status. `detail` says what was wrong and what to do. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly status: number;
  readonly detail: string;
  readonly options: HttpErrorOptions;

  constructor(status: number, detail: string, options: HttpErrorOptions = {}) {
    super(detail);
    this.status = status;
    this.detail = detail;
    this.options = options;
  }
}
