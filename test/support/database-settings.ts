import type { DatabaseSettings } from "../../src/db/database.ts";

/** The limit of a database that does answer, on a machine whose processes may be stopped for seconds. */
export const longTimeoutMs = 60_000;

/** Settings with which a test opens a database without a server. */
export function settingsFor(database_url: string): DatabaseSettings {
  return {
    database_url,
    timeout_ms: longTimeoutMs,
    max_connections: 2,
  };
}
