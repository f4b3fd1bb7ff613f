import { parseCredentials } from "../../auth/credentials.ts";
import { Fault } from "../../base/fault.ts";
import { plainText } from "../content/plain.ts";
import { declaredLength, readBody } from "../request/body-chunks.ts";
import { cookiesOf, isHttps, withPort } from "../request/cookies.ts";

export const rememberPath = "/node/console/remember";

const cookiePath = "/node/console/";
const maxAgeSeconds = 30 * 24 * 60 * 60;
const maxBodyBytes = 4096;
/** Browsers silently drop a cookie above 4,096 bytes, and base64 makes four bytes of three. */
const maxTokenBytes = 2900;

/** Marks the value of a cookie that outlives the browser; base64url has no dot. */
const persistentMark = ".p";

/** RememberedToken is a token in the console's cookie. */
export interface RememberedToken {
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
    return plainText(413, `413 Content Too Large: the request is above ${maxBodyBytes} bytes.`);
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
export function rememberedTokenOf(request: Request): RememberedToken | undefined {
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
    return `the token is above ${maxTokenBytes} bytes, which is more than a browser can remember`;
  if (!token.isWellFormed() || /[\x00-\x1f\x7f]/.test(token))
    return "the token contains a character that cannot be remembered";
  return undefined;
}
