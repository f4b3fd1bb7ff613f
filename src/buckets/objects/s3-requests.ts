import type { S3Options } from "bun";
import { Fault } from "../../base/fault.ts";
import type { Deadline } from "./deadline.ts";
import { codeOfAnswer, type S3Action, s3Fault, toS3Fault } from "./s3-faults.ts";

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
 * toS3Options are the options of Bun's client. Its `virtualHostedStyle` takes the bucket from the endpoint, and leaves out that
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

export interface S3Request {
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
export async function repeated<T>(deadline: Deadline, work: () => Promise<T>): Promise<T> {
  for (let made = 1; ; made += 1) {
    try {
      return await work();
    } catch (error) {
      const mayPass = error instanceof Fault && error.data.reason === "unavailable";
      if (!mayPass || made === maxAttempts || deadline.signal.aborted) throw error;
    }
    const pauseMs = firstPauseMs * 2 ** made * (0.5 + Math.random() / 2);
    await deadline.race(Bun.sleep(pauseMs));
  }
}
