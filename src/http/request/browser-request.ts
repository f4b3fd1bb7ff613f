import { plainText } from "../content/plain.ts";

/** Product names in the User-Agent of browsers. */
const browserProduct = /\b(?:Firefox|FxiOS|Chrome|Chromium|CriOS|Edge?|OPR|Safari|Trident)\//;
/** Product names of programs that send a browser's as well: Dolphin, Electron applications, Microsoft Office. */
const otherProduct = /\b(?:KIO|Electron)\/|\bms-?office\b/i;

/**
 * isFromBrowser returns whether a browser sent the request, for a page or for an address that its user opened. Browsers send
 * `Sec-Fetch-Site` to https and to localhost only; over plain http to another machine, `Origin` and the User-Agent decide. Node's
 * `fetch` sends `Sec-Fetch-Mode`, but not `Sec-Fetch-Site`.
 */
export function isFromBrowser({ headers }: Request): boolean {
  const site = headers.get("sec-fetch-site");
  if (site !== null && !isFromPrivilegedCode(site, headers)) return true;
  if (headers.has("origin")) return true;
  const agent = headers.get("user-agent") ?? "";
  return browserProduct.test(agent) && !otherProduct.test(agent);
}

/**
 * mayCarryStoredCredentials returns whether a browser may have added the request's Basic credentials by itself, for any page of this
 * origin. For a page of another origin that has no effect: with `Access-Control-Allow-Origin: *` neither a preflight with such
 * credentials passes nor can the response be read. Credentials that such a page has itself are fine.
 */
export function mayCarryStoredCredentials(request: Request): boolean {
  const { headers } = request;
  const site = headers.get("sec-fetch-site");
  if (site === null) return isFromBrowser(request) && !isFromOtherOrigin(request);
  if (isFromPrivilegedCode(site, headers)) return false;
  const isCors = headers.get("sec-fetch-mode") === "cors";
  return !(isCors && (site === "cross-site" || site === "same-site"));
}

/**
 * Whether `Origin` names another host than the one that was asked. Pages can set neither `Origin` nor `Host`; `X-Forwarded-Host`, which
 * they can set, only makes a request count as one of this origin. `null` is not proof: a page of this origin can have it sent. A form
 * of another origin can send a POST with what the browser keeps.
 */
function isFromOtherOrigin({ method, headers }: Request): boolean {
  const origin = headers.get("origin");
  if (origin === null || method === "POST" || !URL.canParse(origin)) return false;
  const forwarded = headers.get("x-forwarded-host")?.split(",", 1)[0]?.trim();
  const { host } = new URL(origin);
  return ![headers.get("host"), forwarded].some((own) => own?.toLowerCase() === host);
}

/**
 * isForAnotherSite returns whether a browser may have added the request's Basic credentials for a page of another origin, which
 * embeds the answer: an image, a script, a frame. Such a page cannot read it, but a script runs there, and tells what it
 * contains.
 */
export function isForAnotherSite(request: Request): boolean {
  const { headers } = request;
  const site = headers.get("sec-fetch-site");
  if (site !== "cross-site" && site !== "same-site") return false;
  const isPage = headers.get("sec-fetch-mode") === "navigate" && headers.get("sec-fetch-dest") === "document";
  return !isPage && mayCarryStoredCredentials(request);
}

/**
 * isNavigation returns whether a browser's tab goes to the address. Over plain http to another machine browsers do not say so;
 * there it is a browser that asks for HTML.
 */
export function isNavigation(request: Request): boolean {
  const { method, headers } = request;
  if (method !== "GET") return false;
  const mode = headers.get("sec-fetch-mode");
  if (mode !== null) return mode === "navigate" && headers.get("sec-fetch-dest") === "document";
  return isFromBrowser(request) && (headers.get("accept") ?? "").includes("text/html");
}

/**
 * isWorkerScript returns whether a browser asks for the script of a service worker. Browsers mark such requests, and pages cannot
 * change that.
 */
export function isWorkerScript({ headers }: Request): boolean {
  return headers.has("service-worker") || headers.get("sec-fetch-dest") === "serviceworker";
}

/** Extensions, and the code of applications built on a browser. A page cannot send `none`; a typed address is a navigation. */
function isFromPrivilegedCode(site: string, headers: Headers): boolean {
  return site === "none" && headers.get("sec-fetch-mode") !== "navigate";
}

/** isHttps returns whether the client uses https, as far as the server can know: by its own TLS, or by what a proxy in front says. */
export function isHttps({ url, headers }: Request): boolean {
  const forwarded = headers.get("x-forwarded-proto")?.split(",", 1)[0]?.trim();
  return url.startsWith("https:") || forwarded === "https";
}

/**
 * withPort ends the name of a cookie with the port, because browsers share cookies between ports: servers on one machine must not
 * overwrite each other's.
 */
export function withPort(name: string, { headers }: Request): string {
  const port = /:(\d+)$/.exec(headers.get("host") ?? "")?.[1];
  return port === undefined ? name : `${name}_${port}`;
}

/**
 * cookiesOf returns the values of all cookies of a name that a request carries, in its order and as they were sent. The name has
 * letters, digits, `_` and `-` only. `Bun.CookieMap` would decode `%40`, so that a value had several spellings.
 */
export function cookiesOf({ headers }: Request, name: string): string[] {
  const pattern = new RegExp(`(?:^|;)[ \\t]*${name}=([^;]*)`, "g");
  return Array.from((headers.get("cookie") ?? "").matchAll(pattern), ([, value = ""]) => value);
}

/**
 * isRootWorker returns whether a browser asks for the script of a service worker in the top folder. A service worker sees every
 * request below the folder of its script, navigations and their responses included: one in the top folder of the HTTP root would see
 * the console's. Browsers mark requests for a worker's script, and pages cannot change that. A path in the top folder has a single
 * slash: browsers resolve dots beforehand and allow no encoded slash in a worker's URL.
 */
export function isRootWorker({ headers }: Request, path: string): boolean {
  if (path.lastIndexOf("/") !== 0) return false;
  if (headers.has("service-worker")) return true;
  // A script that a worker imports is requested with another mode.
  return headers.get("sec-fetch-dest") === "serviceworker" && headers.get("sec-fetch-mode") === "same-origin";
}

export function refuseWorker(): Response {
  return plainText(
    403,
    "403 Forbidden: a service worker in the top folder would also see the server's web console. Give the bucket a host name of its own, put the script into a folder, such as /app/sw.js, or turn the console off (console = false in the configuration).",
  );
}
