import type { Caller } from "../../auth/caller.ts";
import { type AuthDoor, Refusal } from "../../auth/door.ts";
import { Fault } from "../../base/fault.ts";
import { Refused } from "./refused.ts";

const challenge = { "www-authenticate": 'Basic realm="Node Static WebDAV", charset="UTF-8"' };

/** The caller behind HTTP Basic: RFC 7617. */
export async function authenticate(request: Request, address: string, door: AuthDoor): Promise<Caller> {
  const basic = /^Basic +([A-Za-z0-9+/=_-]+) *$/i.exec(request.headers.get("authorization") ?? "")?.[1];
  const text = basic === undefined ? "" : Buffer.from(basic, "base64").toString("utf8");
  const colon = text.indexOf(":");
  if (colon <= 0 || colon === text.length - 1)
    throw refuse("this address asks for a token's key and secret, or a user name and password");
  try {
    const guest = { address, left: request.signal, aside: <T>(wait: () => Promise<T>) => wait() };
    return await door.recognise(text.slice(0, colon), text.slice(colon + 1), guest);
  } catch (error) {
    if (error instanceof Refusal && error.delayMs > 0) await Bun.sleep(error.delayMs);
    // One that ran out is as good as a wrong one: the client asks its user again.
    if (error instanceof Fault && error.kind === "PermissionDenied") throw refuse(error.detail);
    throw error;
  }
}

function refuse(why: string): Refused {
  return new Refused(401, why, undefined, challenge);
}
