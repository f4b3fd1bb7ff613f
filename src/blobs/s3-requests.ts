import { createHash, createHmac } from "node:crypto";
import type { S3Options } from "bun";
import { orAborted, retry } from "../base/clock.ts";
import { codeOf, Fault } from "../base/fault.ts";
import { wholeNumber } from "../base/numbers.ts";
import { isElement, parseXml, textOf, type XmlElement, XmlError } from "../base/xml.ts";
import { BlobStoreFault, storeUnavailable, storeUnusable } from "./blob-store.ts";

const maxAttempts = 4;
const firstPauseMs = 50;

/** S3Location is a bucket, and the keys to it. Bun's client also sends `AWS_SESSION_TOKEN` of the environment, if there is one. */
export interface S3Location {
  readonly bucket: string;
  /** Without it, that of AWS in the region. */
  readonly endpoint?: string | undefined;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Whether the bucket is the first part of the path, and not of the host name. */
  readonly pathStyle: boolean;
}

/**
 * toS3Options returns the options of Bun's client. Its `virtualHostedStyle` takes the bucket from the endpoint, and leaves out that
 * of the options.
 */
export function toS3Options(location: S3Location): S3Options {
  const { bucket, region, accessKeyId, secretAccessKey, pathStyle } = location;
  const endpoint = new URL(location.endpoint ?? `https://s3.${region}.amazonaws.com`);
  if (!pathStyle) endpoint.hostname = `${bucket}.${endpoint.hostname}`;
  return {
    bucket,
    region,
    accessKeyId,
    secretAccessKey,
    endpoint: endpoint.href.replace(/\/$/, ""),
    virtualHostedStyle: !pathStyle,
  };
}

interface S3Request {
  readonly method: "GET" | "HEAD" | "DELETE";
  readonly action: S3Action;
  readonly headers?: Record<string, string>;
}

/**
 * s3Request sends a request about one object, and repeats it while the store fails in a way that may pass. The answer is a success, or
 * says that there is no such object (404), or no such part of it (416). The body must be read or cancelled; until then the
 * deadline ends it.
 */
export async function s3Request(
  options: S3Options,
  key: string,
  { method, action, headers = {}, deadline }: S3Request & { readonly deadline: Deadline },
): Promise<Response> {
  return repeated(deadline, async () => {
    const response = await attempt(action, deadline, () =>
      // A redirect leads to a region that this signature is not for.
      fetch(`s3://${key}`, { method, headers, s3: options, signal: deadline.signal, redirect: "manual" }),
    );
    if (response.ok) return response;
    const code = await attempt(action, deadline, () => codeOfAnswer(response));
    if ((response.status === 404 && code !== "NoSuchBucket") || response.status === 416) return response;
    throw s3Fault(code, action);
  });
}

/** attempt runs one request; its failure is a Fault: that of the deadline if it has passed. */
export async function attempt<T>(
  action: S3Action,
  deadline: Deadline,
  request: () => Promise<T>,
): Promise<T> {
  try {
    return await deadline.race(request());
  } catch (error) {
    throw deadline.signal.aborted ? deadline.signal.reason : toS3Fault(error, action);
  }
}

/**
 * repeated repeats what fails because the store is unavailable, after pauses that double, with jitter. The deadline is for all
 * attempts.
 */
export function repeated<T>({ signal }: Deadline, work: () => Promise<T>): Promise<T> {
  return retry(work, {
    pauseAfter(error, failures) {
      const mayPass = error instanceof Fault && error.data.reason === "unavailable";
      if (!mayPass || failures === maxAttempts || signal.aborted) return undefined;
      return firstPauseMs * 2 ** failures * (0.5 + Math.random() / 2);
    },
    signal,
  });
}

/** S3Action is what was asked of the store, by the permission that it needs there. */
type S3Action = "s3:GetObject" | "s3:PutObject" | "s3:ListBucket" | "s3:DeleteObject";

const wrongKeys =
  "the object store refused access_key_id and secret_access_key; correct them below [files], or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY if they come from there";
const wrongRegion =
  "the bucket is in another region or at another endpoint; correct region and endpoint of [files]";
const full = "the object store is full; nothing was changed";
const tooLarge = "the file is too large for the object store; nothing was changed";
const unreachable = "the object store cannot be reached; check endpoint of [files] and the network";

/** Advice about each error code of S3 or of the network that does not pass by itself. */
const details: Readonly<Record<string, string>> = {
  InvalidAccessKeyId: wrongKeys,
  SignatureDoesNotMatch: wrongKeys,
  InvalidToken: `${wrongKeys}, or unset AWS_SESSION_TOKEN, which is sent with them`,
  ExpiredToken: "the session token for the object store has expired; restart the server with a new one",
  RequestTimeTooSkewed: "the clocks of the server and of the object store differ too much; set them right",
  NoSuchBucket: "the bucket of [files] url does not exist in the object store; create it or correct the url",
  PermanentRedirect: wrongRegion,
  TemporaryRedirect: wrongRegion,
  Redirect: wrongRegion,
  AuthorizationHeaderMalformed: wrongRegion,
  IllegalLocationConstraintException: wrongRegion,
  InvalidResponse: "the answer is not that of an S3 store; check endpoint of [files]",
  ERR_S3_INVALID_ENDPOINT: "endpoint of [files] is not an address of an S3 store; correct it",
};

const fullCodes = new Set(["QuotaExceeded", "XMinioStorageFull", "InsufficientStorage"]);

/** Codes of certificates that are not trusted: OpenSSL's names, as Bun reports them. */
const isCertificate = (code: string) => /CERT|SIGNATURE|ISSUER|TLS/.test(code);

/** Codes of a name that has no address, or of a network that does not lead there. */
const isNetwork = (code: string) =>
  /^E[A-Z]+$/.test(code) || code.startsWith("Connection") || code === "FailedToOpenSocket";

/**
 * toS3Fault turns an error of Bun's S3 client or of `fetch` into a Fault. Its cause is left out: errors of `fetch` have the address that
 * was asked. An error that has no code is one of this program, and is returned as it is.
 */
function toS3Fault(error: unknown, action: S3Action): unknown {
  const code = codeOf(error);
  if (error instanceof Fault || code === undefined) return error;
  return s3Fault(code, action);
}

/** s3Fault returns the Fault for an error code of S3, of the network, or `HTTP <status>` of an answer without one. */
export function s3Fault(code: string, action: S3Action): Fault {
  if (code === "AccessDenied" || code === "AllAccessDisabled" || code === "HTTP 403")
    return storeUnusable(
      `the object store does not allow ${action}; allow it for access_key_id of [files], or correct the keys`,
    );
  if (fullCodes.has(code) || code === "HTTP 507")
    return new BlobStoreFault(full, { publicDetail: full, reason: "disk_full" });
  if (code === "EntityTooLarge") return new Fault("IoError", tooLarge);
  const detail = details[code];
  if (detail !== undefined) return storeUnusable(detail);
  if (isCertificate(code))
    return storeUnusable(`the certificate of the object store is not trusted (${code}); check it`);
  if (isNetwork(code)) return storeUnavailable(`${unreachable} (${code})`);
  if (/^HTTP 4/.test(code) && code !== "HTTP 408" && code !== "HTTP 429")
    return storeUnusable(`the object store refused a request (${code}); check endpoint of [files]`);
  return storeUnavailable(`the object store failed (${code}); try again later`);
}

/** An answer of more bytes is not a list of a thousand objects. */
const maxListBytes = 4 * 1024 * 1024;
const maxListElements = 20_000;

/** ListPage is one answer to a request for a list. */
interface ListPage {
  readonly objects: ReadonlyArray<{
    readonly key: string;
    readonly size: number;
    /** As the store writes it; empty if it names none. */
    readonly modified: string;
  }>;
  readonly isTruncated: boolean;
}

/** listObjects asks for a page of the objects below a prefix. The request is signed here, because Bun's client reads an answer of any length. */
export async function listObjects(
  options: S3Options,
  { prefix, after }: { readonly prefix: string; readonly after: string },
  deadline: Deadline,
): Promise<ListPage> {
  const action = "s3:ListBucket";
  const query = { delimiter: "/", "list-type": "2", prefix, "start-after": after };
  return repeated(deadline, async () => {
    const response = await attempt(action, deadline, () => {
      const { url, headers } = signedGet(options, query, new Date());
      return fetch(url, { headers, signal: deadline.signal, redirect: "manual" });
    });
    if (!response.ok) throw s3Fault(await attempt(action, deadline, () => codeOfAnswer(response)), action);
    const bytes = await attempt(action, deadline, () => beginningOf(response, maxListBytes + 1));
    if (bytes.length > maxListBytes) throw s3Fault("InvalidResponse", action);
    return readPage(bytes);
  });
}

function readPage(bytes: Uint8Array): ListPage {
  let root: XmlElement;
  try {
    root = parseXml(bytes, maxListElements);
  } catch (error) {
    if (error instanceof XmlError) throw s3Fault("InvalidResponse", "s3:ListBucket");
    throw error;
  }
  if (root.name !== "ListBucketResult") throw s3Fault("InvalidResponse", "s3:ListBucket");
  const textIn = (element: XmlElement, name: string) => {
    const found = element.children.filter(isElement).find((child) => child.name === name);
    return found === undefined ? "" : textOf(found);
  };
  const objects = root.children
    .filter(isElement)
    .filter(({ name }) => name === "Contents")
    .map((one) => ({
      key: textIn(one, "Key"),
      size: wholeNumber(textIn(one, "Size")) ?? 0,
      modified: textIn(one, "LastModified"),
    }));
  return { objects, isTruncated: textIn(root, "IsTruncated") === "true" };
}

/** signedGet returns a GET of the bucket itself with Signature Version 4, and the session token of the environment, as Bun's client sends it. */
function signedGet(
  { endpoint = "", bucket = "", region = "", accessKeyId, secretAccessKey, virtualHostedStyle }: S3Options,
  query: Readonly<Record<string, string>>,
  now: Date,
) {
  const url = new URL(endpoint);
  if (!virtualHostedStyle) url.pathname = `${url.pathname.replace(/\/$/, "")}/${bucket}`;
  url.search = Object.entries(query)
    .map(([name, value]) => `${percentEncoded(name)}=${percentEncoded(value)}`)
    .sort()
    .join("&");
  const time = `${now.toISOString().replace(/[-:]|\..*/g, "")}Z`;
  const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`;
  const token = Bun.env.AWS_SESSION_TOKEN;
  const signed = {
    host: url.host,
    "x-amz-content-sha256": sha256(""),
    "x-amz-date": time,
    ...(token && { "x-amz-security-token": token }),
  };
  const names = Object.keys(signed).join(";");
  const lines = Object.entries(signed).map(([name, value]) => `${name}:${value}\n`);
  const request = ["GET", url.pathname, url.search.slice(1), lines.join(""), names, sha256("")].join("\n");
  const text = ["AWS4-HMAC-SHA256", time, scope, sha256(request)].join("\n");
  const key = scope
    .split("/")
    .reduce<Buffer | string>((secret, part) => hmac(secret, part), `AWS4${secretAccessKey}`);
  const credentials = `Credential=${accessKeyId}/${scope}, SignedHeaders=${names}`;
  const { host: _host, ...headers } = signed;
  const authorization = `AWS4-HMAC-SHA256 ${credentials}, Signature=${hmac(key, text).toString("hex")}`;
  return { url: url.href, headers: { ...headers, authorization } };
}

/** percentEncoded writes a text as signatures demand it: all but the unreserved characters of RFC 3986. */
function percentEncoded(value: string): string {
  return encodeURIComponent(value).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function sha256(content: string): string {
  return createHash("sha256").update(content).digest("hex");
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

/** An answer of more bytes is not an error in XML. */
export const maxErrorBytes = 16 * 1024;

/** codeOfAnswer returns the error code of an answer that is not successful: that of its XML body, or its status. The body is read. */
export async function codeOfAnswer(response: Response): Promise<string> {
  if (response.status >= 300 && response.status < 400) {
    await response.body?.cancel();
    return "Redirect";
  }
  const text = (await beginningOf(response, maxErrorBytes)).toString();
  return /<Code>([A-Za-z0-9_.]{1,64})<\/Code>/.exec(text)?.[1] ?? `HTTP ${response.status}`;
}

/** The beginning of a body, at least `wanted` bytes of it, or all of it. The rest is cancelled. */
async function beginningOf({ body }: Response, wanted: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    parts.push(part);
    bytes += part.length;
    if (bytes >= wanted) break;
  }
  return Buffer.concat(parts);
}

/** Deadline aborts its signal when the store has not made progress for a while, or when the signal of the caller is aborted. */
export class Deadline implements Disposable {
  readonly #controller = new AbortController();
  #timeoutMs: number;
  readonly #caller: AbortSignal;
  readonly #onAbort = () => this.#controller.abort(this.#caller.reason);
  #timer: Timer | undefined;

  constructor(timeoutMs: number, caller: AbortSignal) {
    this.#timeoutMs = timeoutMs;
    this.#caller = caller;
    if (caller.aborted) this.#onAbort();
    caller.addEventListener("abort", this.#onAbort, { once: true });
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** To be called when the store made progress, or when it is its turn again. From now on it has `timeoutMs`, if that is given. */
  restart(timeoutMs = this.#timeoutMs): void {
    this.#timeoutMs = timeoutMs;
    this.pause();
    this.#timer = setTimeout(() => this.#controller.abort(tooLate(timeoutMs)), timeoutMs);
  }

  /** To be called while it is not the store that is waited for. */
  pause(): void {
    clearTimeout(this.#timer);
  }

  /** Resolves as `work` does, or fails as soon as the signal is aborted. Work that cannot be aborted goes on unobserved. */
  race<T>(work: Promise<T>): Promise<T> {
    return orAborted(work, this.signal);
  }

  [Symbol.dispose](): void {
    this.pause();
    this.#caller.removeEventListener("abort", this.#onAbort);
  }
}

function tooLate(timeoutMs: number): Error {
  return storeUnavailable(`the object store did not answer within ${timeoutMs} ms; try again later`);
}
