import { CredentialsRejected } from "../../auth/authenticator.ts";
import type { ValidLink } from "../../links/links.ts";
import { plainText } from "../content/plain.ts";
import type { ReceivedRequest } from "../pipeline.ts";
import { holdBack } from "../request/authentication.ts";
import { declaredLength, readBody } from "../request/body-chunks.ts";
import { isFromBrowser } from "../request/browser-request.ts";
import { HttpError } from "../request/http-error.ts";
import { linkPage } from "./page.ts";

/** A form with a password of 256 characters, each of which may take 12 bytes. */
const maxFormBytes = 4096;

/**
 * provePassword checks whether a request has the password of its link, if that has one. Guessing is slowed down as that of a
 * token's password is.
 */
export async function provePassword(
  { request, address, authenticator, deps }: ReceivedRequest<unknown>,
  { name, passwordHash }: ValidLink,
): Promise<"right" | "wrong" | "missing"> {
  if (name === undefined || passwordHash === undefined) return "right";
  const password = request.method === "POST" ? await passwordInForm(request) : passwordInHeader(request);
  if (password === undefined) return "missing";
  const peer = {
    address,
    disconnected: request.signal,
    withoutSlot: <T>(wait: () => Promise<T>) => wait(),
  };
  try {
    await authenticator.proveLinkPassword({ id: name.id, hash: passwordHash, password }, peer);
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
