import { plainText } from "../content/plain.ts";

/**
 * A service worker sees every request below the folder of its script, navigations and their answers included: one in the top
 * folder of the HTTP root would see the console's. Browsers say when they ask for a worker's script, and a page cannot change
 * what they say. An address that they take for one in the top folder has a single slash, as they resolve dots beforehand and
 * let no worker have an encoded slash in its address.
 */
export function isRootWorker({ headers }: Request, path: string): boolean {
  if (path.lastIndexOf("/") !== 0) return false;
  if (headers.has("service-worker")) return true;
  // What a worker in a folder imports is asked for with another mode.
  return headers.get("sec-fetch-dest") === "serviceworker" && headers.get("sec-fetch-mode") === "same-origin";
}

export function refuseWorker(): Response {
  return plainText(
    403,
    "403 Forbidden: a service worker in the top folder would also see the server's web console. Put its script into a folder, such as /app/sw.js, or turn the console off (console = false in the configuration).",
  );
}
