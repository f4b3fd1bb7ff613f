import { randomBytes } from "node:crypto";
import { parseCredentials } from "../../auth/credentials.ts";
import type { Clock } from "../../base/clock.ts";
import { Fault } from "../../base/fault.ts";
import { plainText } from "../content/plain.ts";
import { declaredLength, readBody } from "../request/body.ts";
import { cookiesOf, isHttps, withPort } from "../request/browser-request.ts";

export const rememberPath = "/node/console/remember";

const cookiePath = "/node/console/";
const maxAgeSeconds = 30 * 24 * 60 * 60;
const maxBodyBytes = 4096;
/** Browsers silently drop a cookie above 4,096 bytes, and base64 makes four bytes of three. */
const maxTokenBytes = 2900;

/** Marks the value of a cookie that outlives the browser; base64url has no dot. */
const persistentMark = ".p";

/** RememberedToken is a token in the console's cookie. */
interface RememberedToken {
  readonly token: string;
  /** For 30 days; otherwise until the browser is closed. */
  readonly persistent: boolean;
}

/**
 * rememberToken has the browser keep a token in a cookie that no script can read. The server stores nothing, and no call reads the
 * cookie: its only use is that the console's page hands the token over.
 */
export async function rememberToken(request: Request): Promise<Response> {
  if (!isFromOwnOrigin(request)) return notFromConsole();
  if (request.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase() !== "application/json")
    return plainText(415, "415 Unsupported Media Type: the content type must be application/json.");
  if (declaredLength(request) === undefined)
    return plainText(411, "411 Length Required: the request must have a Content-Length header.");
  const body = await readBody(request, maxBodyBytes);
  if (body === undefined)
    return plainText(413, `413 Content Too Large: the request exceeds ${maxBodyBytes} bytes.`);
  const remembered = parseBody(body.toString());
  if (remembered === undefined)
    return plainText(400, '400 Bad Request: the body must read {"token": "…", "persistent": true or false}.');
  const problem = problemOf(remembered.token);
  if (problem !== undefined) return plainText(400, `400 Bad Request: ${problem}.`);
  const value = Buffer.from(remembered.token).toString("base64url");
  return remembered.persistent
    ? setCookie(request, value + persistentMark, maxAgeSeconds)
    : setCookie(request, value, undefined);
}

/** forgetToken deletes the cookie. */
export function forgetToken(request: Request): Response {
  return isFromOwnOrigin(request) ? setCookie(request, "", 0) : notFromConsole();
}

function notFromConsole(): Response {
  return plainText(403, "403 Forbidden: only the console itself may ask for this, in a browser.");
}

/** rememberedTokenOf reads the cookie of a request; undefined if it has none, or one that we would not have set. */
function rememberedTokenOf(request: Request): RememberedToken | undefined {
  for (const value of cookiesOf(request, cookieName(request))) {
    const persistent = value.endsWith(persistentMark);
    const text = persistent ? value.slice(0, -persistentMark.length) : value;
    const token = Buffer.from(text, "base64url").toString();
    if (problemOf(token) === undefined) return { token, persistent };
  }
  return undefined;
}

/**
 * Whether a page of this origin sent the request. Over plain http to another machine browsers send no `Sec-Fetch-Site`; there the
 * `Origin`, which they send with POST and DELETE, must name the requested host.
 */
function isFromOwnOrigin({ headers }: Request): boolean {
  const site = headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  const origin = headers.get("origin");
  if (origin === null || !URL.canParse(origin)) return false;
  const forwarded = headers.get("x-forwarded-host")?.split(",", 1)[0]?.trim();
  return [headers.get("host"), forwarded].includes(new URL(origin).host);
}

function cookieName(request: Request): string {
  return withPort("node_server_console", request);
}

/** `seconds` is how long the browser keeps the cookie: 0 deletes it, undefined keeps it until the browser is closed. */
function setCookie(request: Request, value: string, seconds: number | undefined): Response {
  const cookie = [
    `${cookieName(request)}=${value}; Path=${cookiePath}; HttpOnly; SameSite=Strict`,
    ...(seconds === undefined ? [] : [`Max-Age=${seconds}`]),
    ...(isHttps(request) ? ["Secure"] : []),
  ].join("; ");
  return new Response(null, {
    status: 204,
    headers: { "set-cookie": cookie, "cache-control": "no-store" },
  });
}

function parseBody(body: string): RememberedToken | undefined {
  try {
    const { token, persistent = false } = (JSON.parse(body) ?? {}) as Partial<
      Record<keyof RememberedToken, unknown>
    >;
    return typeof token === "string" && typeof persistent === "boolean" ? { token, persistent } : undefined;
  } catch (error) {
    // The error is not passed on: it may quote the token.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Why the token cannot be kept in a cookie; undefined if it can. */
function problemOf(token: string): string | undefined {
  try {
    parseCredentials(token);
  } catch (error) {
    if (error instanceof Fault) return error.detail;
    throw error;
  }
  if (Buffer.byteLength(token) > maxTokenBytes)
    return `the token exceeds ${maxTokenBytes} bytes, which is more than a browser can remember`;
  if (!token.isWellFormed() || /[\x00-\x1f\x7f]/.test(token))
    return "the token contains a character that cannot be remembered";
  return undefined;
}

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
 * isPrefetch returns whether a browser loads the page before its user opens it (`prefetch`, `prefetch;prerender`), by itself or
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
