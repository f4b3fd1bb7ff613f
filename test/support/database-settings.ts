import type { DatabaseSettings } from "../../src/db/database.ts";

export type DatabaseLimits = Pick<
  DatabaseSettings,
  "connect_timeout_ms" | "acquire_timeout_ms" | "answer_timeout_ms"
>;

/** Limits of a database that does answer, on a machine whose processes may be stopped for seconds. */
export const longLimits: DatabaseLimits = {
  connect_timeout_ms: 60_000,
  acquire_timeout_ms: 60_000,
  answer_timeout_ms: 60_000,
};

/** Settings with which a test opens a database without a server. */
export function settingsFor(database_url: string): DatabaseSettings {
  return {
    database_url,
    ...longLimits,
    idle_timeout_ms: 0,
    max_lifetime_ms: 0,
    max_connections: 2,
  };
}
