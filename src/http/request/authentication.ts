// This folder is what the protocols share about a request. This file finds its caller from Basic or Bearer, or answers
// 401 with one challenge. client-address.ts and host-name.ts say where it came from and where it was sent to,
// browser-request.ts whether a browser sent it by itself, cookies.ts reads its cookies. body-chunks.ts reads a body
// within bounds, upload-body.ts writes it to a file. connection-limiter.ts bounds what runs at once.
// request-observer.ts and response-size.ts report each request to metrics and the access log; http-error.ts ends one
// with a status.

import { type Authenticator, CredentialsRejected } from "../../auth/authenticator.ts";
import type { Caller, Peer } from "../../auth/caller.ts";
import { type Candidates, parseCredentials } from "../../auth/credentials.ts";
import { anyToken } from "../../auth/need.ts";
import { Fault } from "../../base/fault.ts";
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

export interface AuthenticationOptions {
  readonly address: string;
  readonly delays: Delays;
  readonly challenge: Challenge;
}

/** authenticate returns the caller of an Authorization header: Basic (RFC 7617) or Bearer (RFC 6750). */
export async function authenticate(
  request: Request,
  { address, delays, challenge }: AuthenticationOptions,
  authenticator: Authenticator,
): Promise<Caller> {
  const peer: Peer = {
    address,
    get disconnected() {
      return request.signal;
    },
    withoutSlot: (wait) => wait(),
  };
  try {
    const candidates = candidatesIn(request, challenge);
    return (
      authenticator.authenticateSync(candidates[0], anyToken) ??
      (await authenticator.authenticate(candidates, anyToken, peer))
    );
  } catch (error) {
    if (error instanceof CredentialsRejected && error.delayMs > 0 && !(await delays.wait(error.delayMs)))
      throw new Fault("Busy", "too many wrong passwords and keys are being sent; try again shortly");
    // An expired token is answered as a wrong one, so that the client asks its user again.
    if (error instanceof Fault && error.kind === "PermissionDenied")
      throw refuseCredentials(request, challenge, error.detail);
    throw error;
  }
}

/** candidatesIn reads the Authorization header; throws the challenge without credentials that can be checked. */
function candidatesIn(request: Request, challenge: Challenge): Candidates {
  const [, scheme = "", given = ""] =
    /^(\S+) +(\S+) *$/.exec(request.headers.get("authorization") ?? "") ?? [];
  switch (scheme.toLowerCase()) {
    case "basic": {
      const text = /^[A-Za-z0-9+/=_-]+$/.test(given) ? Buffer.from(given, "base64").toString("utf8") : "";
      const colon = text.indexOf(":");
      if (colon <= 0 || colon === text.length - 1) break;
      if (challenge.mayKeep ? isForAnotherSite(request) : mayCarryStoredCredentials(request))
        throw refuseCredentials(
          request,
          challenge,
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
  throw refuseCredentials(request, challenge, isFromBrowser(request) ? forBrowsers : forPrograms);
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
 * refuseCredentials returns a 401 with the challenge for the kind of client. Browsers do not know the scheme Bearer: they show
 * the response instead of asking for a password, which they would keep.
 */
export function refuseCredentials(
  request: Request,
  { realm, mayKeep }: Challenge,
  detail: string,
): HttpError {
  const isBasic = mayKeep ? !isForAnotherSite(request) : !isFromBrowser(request);
  const challenge = isBasic ? `Basic realm="${realm}", charset="UTF-8"` : `Bearer realm="${realm}"`;
  return new HttpError(401, detail, { headers: { "www-authenticate": challenge } });
}
