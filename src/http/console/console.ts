// This folder sends the web console, which src/console builds. This file answers below `/node/console` with its files,
// which stay in memory. remember-cookie.ts keeps a token in a cookie that no script can read, and hands it to the
// console's page alone.

import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { Clock } from "../../base/clock.ts";
import type { ConsoleFile, ConsoleFiles } from "../../bundle.ts";
import type { Logger } from "../../log/hub.ts";
import { acceptedEncodings } from "../content/compression.ts";
import { mediaTypeOf } from "../content/media-type.ts";
import {
  methodNotAllowed,
  notFound,
  plainText,
  redirect as redirectTo,
  textResponse,
} from "../content/plain.ts";
import { respond } from "../content/respond.ts";
import { handlerOf, methodsOf, RouteTable } from "../route-table.ts";
import {
  forgetToken,
  type Handover,
  Handovers,
  isPrefetch,
  rememberPath,
  rememberToken,
  resumePath,
} from "./remember-cookie.ts";

const consolePath = "/node/console/";
const assetsPath = `${consolePath}assets/`;

interface ConsoleOptions {
  /** Whether the console is served at all. */
  readonly isOn: () => boolean;
  readonly load: () => Promise<ConsoleFiles>;
  readonly log: Logger;
  readonly clock: Clock;
}

/** Console is the web console. Its files are built or read at the first request, and stay in memory. */
export class Console {
  readonly handovers: Handovers;
  readonly isOn: () => boolean;
  readonly #load: () => Promise<ConsoleFiles>;
  readonly #log: Logger;
  #files: Promise<ConsoleFiles | undefined> | undefined;

  constructor({ isOn, load, log, clock }: ConsoleOptions) {
    this.handovers = new Handovers(clock);
    this.isOn = isOn;
    this.#load = load;
    this.#log = log;
  }

  /** Undefined if they cannot be loaded, which is logged; the next request tries again. */
  files(): Promise<ConsoleFiles | undefined> {
    this.#files ??= this.#load().catch((error: unknown) => {
      this.#files = undefined;
      this.#log.error("the web console cannot be served", { why: Bun.inspect(error) });
      return undefined;
    });
    return this.#files;
  }
}

interface ConsoleRequest {
  readonly request: Request;
  readonly path: string;
  readonly console: Console;
}

type Handler = (asked: ConsoleRequest) => Response | Promise<Response>;

const redirect: Handler = ({ request }) => toConsole(request);
const remember: Handler = ({ request }) => rememberToken(request);
const forget: Handler = ({ request }) => forgetToken(request);
const resume: Handler = ({ request, console }) => console.handovers.redirect(request);

/** Every address of the console. No name is a path on the disk: assets are looked up in a map. */
const routes = new RouteTable<Handler>([
  { path: "/node/console", methods: { GET: redirect, HEAD: redirect } },
  { path: consolePath, methods: { GET: servePage, HEAD: servePage } },
  { path: `${assetsPath}*`, methods: { GET: serveAsset, HEAD: serveAsset } },
  { path: rememberPath, methods: { POST: remember, DELETE: forget } },
  { path: resumePath, methods: { GET: resume } },
]);

/** serveConsole answers at every address below `/node/console`. */
export async function serveConsole(request: Request, path: string, console: Console): Promise<Response> {
  const route = console.isOn() ? routes.find(path) : undefined;
  if (route === undefined) return notFound();
  const handler = handlerOf(route, request.method);
  return handler === undefined ? methodNotAllowed(methodsOf(route)) : handler({ request, path, console });
}

/** noConsole answers at a host name that is not the server's own (RFC 9110 §15.5.20). */
export function noConsole(): Response {
  return plainText(
    421,
    "421 Misdirected Request: the web console does not answer at this host name. Use the server's own name or its address, because this name belongs to a bucket, or is not the server_name of the configuration.",
  );
}

async function servePage({ request, console }: ConsoleRequest): Promise<Response> {
  const files = await console.files();
  if (files === undefined) return cannotBeServed();
  if (isPrefetch(request)) return refusePrefetch();
  return consolePage(files, { handover: console.handovers.forPage(request), theme: chosenTheme(request) });
}

async function serveAsset({ request, path, console }: ConsoleRequest): Promise<Response> {
  const name = decodeName(path.slice(assetsPath.length));
  if (name === undefined) return notFound();
  const files = await console.files();
  if (files === undefined) return cannotBeServed();
  const file = files.files.get(name);
  return file === undefined ? notFound() : sendFile(request, file);
}

function cannotBeServed(): Response {
  return plainText(
    500,
    "500 Internal Server Error: the console cannot be served; the server's log says why.",
  );
}

/**
 * A prefetched page would keep the token, or its absence, until its user opens it. Browsers discard a refused prefetch and load
 * the page anew.
 */
function refusePrefetch(): Response {
  return plainText(503, "503 Service Unavailable: the console is not loaded in advance.", {
    "cache-control": "no-store",
  });
}

function toConsole({ url }: Request): Response {
  const query = url.indexOf("?");
  const search = query === -1 ? "" : url.slice(query);
  return redirectTo(301, consolePath + search);
}

function decodeName(name: string): string | undefined {
  try {
    return decodeURIComponent(name);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

async function sendFile(request: Request, file: ConsoleFile): Promise<Response> {
  const encoding = request.headers.has("range")
    ? undefined
    : acceptedEncodings(request.headers.get("accept-encoding")).find((one) => one === "br" || one === "gzip");
  const bytes = encoding === undefined ? await promisify(gunzip)(file.gzip) : file[encoding];
  const etag = `"${file.name}${encoding === undefined ? "" : `-${encoding}`}"`;
  const blob = new Blob([bytes]);
  return respond(request, {
    etag,
    // Assets have no date; NaN is neither before nor after any.
    modifiedMs: Number.NaN,
    headers: {
      "content-type": mediaTypeOf(file.name).value,
      etag,
      "cache-control": "public, max-age=31536000, immutable",
      vary: "accept-encoding",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
      ...(encoding === undefined ? {} : { "content-encoding": encoding }),
    },
    body: { kind: "memory", blob },
  });
}

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='3.5' fill='%232456d6'/%3E%3Cpath d='M4 5.500h8M4 10.500h5' stroke='%23fff' stroke-width='1.8'/%3E%3C/svg%3E";

const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  // The page may contain a token.
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  // Pages of buckets have the same origin: without this header, one that opens the console could access its window.
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "permissions-policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
};

/** consolePage returns the one page of the console. Scripts injected by a page of a bucket cannot run: none runs without the nonce. */
function consolePage(files: ConsoleFiles, state: PageState): Response {
  const nonce = randomBytes(18).toString("base64");
  const headers = { ...pageHeaders, "content-security-policy": policy(nonce) };
  return textResponse(pageText(files, nonce, state), { headers });
}

function policy(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}' 'strict-dynamic'`,
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "media-src 'self' blob:",
    // The browser's PDF viewer. A blob inherits this policy, so that one with other content runs nothing.
    "frame-src blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}

/** PageState is what differs from browser to browser. */
interface PageState {
  readonly handover: Handover | undefined;
  readonly theme: "light" | "dark" | undefined;
}

/** The console's script reads the tag and removes it from the page. */
function handoverTag(handover: Handover | undefined): string {
  switch (handover?.kind) {
    case undefined:
      return "";
    case "resumable":
      return '<meta name="resumable">\n';
    case "token":
      return tokenTag("remembered", handover.remembered.token, handover.remembered.persistent);
    case "sealed":
      return tokenTag("handover", handover.text, handover.persistent);
  }
}

function tokenTag(name: string, content: string, persistent: boolean): string {
  return `<meta name="${name}" content="${Bun.escapeHTML(content)}"${persistent ? " data-persistent" : ""}>\n`;
}

function pageText(
  { script, modules, style }: ConsoleFiles,
  nonce: string,
  { handover, theme }: PageState,
): string {
  const preloads = modules.map(
    (name) => `<link rel="modulepreload" href="assets/${name}" nonce="${nonce}">\n`,
  );
  return `<!doctype html>
<html lang="en"${theme === undefined ? "" : ` data-theme="${theme}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="${theme ?? "light dark"}">
${handoverTag(handover)}<title>node-server console</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="assets/${style}">
${preloads.join("")}<script type="module" src="assets/${script}" nonce="${nonce}"></script>
</head>
<body>
<div id="app"></div>
<noscript>The console needs JavaScript; the same can be done on the command line: node-server --help.</noscript>
</body>
</html>
`;
}

/** Written by the console's page, in `src/console/theme.ts`. */
const cookieName = "node_server_theme";

/**
 * chosenTheme returns the theme that was chosen in the console, for the page's first paint; undefined if the system decides.
 * Scripts of any page of this origin can write the cookie, so only the two known values are accepted.
 */
function chosenTheme({ headers }: Request): "light" | "dark" | undefined {
  const value = new Bun.CookieMap(headers.get("cookie") ?? "").get(cookieName);
  return value === "light" || value === "dark" ? value : undefined;
}
