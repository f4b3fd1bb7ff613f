import type { Agents } from "./agents/agents.ts";
import type { Tokens } from "./auth/tokens.ts";
import type { Buckets } from "./buckets/buckets.ts";
import type { ConfigFile } from "./config/config-file.ts";
import type { Database } from "./db/database.ts";
import type { LogHub } from "./log/hub.ts";
import type { LogRing } from "./log/ring.ts";
import type { Updater } from "./update/updater.ts";

/** What a method may use. */
export interface Services {
  readonly serverUuid: string;
  /** Milliseconds since the node was opened, whatever became of the clock on the wall. */
  uptimeMs(): number;
  readonly tokens: Tokens;
  readonly agents: Agents;
  readonly buckets: Buckets;
  readonly database: Database;
  /** The configuration's bounds as they are now. */
  limits(): { readonly maxAnswerBytes: number; readonly sqlTimeoutMs: number };
  readonly hub: LogHub;
  readonly ring: LogRing;
  readonly configFile: ConfigFile;
  /** Reads the configuration again and applies it, or logs why not. */
  reload(): Promise<unknown>;
  readonly updater: Updater;
  /** Restarts into the binary on the disk, after a delay and once the calls that run are done. */
  scheduleRestart(): void;
}
