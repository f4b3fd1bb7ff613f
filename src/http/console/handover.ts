import { randomBytes } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { type RememberedToken, rememberedTokenOf } from "./remember-cookie.ts";

export const resumePath = "/node/console/resume";

const idParam = "handover";
/** Time that a pad waits for its page, which is one redirect away. */
const padLifetimeMs = 30_000;
/** Above this number the oldest pad is dropped; its page asks for the token again. */
const maxPads = 256;

/** Handover is how the console's page gets the token that the browser remembers. */
export type Handover =
  /** The token itself. */
  | { readonly kind: "token"; readonly remembered: RememberedToken }
  /** The token under the one-time pad in the fragment of the page's address. */
  | { readonly kind: "sealed"; readonly text: string; readonly persistent: boolean }
  /** There is a token, which a navigation to `resumePath` brings. */
  | { readonly kind: "resumable" };

/**
 * Handovers gives the token in the cookie to the console's page, and to no other page of this origin. The browser adds the cookie
 * to the requests of every page of the origin, so the response to `fetch`, `XMLHttpRequest` or a frame must not contain the token.
 *
 * If the browser sends `Sec-Fetch-*`, they identify a navigation that fills a tab. Over plain http to another machine it sends
 * none. There `resumePath` redirects to the page with a one-time pad in the fragment of `Location`, and the page holds
 * the token under that pad. Only a navigation sees the fragment: `fetch` and `XMLHttpRequest` hide `Location`, and leave the
 * fragment out of the address of a response (Fetch Standard, "response URL").
 */
export class Handovers {
  readonly #pads = new Map<string, { readonly pad: Uint8Array; readonly madeMs: number }>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Answers at `resumePath`. */
  redirect(request: Request): Response {
    const remembered = rememberedTokenOf(request);
    // Relative: a proxy may serve the console below another path.
    const location =
      remembered === undefined || hasFetchMetadata(request) ? "./" : this.#handoverAddress(remembered);
    // The pad is in the header alone: a body would repeat it.
    return new Response(null, { status: 303, headers: { location, "cache-control": "no-store" } });
  }

  /** What the requested page may contain; undefined without a token. */
  forPage(request: Request): Handover | undefined {
    const remembered = rememberedTokenOf(request);
    if (remembered === undefined) return undefined;
    if (hasFetchMetadata(request)) return fillsTab(request) ? { kind: "token", remembered } : undefined;
    const pad = this.#take(new URL(request.url, "http://localhost").searchParams.get(idParam));
    const bytes = Buffer.from(remembered.token);
    if (pad === undefined || pad.length !== bytes.length) return { kind: "resumable" };
    const sealed = bytes.map((byte, at) => byte ^ (pad[at] ?? 0));
    return {
      kind: "sealed",
      text: Buffer.from(sealed).toString("base64url"),
      persistent: remembered.persistent,
    };
  }

  #handoverAddress({ token }: RememberedToken): string {
    const id = randomBytes(16).toString("base64url");
    const pad = randomBytes(Buffer.byteLength(token));
    const [oldest] = this.#pads.keys();
    if (this.#pads.size >= maxPads && oldest !== undefined) this.#pads.delete(oldest);
    this.#pads.set(id, { pad, madeMs: this.#clock.monotonic() });
    return `./?${idParam}=${id}#${pad.toString("base64url")}`;
  }

  /** Each pad is used once: an address that leaks afterwards is worthless. */
  #take(id: string | null): Uint8Array | undefined {
    const found = id === null ? undefined : this.#pads.get(id);
    if (id === null || found === undefined) return undefined;
    this.#pads.delete(id);
    return this.#clock.monotonic() - found.madeMs > padLifetimeMs ? undefined : found.pad;
  }
}

function hasFetchMetadata({ headers }: Request): boolean {
  return headers.has("sec-fetch-mode") || headers.has("sec-fetch-dest") || headers.has("sec-fetch-site");
}

/**
 * isPrefetch tells whether a browser loads the page before its user opens it (`prefetch`, `prefetch;prerender`), by itself or
 * because a page asked for it.
 */
export function isPrefetch({ headers }: Request): boolean {
  return /\bprefetch\b/i.test(
    headers.get("sec-purpose") ?? headers.get("purpose") ?? headers.get("x-moz") ?? "",
  );
}

function fillsTab({ headers }: Request): boolean {
  return headers.get("sec-fetch-mode") === "navigate" && headers.get("sec-fetch-dest") === "document";
}
