import { type Authenticator, CredentialsRejected } from "../../auth/authenticator.ts";
import type { Caller } from "../../auth/caller.ts";
import { parseCredentials } from "../../auth/credentials.ts";
import { anyToken } from "../../auth/need.ts";
import type { Peer } from "../../auth/peer.ts";
import { Fault } from "../../base/fault.ts";
import type { Delays } from "../request/connection-limiter.ts";
import { isFromBrowser, mayCarryKeptCredentials } from "./browser-request.ts";
import { HttpError } from "./http-error.ts";

const realm = 'realm="Node Static WebDAV"';
const basicChallenge = `Basic ${realm}, charset="UTF-8"`;
/** Browsers do not know this scheme: they show the response instead of asking for a password, which they would keep. */
const bearerChallenge = `Bearer ${realm}`;

/** authenticate returns the caller of an Authorization header: Basic (RFC 7617) or Bearer (RFC 6750). */
export async function authenticate(
  request: Request,
  { address, delays }: { readonly address: string; readonly delays: Delays },
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
    return await recognise(request, authenticator, peer);
  } catch (error) {
    if (error instanceof CredentialsRejected && error.delayMs > 0 && !(await delays.wait(error.delayMs)))
      throw new Fault("Busy", "too many wrong passwords and keys are being sent; try again shortly");
    // An expired token is answered as a wrong one, so that the client asks its user again.
    if (error instanceof Fault && error.kind === "PermissionDenied")
      throw refuseCredentials(request, error.detail);
    throw error;
  }
}

function recognise(request: Request, authenticator: Authenticator, peer: Peer): Caller | Promise<Caller> {
  const [, scheme = "", given = ""] =
    /^(\S+) +(\S+) *$/.exec(request.headers.get("authorization") ?? "") ?? [];
  switch (scheme.toLowerCase()) {
    case "basic": {
      const text = /^[A-Za-z0-9+/=_-]+$/.test(given) ? Buffer.from(given, "base64").toString("utf8") : "";
      const colon = text.indexOf(":");
      if (colon <= 0 || colon === text.length - 1) break;
      if (mayCarryKeptCredentials(request))
        throw refuseCredentials(
          request,
          "Basic authentication is for programs: a browser would add it to requests of every page of this server. A page sends Authorization: Bearer <key>:<secret>",
        );
      const [name, proof] = [text.slice(0, colon), text.slice(colon + 1)];
      return authenticator.recogniseNow(name, proof) ?? authenticator.recognise(name, proof, peer);
    }
    case "bearer": {
      const text = tokenText(given);
      if (text !== undefined)
        return authenticator.admitNow(text, anyToken) ?? authenticator.admit(text, anyToken, peer);
    }
  }
  throw refuseCredentials(
    request,
    isFromBrowser(request)
      ? "this address is for WebDAV programs, which sign in with a token's key and secret; in a browser, open /node/console/"
      : "this address asks for a token's key and secret, or a user name and password",
  );
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

/** refuseCredentials is a 401 with the challenge for the kind of client. */
export function refuseCredentials(request: Request, detail: string): HttpError {
  const challenge = isFromBrowser(request) ? bearerChallenge : basicChallenge;
  return new HttpError(401, detail, { headers: { "www-authenticate": challenge } });
}
