// This folder is what the protocols share about a request. This file finds its caller from Basic or Bearer, and says
// what a refused caller is told. client-address.ts and host-name.ts say where it came from and where it was sent to,
// browser-request.ts whether a browser sent it by itself, and its cookies. body.ts reads a body within bounds, or
// writes it to a file. connection-limiter.ts bounds what runs at once. request-observer.ts reports each request to
// metrics and the access log; http-error.ts ends one with a status.

import { type Authenticator, CredentialsRejected } from "../../auth/authenticator.ts";
import type { Caller, Peer } from "../../auth/caller.ts";
import { type Candidates, parseCredentials } from "../../auth/credentials.ts";
import { anyToken } from "../../auth/need.ts";
import { Fault } from "../../base/fault.ts";
import { errorReason, plainText, serviceUnavailable } from "../content/plain.ts";
import { isForAnotherSite, isFromBrowser, mayCarryStoredCredentials } from "./browser-request.ts";
import type { Delays } from "./connection-limiter.ts";
import { HttpError } from "./http-error.ts";

/** Challenge is what a client is told that has to sign in. */
export interface Challenge {
  readonly realm: string;
  /** What to do, for programs and for people who opened the address in a browser. */
  readonly forPrograms: string;
  readonly forBrowsers: string;
  /**
   * Whether a browser may be asked for a password, which it keeps and adds to every request for the same origin: only where all pages of
   * the origin are of those to whom the password gives nothing new.
   */
  readonly mayKeep?: boolean;
}

/** UnprovenRequest is a request whose caller is not known yet: a ReceivedRequest of the pipeline. */
export interface UnprovenRequest {
  readonly request: Request;
  readonly address: string;
  readonly authenticator: Authenticator;
  readonly deps: { readonly delays: Delays };
  /** Called with the caller once that is proven. */
  proved(caller: Caller): void;
}

/** authenticate returns the caller of an Authorization header: Basic (RFC 7617) or Bearer (RFC 6750). Throws 401. */
export async function authenticate(unproven: UnprovenRequest, challenge: Challenge): Promise<Caller> {
  const { request, authenticator, deps } = unproven;
  const peer = httpPeer(unproven);
  try {
    const candidates = candidatesIn(request, challenge);
    const caller =
      authenticator.authenticateSync(candidates[0], anyToken) ??
      (await authenticator.authenticate(candidates, anyToken, peer));
    unproven.proved(caller);
    return caller;
  } catch (error) {
    await holdBack(error, deps.delays);
    // An expired token is answered as a wrong one, so that the client asks its user again.
    if (error instanceof Fault && error.kind === "PermissionDenied") throw new HttpError(401, error.detail);
    throw error;
  }
}

/** httpPeer returns the client of a request, which holds no slot while it waits. */
export function httpPeer({ request, address }: Pick<UnprovenRequest, "request" | "address">): Peer {
  return {
    address,
    get disconnected() {
      return request.signal;
    },
    withoutSlot: (wait) => wait(),
  };
}

/** holdBack waits with the refusal of wrong credentials while their address guesses. Throws Busy if too many wait already. */
export async function holdBack(error: unknown, delays: Delays): Promise<void> {
  if (error instanceof CredentialsRejected && error.delayMs > 0 && !(await delays.wait(error.delayMs)))
    throw new Fault("Busy", "too many wrong passwords and keys are being sent; try again shortly");
}

/** candidatesIn reads the Authorization header; throws 401 without credentials that can be checked. */
function candidatesIn(request: Request, challenge: Challenge): Candidates {
  const [, scheme = "", given = ""] =
    /^(\S+) +(\S+) *$/.exec(request.headers.get("authorization") ?? "") ?? [];
  switch (scheme.toLowerCase()) {
    case "basic": {
      const text = /^[A-Za-z0-9+/=_-]+$/.test(given) ? Buffer.from(given, "base64").toString("utf8") : "";
      const colon = text.indexOf(":");
      if (colon <= 0 || colon === text.length - 1) break;
      if (challenge.mayKeep ? isForAnotherSite(request) : mayCarryStoredCredentials(request))
        throw new HttpError(
          401,
          "Basic authentication is for programs: a browser would add it to requests of every page of this server. A page sends Authorization: Bearer <key>:<secret>",
        );
      const [name, proof] = [text.slice(0, colon), text.slice(colon + 1)];
      return [
        { by: "key", name, proof },
        { by: "username", name, proof },
      ];
    }
    case "bearer": {
      const text = bearerToken(request);
      if (text !== undefined) return [parseCredentials(text)];
    }
  }
  const { forBrowsers, forPrograms } = challenge;
  throw new HttpError(401, isFromBrowser(request) ? forBrowsers : forPrograms);
}

/** bearerToken returns the token of `Authorization: Bearer`, which no browser adds by itself; undefined without one. */
export function bearerToken({ headers }: Request): string | undefined {
  const [, given] = /^Bearer +(\S+) *$/i.exec(headers.get("authorization") ?? "") ?? [];
  return given === undefined ? undefined : tokenText(given);
}

/** Percent-decodes a token, because a header cannot contain every character of a password. Undefined if it is not a token. */
function tokenText(given: string): string | undefined {
  try {
    const text = decodeURIComponent(given);
    parseCredentials(text);
    return text;
  } catch (error) {
    if (error instanceof URIError || (error instanceof Fault && error.kind === "ParseError"))
      return undefined;
    throw error;
  }
}

/**
 * refusalOf returns what a protocol of plain text answers to an error: one line for people, the reason for programs beside it, and with
 * 401 the challenge for the kind of client. Throws an error that is a bug.
 */
export function refusalOf(error: unknown, request: Request, challenge?: Challenge): Response {
  if (error instanceof HttpError) {
    const { status, detail, options } = error;
    const asks = status === 401 && challenge !== undefined ? challengeOf(request, challenge) : {};
    return plainText(status, `${status} ${detail}.`, { ...asks, ...options.headers });
  }
  if (!(error instanceof Fault)) throw error;
  if (error.kind === "PermissionDenied")
    return plainText(403, `403 ${error.message}.`, errorReason(error.data.reason));
  return serviceUnavailable(error.detail);
}

/**
 * Browsers do not know the scheme Bearer: they show the response instead of asking for a password, which they would keep.
 */
function challengeOf(request: Request, { realm, mayKeep }: Challenge): Record<string, string> {
  const isBasic = mayKeep ? !isForAnotherSite(request) : !isFromBrowser(request);
  return {
    "www-authenticate": isBasic ? `Basic realm="${realm}", charset="UTF-8"` : `Bearer realm="${realm}"`,
  };
}
