import type { S3Options } from "bun";
import { codeOf, Fault } from "../base/fault.ts";
import { retry } from "../base/retry.ts";
import { BlobStoreFault, storeUnavailable, storeUnusable } from "./blob-store.ts";
import type { Deadline } from "./deadline.ts";

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

/** An answer of more bytes is not an error in XML. */
export const maxErrorBytes = 16 * 1024;

/** codeOfAnswer returns the error code of an answer that is not successful: that of its XML body, or its status. The body is read. */
export async function codeOfAnswer(response: Response): Promise<string> {
  if (response.status >= 300 && response.status < 400) {
    await response.body?.cancel();
    return "Redirect";
  }
  const text = await beginningOf(response);
  return /<Code>([A-Za-z0-9_.]{1,64})<\/Code>/.exec(text)?.[1] ?? `HTTP ${response.status}`;
}

/** The beginning of a body, or all of it. The rest is cancelled. */
async function beginningOf({ body }: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    parts.push(part);
    bytes += part.length;
    if (bytes >= maxErrorBytes) break;
  }
  return Buffer.concat(parts).toString();
}
