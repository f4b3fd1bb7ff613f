/** Products that browsers name in their User-Agent. */
const browserProduct = /\b(?:Firefox|FxiOS|Chrome|Chromium|CriOS|Edge?|OPR|Safari|Trident)\//;
/** Programs that name a browser's product as well: Dolphin, applications built on Electron, Microsoft Office. */
const otherProduct = /\b(?:KIO|Electron)\/|\bms-?office\b/i;

/**
 * Whether a browser sent the request, for a page or for an address that its user opened. Browsers send `Sec-Fetch-Site` to https
 * and to the machine itself only; over plain http to another machine the `Origin` of a page and the User-Agent tell. Node's
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
 * Whether Basic credentials of the request may be ones that a browser keeps and added by itself, on behalf of any page of this
 * origin. Requests of a page of another origin cannot carry them to any effect: `Access-Control-Allow-Origin: *` lets neither their
 * preflights pass nor their answers be read. They may carry credentials that the page itself has.
 */
export function mayCarryKeptCredentials(request: Request): boolean {
  const { headers } = request;
  const site = headers.get("sec-fetch-site");
  if (site === null) return isFromBrowser(request);
  if (isFromPrivilegedCode(site, headers)) return false;
  const isCors = headers.get("sec-fetch-mode") === "cors";
  return !(isCors && (site === "cross-site" || site === "same-site"));
}

/** Extensions, and the code of applications built on a browser. A page cannot send `none`; a typed address is a navigation. */
function isFromPrivilegedCode(site: string, headers: Headers): boolean {
  return site === "none" && headers.get("sec-fetch-mode") !== "navigate";
}
