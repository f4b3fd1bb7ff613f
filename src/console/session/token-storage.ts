import { browserStorage, tabStorage } from "../storage.ts";

/**
 * Token as the server hands it to the page. The browser stores it in a cookie that no script can read. Where the browser proves to the
 * server that the page is a top-level document (`Sec-Fetch-*`), the page contains the token. Over plain http to another machine the
 * page only says that there is one: visiting `resume` redirects back here with a one-time pad in the fragment and the token, XORed
 * with that pad, in the page. `docs/decisions/0012-console-origin.md` describes the attackers.
 */
interface StoredToken {
  readonly token: string;
  /** Stored for 30 days; otherwise until the browser is closed. */
  readonly persistent: boolean;
}

const routeKey = "node-server.route";
/**
 * Set from a sign-out until the next sign-in. A page that was requested before the server deleted the cookie comes with the token,
 * also if it is loaded after the deletion.
 */
const signedOutKey = `node-server.signed-out ${location.pathname}`;
const isSignedOut = browserStorage.read(signedOutKey) !== undefined;

/** Whether this page was loaded through `resume`: the fragment is the pad, not a route. */
const isHandover = new URLSearchParams(location.search).has("handover");
const isResumable = takeTag("resumable") !== undefined;
const canResume = isResumable && !isHandover && !isSignedOut;
const sent = readPlain() ?? unseal(location.hash.slice(1));
let received = isSignedOut ? undefined : sent;
let isLongLived = received?.persistent ?? false;
if (isHandover) history.replaceState(null, "", location.pathname + takeRoute());

/** Fragment that names a page of the console. Use it instead of `location.hash`, which may have held a pad at first. */
export const firstHash = location.hash;

/** True if the server had not deleted the cookie of the last sign-out when it sent this page: the deletion is to be tried again. */
export const isForgetPending = isSignedOut && (isResumable || sent !== undefined);

/** Token that came with this page. */
export function storedToken(): string | undefined {
  return received?.token;
}

/** Leaves this page to return with the stored token. False when none is stored or `resume` has just failed. */
export function resumeByRedirect(): boolean {
  if (!canResume) return false;
  tabStorage.write(routeKey, location.hash);
  location.replace("resume");
  return true;
}

/** Stores the token in the browser, replacing any other. */
export async function storeToken(token: string, persistent: boolean): Promise<void> {
  const response = await fetch("remember", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token, persistent }),
  });
  if (!response.ok) throw new Error((await response.text()).trim());
  browserStorage.remove(signedOutKey);
  isLongLived = persistent;
}

/** Whether the token is stored for 30 days. */
export function isTokenPersistent(): boolean {
  return isLongLived;
}

/** Deletes the stored token. Also if this page is left before the server has done so, no page of this browser signs in with it. */
export async function forgetToken(): Promise<void> {
  received = undefined;
  isLongLived = false;
  browserStorage.write(signedOutKey, "yes");
  const response = await fetch("remember", { method: "DELETE", keepalive: true });
  if (!response.ok) throw new Error((await response.text()).trim());
}

function readPlain(): StoredToken | undefined {
  const tag = takeTag("remembered");
  return tag && { token: tag.content, persistent: tag.dataset.persistent !== undefined };
}

/** Decrypts the token. Undefined when the page has nothing for this pad: it was used before, or is too old. */
function unseal(padText: string): StoredToken | undefined {
  const tag = takeTag("handover");
  if (tag === undefined) return undefined;
  const pad = toBytes(padText);
  const sealed = toBytes(tag.content);
  if (pad === undefined || sealed === undefined || pad.length !== sealed.length) return undefined;
  const token = new TextDecoder().decode(sealed.map((byte, at) => byte ^ (pad[at] ?? 0)));
  return { token, persistent: tag.dataset.persistent !== undefined };
}

/** Removes a tag from the page, so that later scripts cannot read it. */
function takeTag(name: string): HTMLMetaElement | undefined {
  const tag = document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`);
  tag?.remove();
  return tag ?? undefined;
}

/** Route from before `resume`. Other pages of the origin can write it too, so only a fragment is accepted. */
function takeRoute(): string {
  const route = tabStorage.read(routeKey) ?? "";
  tabStorage.remove(routeKey);
  return route.startsWith("#") ? route : "";
}

function toBytes(base64url: string): Uint8Array | undefined {
  try {
    const text = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(text, (character) => character.charCodeAt(0));
  } catch (error) {
    if (error instanceof DOMException) return undefined;
    throw error;
  }
}
