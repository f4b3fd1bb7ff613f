import type { DatabaseSettings } from "../../src/db/database.ts";

/** Settings with which a test opens a database without a server. */
export function settingsFor(database_url: string): DatabaseSettings {
  return {
    database_url,
    connect_timeout_ms: 3000,
    acquire_timeout_ms: 3000,
    answer_timeout_ms: 5000,
    idle_timeout_ms: 0,
    max_lifetime_ms: 0,
    max_connections: 2,
  };
}
