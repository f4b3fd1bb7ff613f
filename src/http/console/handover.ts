import { randomBytes } from "node:crypto";
import { type KeptToken, keptTokenOf } from "./remember-cookie.ts";

export const resumePath = "/node/console/resume";

const idParam = "handover";
/** How long a pad waits for the page that it was made for: one redirect. */
const padLifetimeMs = 30_000;
/** Above this many the oldest is dropped; its page asks for the token again. */
const maxPads = 256;

/** What the console's page says about the token that the browser keeps. */
export type Handover =
  /** The token itself. */
  | { readonly kind: "token"; readonly kept: KeptToken }
  /** The token under the one-time pad in the fragment of the page's address. */
  | { readonly kind: "sealed"; readonly text: string; readonly persistent: boolean }
  /** There is a token, which a visit of `resumePath` brings. */
  | { readonly kind: "resumable" };

/**
 * The ways by which the console's page, and no other page of this origin, comes by the token in the cookie. The browser adds the
 * cookie to what any page of the origin asks for, so the answer to `fetch`, `XMLHttpRequest` or a frame must be worth nothing.
 *
 * Where the browser sends `Sec-Fetch-*`, a navigation that fills a tab is told from everything else. Over plain http to another
 * machine it is not. There `resumePath` redirects to the page with a one-time pad in the fragment of `Location`, and the page holds
 * the token under that pad. Only a navigation sees the fragment: `fetch` and `XMLHttpRequest` hide `Location`, and leave the
 * fragment out of the address of a response (Fetch Standard, "response URL").
 */
export class Handovers {
  readonly #pads = new Map<string, { readonly pad: Uint8Array; readonly madeMs: number }>();

  /** The answer to `resumePath`. */
  redirect(request: Request): Response {
    const kept = keptTokenOf(request);
    // Relative: a proxy may serve the console below another path.
    const location = kept === undefined || hasFetchMetadata(request) ? "./" : this.#handoverAddress(kept);
    return new Response(null, { status: 303, headers: { location, "cache-control": "no-store" } });
  }

  /** What the page that is asked for may say; undefined without a token for it. */
  forPage(request: Request): Handover | undefined {
    const kept = keptTokenOf(request);
    if (kept === undefined) return undefined;
    if (hasFetchMetadata(request)) return fillsTab(request) ? { kind: "token", kept } : undefined;
    const pad = this.#take(new URL(request.url, "http://localhost").searchParams.get(idParam));
    const bytes = Buffer.from(kept.token);
    if (pad === undefined || pad.length !== bytes.length) return { kind: "resumable" };
    const sealed = bytes.map((byte, at) => byte ^ (pad[at] ?? 0));
    return {
      kind: "sealed",
      text: Buffer.from(sealed).toString("base64url"),
      persistent: kept.persistent,
    };
  }

  #handoverAddress({ token }: KeptToken): string {
    const id = randomBytes(16).toString("base64url");
    const pad = randomBytes(Buffer.byteLength(token));
    const [oldest] = this.#pads.keys();
    if (this.#pads.size >= maxPads && oldest !== undefined) this.#pads.delete(oldest);
    this.#pads.set(id, { pad, madeMs: performance.now() });
    return `./?${idParam}=${id}#${pad.toString("base64url")}`;
  }

  /** Each pad once: who learns an address afterwards gets nothing for it. */
  #take(id: string | null): Uint8Array | undefined {
    const found = id === null ? undefined : this.#pads.get(id);
    if (id === null || found === undefined) return undefined;
    this.#pads.delete(id);
    return performance.now() - found.madeMs > padLifetimeMs ? undefined : found.pad;
  }
}

function hasFetchMetadata({ headers }: Request): boolean {
  return headers.has("sec-fetch-mode") || headers.has("sec-fetch-dest") || headers.has("sec-fetch-site");
}

/**
 * A load that a browser makes before its user goes to the page (`prefetch`, `prefetch;prerender`), on its own account or because a page asked
 * for it.
 */
export function isPrefetch({ headers }: Request): boolean {
  return /\bprefetch\b/i.test(
    headers.get("sec-purpose") ?? headers.get("purpose") ?? headers.get("x-moz") ?? "",
  );
}

function fillsTab({ headers }: Request): boolean {
  return headers.get("sec-fetch-mode") === "navigate" && headers.get("sec-fetch-dest") === "document";
}
