import type { Database } from "../../db/database.ts";
import { ExactHeads } from "./exact-heads.ts";
import type { Heads } from "./heads.ts";
import { LeasedHeads } from "./leased-heads.ts";

export interface HeadsOptions {
  readonly database: Pick<Database, "heads" | "dataVersion" | "readsNow" | "clock">;
  /** How long the last known versions are used while the database is away. */
  readonly staleMs: number;
}

/** openHeads returns heads that are exact if the database can be read without waiting, and leased ones otherwise. */
export function openHeads({ database, staleMs }: HeadsOptions): Heads {
  return database.readsNow ? new ExactHeads(database, staleMs) : new LeasedHeads(staleMs, database.clock);
}
