import { parseCredentials } from "../auth/credentials.ts";
import { Fault } from "../base/fault.ts";
import { plainText } from "./pages.ts";

export const rememberPath = "/node/console/remember";
export const rememberMethods = ["POST", "DELETE"];

const cookiePath = "/node/console/";
const keptSeconds = 30 * 24 * 60 * 60;
const mostBodyBytes = 4096;
/** Browsers drop a cookie above 4,096 bytes without a word; base64 makes four of three. */
const mostTokenBytes = 2900;

/**
 * `POST` has the browser keep a token in a cookie that no script can read, `DELETE` ends that. The server stores nothing, and
 * no call looks at the cookie: all it is good for is that `rememberedFor` hands the token to the console's page.
 */
export async function changeRemembered(request: Request): Promise<Response> {
  // Also missing where the connection is neither https nor to this machine: the page could not be guarded there.
  if (request.headers.get("sec-fetch-site") !== "same-origin")
    return plainText(
      403,
      "403 Forbidden: only the console itself may ask for this, in a browser, over https or on the server's own machine.",
    );
  if (request.method === "DELETE") return answer(request, "", 0);
  if (request.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase() !== "application/json")
    return plainText(415, "415 Unsupported Media Type: the content type must be application/json.");
  const length = request.headers.get("content-length");
  if (length === null) return plainText(411, "411 Length Required: the request must tell its length.");
  if (Number(length) > mostBodyBytes)
    return plainText(413, `413 Content Too Large: the request is above ${mostBodyBytes} bytes.`);
  const token = tokenIn(await request.text());
  if (token === undefined) return plainText(400, '400 Bad Request: the body must read {"token": "…"}.');
  const why = unfit(token);
  if (why !== undefined) return plainText(400, `400 Bad Request: ${why}.`);
  return answer(request, Buffer.from(token).toString("base64url"), keptSeconds);
}

/**
 * The token that the console's page is to hold. Other pages of this origin can ask for the console's page too, and the browser
 * adds the cookie: they get it without the token, as only a page that fills a tab of its own is out of their reach.
 */
export function rememberedFor(request: Request): string | undefined {
  const { headers } = request;
  if (headers.get("sec-fetch-mode") !== "navigate" || headers.get("sec-fetch-dest") !== "document")
    return undefined;
  const name = cookieName(request);
  for (const pair of headers.get("cookie")?.split(";") ?? []) {
    const [key = "", value = ""] = pair.trim().split("=", 2);
    if (key !== name) continue;
    const token = Buffer.from(value, "base64url").toString();
    if (unfit(token) === undefined) return token;
  }
  return undefined;
}

/** Browsers keep cookies by host and not by port: several servers on one machine must not take each other's. */
function cookieName({ headers }: Request): string {
  const port = /:(\d+)$/.exec(headers.get("host") ?? "")?.[1];
  return port === undefined ? "node_server_console" : `node_server_console_${port}`;
}

function answer(request: Request, value: string, seconds: number): Response {
  const forwarded = request.headers.get("x-forwarded-proto")?.split(",", 1)[0]?.trim();
  const secure = request.url.startsWith("https:") || forwarded === "https";
  const cookie = `${cookieName(request)}=${value}; Path=${cookiePath}; HttpOnly; SameSite=Strict; Max-Age=${seconds}`;
  return new Response(null, {
    status: 204,
    headers: { "set-cookie": secure ? `${cookie}; Secure` : cookie, "cache-control": "no-store" },
  });
}

function tokenIn(body: string): string | undefined {
  try {
    const { token } = (JSON.parse(body) ?? {}) as { token?: unknown };
    return typeof token === "string" ? token : undefined;
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
