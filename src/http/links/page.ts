import { randomBytes } from "node:crypto";
import { CredentialsRejected } from "../../auth/authenticator.ts";
import type { ValidLink } from "../../links/links.ts";
import { plainText, textResponse } from "../content/plain.ts";
import type { ReceivedRequest } from "../pipeline.ts";
import { holdBack, httpPeer } from "../request/authentication.ts";
import { declaredLength, readBody } from "../request/body.ts";
import { isFromBrowser } from "../request/browser-request.ts";
import { HttpError } from "../request/http-error.ts";

/** LinkPage is a small page of the server's own. `body` is HTML. */
interface LinkPage {
  readonly title: string;
  readonly body: string;
  readonly script?: string;
  readonly status?: number;
}

const style = `
:root { color-scheme: light dark }
body { font: 16px/1.6 system-ui, sans-serif; margin: 12vh auto; max-width: 34rem; padding: 0 1rem }
input, button { font: inherit; padding: .4rem .7rem }
.problem { color: light-dark(#a40000, #ff9b9b) }
.problem:has(+ form input:not(:placeholder-shown)) { display: none }
#area { border: 2px dashed GrayText; border-radius: .5rem; margin: 1rem 0; padding: 2rem 1rem; text-align: center }
#area.over { border-color: Highlight }
#files { list-style: none; padding: 0 }
#files li { overflow-wrap: anywhere; padding: .2rem 0 }
progress { display: block; width: 100% }
`;

/**
 * linkPage returns a page that loads nothing and runs the one script it is given. Nobody may frame it, and it shares no window with
 * pages of buckets.
 */
export function linkPage(request: Request, { title, body, script, status = 200 }: LinkPage): Response {
  const nonce = randomBytes(18).toString("base64");
  const policy = [
    "default-src 'none'",
    `style-src 'nonce-${nonce}'`,
    ...(script === undefined ? [] : [`script-src 'nonce-${nonce}'`, "connect-src 'self'"]),
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": policy.join("; "),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
  };
  if (request.method === "HEAD") return new Response(null, { status, headers });
  const escaped = Bun.escapeHTML(title);
  const tag = script === undefined ? "" : `<script nonce="${nonce}">${script}</script>\n`;
  const text = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped}</title>
<style nonce="${nonce}">${style}</style>
</head>
<body>
<h1>${escaped}</h1>
${body}
${tag}</body>
</html>
`;
  return textResponse(text, { status, headers });
}

/** A form with a password of 256 characters, each of which may take 12 bytes. */
const maxFormBytes = 4096;

/**
 * provePassword checks whether a request has the password of its link, if that has one. Guessing is slowed down as that of a
 * token's password is.
 */
export async function provePassword(
  received: ReceivedRequest<unknown>,
  { name, passwordHash }: ValidLink,
): Promise<"right" | "wrong" | "missing"> {
  if (name === undefined || passwordHash === undefined) return "right";
  const { request, authenticator, deps } = received;
  const password = request.method === "POST" ? await passwordInForm(request) : passwordInHeader(request);
  if (password === undefined) return "missing";
  try {
    await authenticator.proveLinkPassword({ id: name.id, hash: passwordHash, password }, httpPeer(received));
    return "right";
  } catch (error) {
    if (!(error instanceof CredentialsRejected)) throw error;
    await holdBack(error, deps.delays);
    return "wrong";
  }
}

/**
 * askForPassword returns a form for people and a challenge for programs. A browser that gets a challenge would keep the password and
 * add it to further requests.
 */
export function askForPassword(request: Request, proof: "wrong" | "missing"): Response {
  const line = proof === "wrong" ? "this is not the password of this link" : "this link takes a password";
  if (isFromBrowser(request))
    return request.method === "PUT"
      ? plainText(403, `403 Forbidden: ${line}.`)
      : passwordPage(request, proof);
  return plainText(401, `401 Unauthorized: ${line}; send it as Basic with an empty user name.`, {
    "www-authenticate": 'Basic realm="Node Link", charset="UTF-8"',
  });
}

/** The password of Basic credentials (RFC 7617) without a user name. */
function passwordInHeader({ headers }: Request): string | undefined {
  const [, given = ""] = /^basic +([A-Za-z0-9+/=_-]+) *$/i.exec(headers.get("authorization") ?? "") ?? [];
  const text = Buffer.from(given, "base64").toString("utf8");
  return text.length > 1 && text.startsWith(":") ? text.slice(1) : undefined;
}

async function passwordInForm(request: Request): Promise<string | undefined> {
  const { headers } = request;
  if (!/^application\/x-www-form-urlencoded\b/i.test(headers.get("content-type") ?? ""))
    throw new HttpError(415, "send the password as a form: password=…");
  if (declaredLength(request) === undefined) throw new HttpError(411, "send the form with a Content-Length");
  const form = await readBody(request, maxFormBytes);
  if (form === undefined)
    throw new HttpError(413, `the form exceeds ${maxFormBytes} bytes`, { headers: { connection: "close" } });
  return new URLSearchParams(form.toString()).get("password") || undefined;
}

/**
 * passwordPage returns a form whose answer is the file, so that the page stays on the screen. What it says of a wrong password goes once
 * another one is typed. No cookie is set, so the password opens nothing else.
 */
function passwordPage(request: Request, proof: "wrong" | "missing"): Response {
  const problem = proof === "wrong" ? '<p class="problem" role="alert">This is not the password.</p>\n' : "";
  return linkPage(request, {
    title: "This file takes a password",
    status: proof === "wrong" ? 403 : 200,
    body: `${problem}<form method="post">
<label>Password <input type="password" name="password" placeholder=" " required autofocus autocomplete="off"></label>
<button>Download</button>
</form>`,
  });
}
