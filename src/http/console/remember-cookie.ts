import { parseCredentials } from "../../auth/credentials.ts";
import { Fault } from "../../base/fault.ts";
import { plainText } from "../content/plain.ts";

export const rememberPath = "/node/console/remember";
export const rememberMethods = ["POST", "DELETE"];

const cookiePath = "/node/console/";
const keptSeconds = 30 * 24 * 60 * 60;
const mostBodyBytes = 4096;
/** Browsers drop a cookie above 4,096 bytes without a word; base64 makes four of three. */
const mostTokenBytes = 2900;

/** Marks the value of a cookie that outlives the browser; base64url has no dot. */
const persistentMark = ".p";

/** A token in the console's cookie. */
export interface KeptToken {
  readonly token: string;
  /** For 30 days; otherwise until the browser is closed. */
  readonly persistent: boolean;
}

/**
 * `POST` has the browser keep a token in a cookie that no script can read, `DELETE` ends that. The server stores nothing, and
 * no call looks at the cookie: all it is good for is that the console's page hands the token over.
 */
export async function changeRemembered(request: Request): Promise<Response> {
  if (!isFromOwnOrigin(request))
    return plainText(403, "403 Forbidden: only the console itself may ask for this, in a browser.");
  if (request.method === "DELETE") return answer(request, "", 0);
  if (request.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase() !== "application/json")
    return plainText(415, "415 Unsupported Media Type: the content type must be application/json.");
  const length = request.headers.get("content-length");
  if (length === null) return plainText(411, "411 Length Required: the request must tell its length.");
  if (Number(length) > mostBodyBytes)
    return plainText(413, `413 Content Too Large: the request is above ${mostBodyBytes} bytes.`);
  const kept = keptTokenIn(await request.text());
  if (kept === undefined)
    return plainText(400, '400 Bad Request: the body must read {"token": "…", "persistent": true or false}.');
  const why = unfit(kept.token);
  if (why !== undefined) return plainText(400, `400 Bad Request: ${why}.`);
  const value = Buffer.from(kept.token).toString("base64url");
  return kept.persistent
    ? answer(request, value + persistentMark, keptSeconds)
    : answer(request, value, undefined);
}

/** The token in the cookie of a request; undefined when there is none, or none that could have been kept. */
export function keptTokenOf(request: Request): KeptToken | undefined {
  const name = cookieName(request);
  for (const pair of request.headers.get("cookie")?.split(";") ?? []) {
    const [key = "", value = ""] = pair.trim().split("=", 2);
    if (key !== name) continue;
    const persistent = value.endsWith(persistentMark);
    const text = persistent ? value.slice(0, -persistentMark.length) : value;
    const token = Buffer.from(text, "base64url").toString();
    if (unfit(token) === undefined) return { token, persistent };
  }
  return undefined;
}

/**
 * Whether a page of this very origin asks. Over plain http to another machine browsers send no `Sec-Fetch-Site`; there the `Origin`,
 * which they send with POST and DELETE, must name the host that was asked.
 */
function isFromOwnOrigin({ headers }: Request): boolean {
  const site = headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  const origin = headers.get("origin");
  if (origin === null || !URL.canParse(origin)) return false;
  const forwarded = headers.get("x-forwarded-host")?.split(",", 1)[0]?.trim();
  return [headers.get("host"), forwarded].includes(new URL(origin).host);
}

/** Browsers keep cookies by host and not by port: several servers on one machine must not take each other's. */
function cookieName({ headers }: Request): string {
  const port = /:(\d+)$/.exec(headers.get("host") ?? "")?.[1];
  return port === undefined ? "node_server_console" : `node_server_console_${port}`;
}

/** `seconds` is how long the browser keeps the cookie: 0 deletes it, undefined keeps it until the browser is closed. */
function answer(request: Request, value: string, seconds: number | undefined): Response {
  const forwarded = request.headers.get("x-forwarded-proto")?.split(",", 1)[0]?.trim();
  const secure = request.url.startsWith("https:") || forwarded === "https";
  const cookie = [
    `${cookieName(request)}=${value}; Path=${cookiePath}; HttpOnly; SameSite=Strict`,
    ...(seconds === undefined ? [] : [`Max-Age=${seconds}`]),
    ...(secure ? ["Secure"] : []),
  ].join("; ");
  return new Response(null, {
    status: 204,
    headers: { "set-cookie": cookie, "cache-control": "no-store" },
  });
}

function keptTokenIn(body: string): KeptToken | undefined {
  try {
    const { token, persistent = false } = (JSON.parse(body) ?? {}) as Partial<
      Record<keyof KeptToken, unknown>
    >;
    return typeof token === "string" && typeof persistent === "boolean" ? { token, persistent } : undefined;
  } catch (error) {
    // What was wrong with the text stays here: it may quote the token.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Why it cannot be kept and handed over as it is; undefined when it can. */
function unfit(token: string): string | undefined {
  try {
    parseCredentials(token);
  } catch (error) {
    if (error instanceof Fault) return error.detail;
    throw error;
  }
  if (Buffer.byteLength(token) > mostTokenBytes)
    return `the token is above ${mostTokenBytes} bytes, which is more than a browser remembers`;
  if (!token.isWellFormed() || /[\x00-\x1f\x7f]/.test(token))
    return "the token holds a character that cannot be remembered";
  return undefined;
}
