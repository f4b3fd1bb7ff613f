import type { PasswordCost } from "./auth/passwords.ts";
import type { SuperCredentials } from "./auth/super-token.ts";
import type { Clock } from "./base/clock.ts";
import type { ConsoleFiles } from "./bundle.ts";
import type { ProcessGroup } from "./process-group.ts";
import type { MethodTable } from "./rpc/method.ts";
import type { Services } from "./services.ts";
import type { InstalledProgram } from "./update/updater.ts";

/** NodeOptions are what a node is opened with, beside its configuration. */
export interface NodeOptions {
  readonly configPath: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Takes the place of `ws_listener`, for this run. */
  readonly listen?: string | undefined;
  /** Receives the Super Token's credentials if this start created them; they go nowhere else. */
  readonly show: (credentials: SuperCredentials) => void;
  /** Callers may read and rewrite a configuration below this folder only. */
  readonly workingDirectory: string;
  /** The program that can be updated; `restart` closes the node and executes the binary on the disk. */
  readonly program?: {
    readonly installed: InstalledProgram;
    restart(): void;
    /** Receives the path of a copy of the database that was made before a migration. */
    onMigrationBackup?(path: string): Promise<void>;
  };
  /** The other processes of the server, if it has several. */
  readonly group?: ProcessGroup | undefined;
  /** What tells this process apart from others on the same database. */
  readonly cluster?: {
    /** The same for all processes of one node; by default new. */
    readonly boot?: string;
    /** The number of this process, if the node has several. */
    readonly process?: number;
  };
  /** Methods in addition to the product's own. */
  readonly extraMethods?: MethodTable<Services>;
  /** Loads the web console's files; by default from the binary or the source. */
  readonly loadConsole?: () => Promise<ConsoleFiles>;
  /** Cost of hashes of new passwords; by default one that takes 50 ms of a core. */
  readonly passwordCost?: PasswordCost;
  /** Finds where a host name leads; by default the DNS does. */
  readonly reach?: ((name: string) => Promise<string>) | undefined;
  /** The time by which the node lives; by default the system's. */
  readonly clock?: Clock;
}
