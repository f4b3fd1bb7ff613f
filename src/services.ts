import type { Agents } from "./agents/agents.ts";
import type { SecondFactors } from "./auth/second-factor.ts";
import type { Sessions } from "./auth/sessions.ts";
import type { Tokens } from "./auth/tokens.ts";
import type { Clock } from "./base/clock.ts";
import type { Buckets } from "./buckets/buckets.ts";
import type { Certificates } from "./certs/certificates.ts";
import type { NodeMemory } from "./cluster/memory.ts";
import type { Roster } from "./cluster/roster.ts";
import type { ConfigFile } from "./config/config-file.ts";
import type { Database } from "./db/database.ts";
import type { Hooks } from "./hooks/hooks.ts";
import type { Links } from "./links/links.ts";
import type { LogHub } from "./log/hub.ts";
import type { LogRing } from "./log/ring.ts";
import type { Metrics } from "./metrics/metrics.ts";
import type { LatestRelease } from "./update/release.ts";
import type { Updater } from "./update/updater.ts";

/** Services are what a method may use. */
export interface Services {
  /** The time by which the node lives. */
  readonly clock: Clock;
  readonly serverUuid: string;
  /** The id of the store of the files, equal for all nodes that share it; `disk` for plain files. */
  readonly storeId: string;
  /** Whether the node can do its work: the parts that it needs and does not have. Does not reject. */
  readonly readiness: { missing(): Promise<readonly string[]> };
  /** The certificates that the server orders by itself. */
  readonly certificates: Pick<Certificates, "list" | "renew" | "set">;
  /** What is sent to webhooks. */
  readonly hooks: Pick<Hooks, "list" | "test" | "add" | "wake" | "wantsEvent" | "counts">;
  /** A certificate that ends soon, or has ended; undefined while all is well. */
  certificateState(): { readonly hasExpired: boolean; readonly expires: string } | undefined;
  /** How the backups go that the server makes by itself; undefined if it makes none. */
  backupState():
    | {
        readonly everyMs: number;
        readonly newestAtMs: number | undefined;
        readonly isFailing: boolean;
        readonly failures: number;
      }
    | undefined;
  /** The nodes that use the database. */
  readonly roster: Pick<Roster, "view" | "crashed">;
  /** What the nodes remember over a restart. */
  readonly memory: Pick<NodeMemory, "audit">;
  /** Milliseconds since the node was opened; changes of the system clock have no effect. */
  uptimeMs(): number;
  /** Whether a host name, in lower case, is the server's own, or is for S3. */
  isServerName(host: string): boolean;
  /** Where the server speaks S3 at present. */
  s3(): { readonly host: string | undefined; readonly listener: string | undefined };
  readonly tokens: Tokens;
  readonly sessions: Sessions;
  readonly secondFactors: SecondFactors;
  readonly agents: Agents;
  readonly buckets: Buckets;
  /** Signed links to files of buckets. */
  readonly links: Links;
  readonly database: Database;
  /** The present limits of the configuration. */
  limits(): { readonly maxAnswerBytes: number; readonly sqlTimeoutMs: number };
  readonly hub: LogHub;
  readonly metrics: Metrics;
  readonly ring: LogRing;
  /** The newest audit entries of this process, whatever the filters of the log are. */
  readonly auditRing: LogRing;
  readonly configFile: ConfigFile;
  /** Reads the configuration again and applies it, or logs why that failed. */
  reload(): Promise<unknown>;
  readonly updater: Updater;
  readonly latestRelease: Pick<LatestRelease, "state">;
  /** Restarts into the binary on the disk, after a delay and once the calls that run are done. */
  scheduleRestart(): void;
}
