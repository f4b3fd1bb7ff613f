import type { Logger } from "../log/hub.ts";
import type { OverriddenKey } from "./environment.ts";

/** `reportStart` logs what is remarkable about a start: settings from elsewhere, an edit that had been interrupted. */
export function reportStart(
  log: Logger,
  path: string,
  { overridden, finished }: { readonly overridden: readonly OverriddenKey[]; readonly finished: boolean },
): void {
  if (overridden.length > 0) {
    const from = overridden.map((override) => override.from);
    log.event("config.overridden", `settings from outside the configuration file: ${from.join(", ")}`, {
      keys: overridden.map(({ key }) => key),
      from,
    });
  }
  if (finished)
    log.event("config.recovered", "an interrupted edit of the configuration was completed", { path });
}
