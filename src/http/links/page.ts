import { CredentialsRejected } from "../../auth/authenticator.ts";
import { splitPath } from "../../buckets/path.ts";
import { archiveName } from "../../links/link-code.ts";
import type { ValidLink } from "../../links/links.ts";
import { type Language, languageOf, serverPage } from "../content/page.ts";
import { plainText } from "../content/plain.ts";
import type { ReceivedRequest } from "../pipeline.ts";
import { holdBack, httpPeer } from "../request/authentication.ts";
import { declaredLength, readBody } from "../request/body.ts";
import { isFromBrowser } from "../request/browser-request.ts";
import { HttpError } from "../request/http-error.ts";
import type { RequestedLink } from "./link-request.ts";

interface LandingTexts {
  readonly password: string;
  readonly wrong: string;
  readonly download: string;
  readonly until: (time: string) => string;
}

const texts: Readonly<Record<Language, LandingTexts>> = {
  en: {
    password: "Password",
    wrong: "This is not the password.",
    download: "Download",
    until: (time) => `This link works until ${time}.`,
  },
  zh: {
    password: "密码",
    wrong: "密码不正确。",
    download: "下载",
    until: (time) => `此链接有效期至 ${time}。`,
  },
};

/** LinkDownload is what a link offers. */
interface LinkDownload {
  readonly link: ValidLink;
  readonly asked: RequestedLink;
  /** Undefined for an archive, which is made while it is sent. */
  readonly size: number | undefined;
  /** What is known of the password, if the link takes one. */
  readonly proof?: "wrong" | "missing";
}

/**
 * landingPage shows what a link offers, before a download. Its form is answered with the file, so that the page stays on the screen
 * and needs no script. What it says of a wrong password goes once another one is typed. No cookie is set, so the password opens
 * nothing else.
 */
export function landingPage(request: Request, { link, asked, size, proof }: LinkDownload): Response {
  const text = texts[languageOf(request)];
  const { kind, bucket, path } = asked;
  const title = kind === "zip" ? `${archiveName(bucket, path)}.zip` : splitPath(path).name;
  const problem = proof === "wrong" ? `<p class="problem" role="alert">${text.wrong}</p>\n` : "";
  const password =
    proof === undefined
      ? ""
      : `<label>${text.password} <input type="password" name="password" placeholder=" " required autofocus autocomplete="off"></label>\n`;
  return serverPage(request, {
    title,
    status: proof === "wrong" ? 403 : 200,
    body: `${linkFacts(request, link, size)}${problem}<form method="post">
${password}<button class="main">${text.download}</button>
</form>
`,
  });
}

/** linkFacts is the note of a link's sender, the size of what it offers and its end, as HTML. */
export function linkFacts(request: Request, { note, expires }: ValidLink, size: number | undefined): string {
  const language = languageOf(request);
  const quoted = note === undefined ? "" : `<blockquote>${Bun.escapeHTML(note)}</blockquote>\n`;
  const end = new Intl.DateTimeFormat(language, { dateStyle: "long", timeStyle: "short", timeZone: "UTC" });
  const facts = [
    ...(size === undefined ? [] : [sizeText(size, language)]),
    texts[language].until(`${end.format(expires)} UTC`),
  ];
  return `${quoted}<p class="facts">${facts.join(" · ")}</p>\n`;
}

const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const;

function sizeText(bytes: number, language: Language): string {
  const power = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1);
  const unit = units[power] ?? "byte";
  const style = { style: "unit", unit, unitDisplay: power === 0 ? "long" : "short" } as const;
  return new Intl.NumberFormat(language, { ...style, maximumFractionDigits: 1 }).format(
    bytes / 1000 ** power,
  );
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
 * challengeFor returns a challenge for programs, and undefined for browsers, which get a form: a browser that gets a challenge would keep
 * the password and add it to further requests.
 */
export function challengeFor(request: Request, proof: "wrong" | "missing"): Response | undefined {
  const line = proof === "wrong" ? "this is not the password of this link" : "this link takes a password";
  if (isFromBrowser(request))
    return request.method === "PUT" ? plainText(403, `403 Forbidden: ${line}.`) : undefined;
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
