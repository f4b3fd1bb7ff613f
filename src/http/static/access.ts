import { authorise, inBucket } from "../../auth/need.ts";
import type { Bucket } from "../../buckets/record.ts";
import { authenticate, type Challenge, refusalOf, type UnprovenRequest } from "../request/authentication.ts";
import { isFromBrowser } from "../request/browser-request.ts";

/** PrivateRequest is a request for a file of a private bucket. */
export interface PrivateRequest {
  readonly request: Request;
  readonly bucket: Bucket;
  /** Whether it was sent to a host name of the bucket, whose pages are all of this bucket. */
  readonly isOwnHost: boolean;
}

const challenge: Challenge = {
  realm: "Node Static Files",
  forPrograms:
    "this bucket is private: send a token with StaticBucketFile::Read on it, as Authorization: Bearer <key>:<secret>, or Basic with key and secret, or user name and password",
  forBrowsers:
    "this bucket is private. Open its files in the console (/node/console/), by a signed link, or at a host name of the bucket's own, where a browser may ask for a password",
};
/** Credentials that a browser keeps for a host name of the bucket open this bucket alone: no other bucket has pages there. */
const ownHostChallenge: Challenge = {
  ...challenge,
  forBrowsers:
    "this bucket is private: sign in with the key and secret, or user name and password, of a token with StaticBucketFile::Read on it",
  mayKeep: true,
};

/**
 * requireReader throws unless the bucket is public or the request's credentials hold `StaticBucketFile::Read` for it. It is asked before
 * anything of the path is looked at, so that the refusal is the same for files that exist and for those that do not. A preflight
 * carries no credentials, and a refused method tells nothing.
 */
export async function requireReader(
  unproven: UnprovenRequest,
  { request: { method }, bucket, isOwnHost }: PrivateRequest,
): Promise<void> {
  if (bucket.public || (method !== "GET" && method !== "HEAD")) return;
  const caller = await authenticate(unproven, isOwnHost ? ownHostChallenge : challenge);
  authorise(caller, inBucket(bucket.name, "static_bucket_file.read"));
}

/** readerRefusal is what a caller is told that `requireReader` has refused. */
export function readerRefusal(
  error: unknown,
  request: Request,
  target: PrivateRequest | undefined,
): Response {
  return refusalOf(error, request, target?.isOwnHost ? ownHostChallenge : challenge);
}

/**
 * withPrivacy keeps what a private bucket answers to the client that asked. Pages of other buckets share the browser's cache,
 * except at a host name of the bucket's own; pages of other origins may not embed it.
 */
export function withPrivacy({ request, bucket, isOwnHost }: PrivateRequest, response: Response): Response {
  if (bucket.public) return response;
  const { headers } = response;
  headers.set("cache-control", toPrivate(headers.get("cache-control"), isOwnHost || !isFromBrowser(request)));
  headers.append("vary", "authorization");
  if (!bucket.cors) headers.set("cross-origin-resource-policy", "same-origin");
  return response;
}

function toPrivate(control: string | null, mayStore: boolean): string {
  if (!mayStore) return "private, no-store";
  const directives = (control ?? "no-cache").split(",").map((directive) => directive.trim());
  const isShared = (directive: string) =>
    /^(?:public|private|s-maxage\b.*|proxy-revalidate)$/i.test(directive);
  return ["private", ...directives.filter((directive) => directive !== "" && !isShared(directive))].join(
    ", ",
  );
}
