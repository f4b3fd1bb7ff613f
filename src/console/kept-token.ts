import { inTab } from "./storage.ts";

/**
 * Where a token outlives a reload of the tab. Pages of buckets share this origin and may read all of its storage, so the token
 * lies in two halves: a random pad in `history.state`, which only documents of that very history entry can read, and the token
 * under that pad in `sessionStorage`. Either half alone is noise, and signing out makes the pads of all older entries worthless.
 */
const storageKey = "node-server.half";
/** The pad of this sign-in; all of its history entries have the same. */
let current: string | undefined;
/** What the server handed over because this browser was told to remember it; the page is not to hold it any longer. */
let handedOver = takeFromPage();
/** Whether this browser keeps a token; a reload tells again. */
let isRemembered = handedOver !== undefined;

export function keepForTab(token: string): void {
  const bytes = new TextEncoder().encode(token);
  const pad = crypto.getRandomValues(new Uint8Array(bytes.length));
  inTab.write(storageKey, toText(bytes.map((byte, at) => byte ^ (pad[at] ?? 0))));
  current = toText(pad);
  history.replaceState({ pad: current }, "");
}

export function keptForTab(): string | undefined {
  const half = toBytes(inTab.read(storageKey));
  const text = padOf(history.state);
  const pad = toBytes(text);
  if (half === undefined || pad === undefined || half.length !== pad.length) return undefined;
  current = text;
  return new TextDecoder().decode(half.map((byte, at) => byte ^ (pad[at] ?? 0)));
}

/** A new history entry begins without a state, and an old one may have that of a sign-in before; now it can be reloaded as well. */
export function carryOver(): void {
  if (current !== undefined && padOf(history.state) !== current) history.replaceState({ pad: current }, "");
}

export function forgetInTab(): void {
  current = undefined;
  inTab.remove(storageKey);
  history.replaceState(null, "");
}

export function rememberedToken(): string | undefined {
  return handedOver;
}

/** Browsers tell the server who asks, and so let it guard the cookie, only where the connection cannot be listened to. */
export const canRemember = window.isSecureContext;

export async function remember(token: string): Promise<void> {
  const response = await fetch("remember", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token }),
  });
  if (!response.ok) throw new Error(`the token cannot be remembered: ${(await response.text()).trim()}`);
  isRemembered = true;
}

export function isKeptByBrowser(): boolean {
  return isRemembered;
}

export async function forget(): Promise<void> {
  handedOver = undefined;
  isRemembered = false;
  if (!canRemember) return;
  const response = await fetch("remember", { method: "DELETE" });
  if (!response.ok) throw new Error(`the token cannot be forgotten: ${(await response.text()).trim()}`);
}

function takeFromPage(): string | undefined {
  const meta = document.querySelector<HTMLMetaElement>('meta[name="remembered"]');
  meta?.remove();
  return meta?.content;
}

function padOf(state: unknown): string | undefined {
  return typeof state === "object" && state !== null && "pad" in state && typeof state.pad === "string"
    ? state.pad
    : undefined;
}

function toText(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/** Undefined where it is none of ours: other pages can write to the storage too. */
function toBytes(text: string | undefined): Uint8Array | undefined {
  if (text === undefined) return undefined;
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch (error) {
    if (error instanceof DOMException) return undefined;
    throw error;
  }
}
