import type { DatabaseSettings } from "../../src/db/database.ts";

/** Settings with which a test opens a database without a server. Their patience is that of a busy machine. */
export function settingsFor(database_url: string): DatabaseSettings {
  return {
    database_url,
    connect_timeout_ms: 30_000,
    acquire_timeout_ms: 30_000,
    answer_timeout_ms: 60_000,
    idle_timeout_ms: 0,
    max_lifetime_ms: 0,
    max_connections: 2,
  };
}
