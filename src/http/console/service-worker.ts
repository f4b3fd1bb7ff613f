import { plainText } from "../content/plain.ts";

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
