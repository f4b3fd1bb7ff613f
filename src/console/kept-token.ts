import { inTab } from "./storage.ts";

/**
 * The browser keeps the token in a cookie that no script can read; the server hands it to the console's page. Where the browser
 * tells the server that a page fills a tab (`Sec-Fetch-*`) the page holds the token. Over plain http to another machine the page only
 * says that there is one; a visit of `resume` then leads back here with a one-time pad in the fragment and the token under that pad
 * in the page. `docs/decisions/0012-console-origin.md` says against whom.
 */
interface KeptToken {
  readonly token: string;
  /** For 30 days; otherwise until the browser is closed. */
  readonly persistent: boolean;
}

const routeKey = "node-server.route";

/** This page came by `resume`: what follows `#` is the pad and no route. */
const isHandover = new URLSearchParams(location.search).has("handover");
const canResume = takeTag("resumable") !== undefined && !isHandover;
let handedOver = plain() ?? unseal(location.hash.slice(1));
let isPersistent = handedOver?.persistent ?? false;
if (isHandover) history.replaceState(null, "", location.pathname + takeRoute());

/** The part of the address after `#` that names a page of the console. Read it here: the address may have held a pad. */
export const firstHash = location.hash;

/** The token that came with this page. */
export function keptToken(): string | undefined {
  return handedOver?.token;
}

/** Leaves this page to come back with the token that the browser keeps; false where it keeps none, or `resume` has just failed. */
export function resumeByRedirect(): boolean {
  if (!canResume) return false;
  inTab.write(routeKey, location.hash);
  location.replace("resume");
  return true;
}

/** Has the browser keep the token, in the place of any other. */
export async function keep(token: string, persistent: boolean): Promise<void> {
  const response = await fetch("remember", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token, persistent }),
  });
  if (!response.ok) throw new Error((await response.text()).trim());
  isPersistent = persistent;
}

/** Whether the browser keeps the token for 30 days. */
export function isKeptForLong(): boolean {
  return isPersistent;
}

export async function forget(): Promise<void> {
  handedOver = undefined;
  isPersistent = false;
  const response = await fetch("remember", { method: "DELETE" });
  if (!response.ok) throw new Error((await response.text()).trim());
}

function plain(): KeptToken | undefined {
  const tag = takeTag("remembered");
  return tag && { token: tag.content, persistent: tag.dataset.persistent !== undefined };
}

/** Undefined where the page holds nothing for this pad: it was used before, or is too old. */
function unseal(padText: string): KeptToken | undefined {
  const tag = takeTag("handover");
  if (tag === undefined) return undefined;
  const pad = toBytes(padText);
  const sealed = toBytes(tag.content);
  if (pad === undefined || sealed === undefined || pad.length !== sealed.length) return undefined;
  const token = new TextDecoder().decode(sealed.map((byte, at) => byte ^ (pad[at] ?? 0)));
  return { token, persistent: tag.dataset.persistent !== undefined };
}

/** Taken out of the page, which is not to hold it any longer. */
function takeTag(name: string): HTMLMetaElement | undefined {
  const tag = document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`);
  tag?.remove();
  return tag ?? undefined;
}

/** Where in the console one was before `resume`. Other pages of the origin could have written it: it is a fragment at most. */
function takeRoute(): string {
  const route = inTab.read(routeKey) ?? "";
  inTab.remove(routeKey);
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
