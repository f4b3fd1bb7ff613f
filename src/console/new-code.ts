import { inTab } from "./storage.ts";
import { mayReload } from "./unfinished.ts";

const key = "node-server.reloaded";
/** A reload that did not help is not repeated within this time. */
const pauseMs = 60_000;

/**
 * Reloads the console when code of it is no longer on the server: after an update its files have other names. False where work would be
 * lost, or a reload has not helped.
 */
export function reloadForNewCode(): boolean {
  const last = Number(inTab.read(key) ?? 0);
  if (!mayReload() || Date.now() - last < pauseMs) return false;
  inTab.write(key, String(Date.now()));
  // Without storage nobody would know that it has not helped.
  if (inTab.read(key) === undefined) return false;
  location.reload();
  return true;
}
