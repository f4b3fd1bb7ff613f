// The backend is what a reload may replace as a whole: database, buckets, links, tokens. It closes once its last call
// has ended.

import { resolve } from "node:path";
import { Agents } from "./agents/agents.ts";
import type { AuditLog } from "./auth/audit-log.ts";
import { Authenticator } from "./auth/authenticator.ts";
import { S3Secrets } from "./auth/credentials.ts";
import type { FailureLimiter } from "./auth/failure-limiter.ts";
import { type PasswordCost, Passwords } from "./auth/passwords.ts";
import { SecondFactors } from "./auth/second-factor.ts";
import { Sessions } from "./auth/sessions.ts";
import { ensureSuperToken, type SuperCredentials, superTokenRolls } from "./auth/super-token.ts";
import { TokenUses } from "./auth/token-uses.ts";
import { Tokens } from "./auth/tokens.ts";
import type { BackupSource } from "./backup/make-backup.ts";
import { type BackupSchedule, copyBeforeMigration } from "./backup/schedule.ts";
import type { Clock } from "./base/clock.ts";
import { RefCounted } from "./base/concurrency.ts";
import { shownDatabase } from "./base/database-url.ts";
import type { Task } from "./base/task.ts";
import { Buckets } from "./buckets/buckets.ts";
import type { FileChange, Outbox } from "./buckets/events.ts";
import { checkLocations } from "./buckets/maintenance/store-identity.ts";
import { openStorage } from "./buckets/open-storage.ts";
import type { Part, PreparedChange } from "./config/live.ts";
import { resolveLinkKey, resolveServerUuid } from "./config/server-uuid.ts";
import {
  type Database,
  databaseFile,
  notMade,
  openDatabase,
  requireFile,
  type StatementObservers,
} from "./db/database.ts";
import { Freshness } from "./db/freshness.ts";
import type { Topic } from "./db/postgres/notifications.ts";
import { ServerLock } from "./db/sqlite/sqlite-lock.ts";
import type { Hooks, NewEvent } from "./hooks/hooks.ts";
import { Links } from "./links/links.ts";
import type { Logger, LogHub } from "./log/hub.ts";
import type { Lease } from "./rpc/method.ts";
import type { Services } from "./services.ts";
import { type BackendSettings, backendSettings, filesSource, storageSettings } from "./settings.ts";

/** The least time that a replaced database stays open for the calls that began on it. */
const drainTimeoutMs = 30_000;
/** Short, because the listeners have already waited for their calls when the server stops. */
const shutdownTimeoutMs = 1000;

/** Backend is the database and the services of one configuration. A reload that changes their settings replaces it as a whole. */
interface Backend {
  readonly database: Database;
  readonly services: Services;
  readonly authenticator: Authenticator;
  readonly tokenUses: TokenUses;
  readonly rolls: Task;
  readonly settings: BackendSettings;
  /** What a backup of the database and its buckets is made of. */
  readonly backupSource: BackedUp;
  /** The longest time that the configuration allows a call. */
  readonly maxCallMs: number;
}

type BackedUp = BackupSource & { readonly serverUuid: string };

/** OpenedBackend is what a backend is made of. */
interface OpenedBackend {
  readonly settings: BackendSettings;
  readonly serverUuid: string;
  readonly storeId: string;
  readonly database: Database;
  readonly buckets: Buckets;
  readonly links: Links;
  readonly s3Secrets: S3Secrets;
  readonly secondFactors: SecondFactors;
}

type ServicesOfBackend =
  | "serverUuid"
  | "storeId"
  | "sessions"
  | "secondFactors"
  | "tokens"
  | "agents"
  | "buckets"
  | "links"
  | "database"
  | "limits";

/** LastingServices are those that outlive a backend. */
export type LastingServices = Omit<Services, ServicesOfBackend>;

interface BackendOptions {
  readonly configPath: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Receives the Super Token's credentials if this start created them. */
  readonly show: (credentials: SuperCredentials) => void;
  readonly hub: LogHub;
  readonly audit: AuditLog;
  /** Counts rejected credentials. A reload must not reset it. */
  readonly failures: FailureLimiter;
  readonly services: LastingServices;
  readonly maxResponseBytes: () => number;
  readonly backups: Pick<BackupSchedule, "settings">;
  readonly hooks: Hooks;
  /** Receives the path of a copy that was made before a migration. */
  readonly onMigrationBackup: ((path: string) => Promise<void>) | undefined;
  /** Called when tokens were changed or deleted, by this node or, as far as it is told, by another. */
  readonly onTokensChanged: () => void;
  /** Called when another node has stored a certificate, or the host names of buckets may have changed. */
  readonly onCertificatesChanged: () => void;
  readonly passwordCost: PasswordCost | undefined;
  readonly observers: StatementObservers;
}

/**
 * BackendSlot holds the backend of the present configuration. It is made empty, before the parts that use it; BackendPart fills
 * it.
 */
export class BackendSlot {
  readonly #clock: Clock;
  readonly #retiring = new Set<Promise<void>>();
  #current: RefCounted<Backend> | undefined;
  /** The backend that a reload under way has opened, for the parts that prepare after it. */
  upcoming: Backend | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the present services, kept open until the lease is released. */
  acquire(): Lease<Services> {
    const backend = this.#filled();
    backend.retain();
    const { services, authenticator } = backend.value;
    return { services, authenticator, release: () => backend.release() };
  }

  /** The present services, for answers that need no waiting. */
  get services(): Services {
    return this.#filled().value.services;
  }

  /** backupSource returns the present database and its buckets, for a backup. */
  get backupSource(): BackedUp {
    return this.#filled().value.backupSource;
  }

  /** The present backend; undefined before the first one is open. */
  get present(): Backend | undefined {
    return this.#current?.value;
  }

  /** Puts `next` in force. The backend before is closed once its last call has ended. */
  replace(next: Backend): void {
    // A statement of exec_sql may run as long as the settings allowed when it began.
    if (this.#current !== undefined)
      this.#retire(this.#current, Math.max(drainTimeoutMs, this.#current.value.maxCallMs));
    this.#current = new RefCounted(next);
  }

  async close(): Promise<void> {
    // A call, such as a rename onto another disk, continues when its connection is closed.
    this.#current?.value.services.buckets.storage.stopCopies();
    if (this.#current !== undefined) this.#retire(this.#current, shutdownTimeoutMs);
    await Promise.all(this.#retiring);
  }

  #filled(): RefCounted<Backend> {
    if (this.#current === undefined) throw new TypeError("a call came before the services were open");
    return this.#current;
  }

  #retire(backend: RefCounted<Backend>, timeoutMs: number): void {
    const closed = backend.value.services.buckets.close();
    this.#retiring.add(this.#closeWhenIdle(backend, closed, timeoutMs));
  }

  async #closeWhenIdle(
    backend: RefCounted<Backend>,
    bucketsClosed: Promise<void>,
    timeoutMs: number,
  ): Promise<void> {
    await backend.idle(timeoutMs, this.#clock);
    await bucketsClosed;
    await backend.value.rolls.close();
    await backend.value.tokenUses.close();
    await backend.value.database.close();
  }
}

/** BackendPart opens a backend for each configuration and puts it into the slot. */
export class BackendPart implements Part<BackendSettings> {
  readonly name = "database";
  readonly slice = backendSettings;
  readonly #slot: BackendSlot;
  readonly #options: BackendOptions;
  readonly #log: Logger;
  // They outlive a reload, which must not forget verified passwords.
  readonly #passwords: Passwords;
  readonly #lock = new ServerLock();

  constructor(slot: BackendSlot, options: BackendOptions) {
    this.#slot = slot;
    this.#options = options;
    this.#log = options.hub.logger("server");
    this.#passwords = new Passwords(options.services.clock);
  }

  async prepare(settings: BackendSettings): Promise<PreparedChange> {
    const file = databaseFile(settings.database.database_url);
    if (this.#slot.present !== undefined) requireFile(settings.database);
    const lock = await this.#lock.prepare(file);
    try {
      const next = await this.#open(settings, file);
      this.#slot.upcoming = next;
      return {
        commit: () => {
          this.#slot.upcoming = undefined;
          this.#replaceWith(next);
          lock.commit();
          this.#log.event("database.opened", "database opened", {
            config: resolve(this.#options.configPath),
            database: shownDatabase(settings.database.database_url),
            static_path: settings.static_path,
            files: settings.files.url,
          });
        },
        discard: async () => {
          this.#slot.upcoming = undefined;
          await next.services.buckets.close();
          await next.database.close();
          lock.discard();
        },
      };
    } catch (error) {
      lock.discard();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#slot.close();
    this.#lock.close();
  }

  async #open(settings: BackendSettings, file: string | undefined): Promise<Backend> {
    const { hub, configPath, passwordCost, observers, services } = this.#options;
    const serverUuid = await resolveServerUuid(settings.server_uuid, configPath, file);
    const { link_key_file: setting } = settings;
    const linkKey = await resolveLinkKey({ setting, configPath, databaseFile: file });
    const database = await openDatabase(settings.database, hub, {
      create: this.#slot.present === undefined,
      beforeMigration: this.#beforeMigration(settings, serverUuid),
      serverUuid,
      observers,
      clock: services.clock,
    });
    const buckets = await this.#openBuckets(database, settings, serverUuid);
    try {
      const storeId = await this.#verify(database, buckets, settings);
      const links = new Links(database, { passwordCost, key: linkKey, serverUuid, log: this.#log });
      await links.examine();
      const s3Secrets = new S3Secrets(linkKey);
      const { clock } = this.#options.services;
      const secondFactors = new SecondFactors(database, { clock, linkKey });
      return this.#assemble({
        settings,
        serverUuid,
        storeId,
        database,
        buckets,
        links,
        s3Secrets,
        secondFactors,
      });
    } catch (error) {
      const named = await database.namingDamage(error);
      await buckets.close();
      await database.close();
      throw named;
    }
  }

  /** Closes the database if the store of the files cannot be used. */
  async #openBuckets(database: Database, settings: BackendSettings, serverUuid: string): Promise<Buckets> {
    const freshness = new Freshness(database, settings.database.stale_seconds * 1000);
    const shared = { freshness, log: this.#log };
    try {
      const storage = await openStorage(database, { ...storageSettings(settings), serverUuid, ...shared });
      return new Buckets(database, {
        storage,
        ...shared,
        keepDeploys: settings.keep_deploys,
        outbox: outboxOf(database, this.#options.hooks),
        onHostsChanged: this.#options.onCertificatesChanged,
      });
    } catch (error) {
      const named = await database.namingDamage(error);
      await database.close();
      throw named;
    }
  }

  /** Checks that the database and the store belong together and can be used. Returns the id of the store. */
  async #verify(database: Database, buckets: Buckets, settings: BackendSettings): Promise<string> {
    const { present } = this.#slot;
    const { url } = settings.files;
    const isOtherStore = present === undefined || present.settings.files.url !== url;
    // Before a Super Token is created in a database that is not the right one.
    const storeId = isOtherStore ? await buckets.storage.verifyIdentity() : present.services.storeId;
    await this.#requireSuperToken(database, settings);
    await buckets.storage.health.check();
    if (isOtherStore)
      await checkLocations(buckets, { url, previous: present?.services.buckets, log: this.#log });
    if (present === undefined) await this.#clearStore(buckets);
    return storeId;
  }

  /** Makes the services of what is open. */
  #assemble(opened: OpenedBackend): Backend {
    const { settings, serverUuid, storeId, database, buckets, links, s3Secrets, secondFactors } = opened;
    const { hub, audit, configPath, services, passwordCost, failures } = this.#options;
    const { maxResponseBytes, onTokensChanged } = this.#options;
    const { clock } = services;
    const onChanged = () => {
      onTokensChanged();
      database.notifications.send("tokens");
    };
    const sessions = new Sessions(database, { clock, onChanged });
    const uses = new TokenUses(database.tokenUses, { log: hub.logger("token"), clock });
    const sqlTimeoutMs = settings.database.sql_timeout_ms;
    return {
      database,
      settings,
      services: {
        ...services,
        serverUuid,
        storeId,
        sessions,
        secondFactors,
        tokens: new Tokens(database, { uses, s3Secrets, onChanged, passwordCost }),
        agents: new Agents(database),
        buckets,
        links,
        database,
        limits: () => ({ maxAnswerBytes: maxResponseBytes(), sqlTimeoutMs }),
      },
      authenticator: new Authenticator({
        database,
        passwords: this.#passwords,
        failures,
        hub,
        uses,
        audit,
        s3Secrets,
        sessions,
        secondFactors,
        clock,
      }),
      tokenUses: uses,
      rolls: superTokenRolls({ kv: database.kv, audit, log: hub.logger("token"), clock }),
      backupSource: {
        database: settings.database,
        configPath: resolve(configPath),
        serverUuid,
        files: filesSource(settings),
      },
      maxCallMs: sqlTimeoutMs + 5000,
    };
  }

  #beforeMigration({ database }: BackendSettings, serverUuid: string) {
    const { configPath, backups, onMigrationBackup: onMade } = this.#options;
    const { settings } = backups;
    if (!settings?.beforeMigration) return undefined;
    return copyBeforeMigration({
      source: { database, configPath: resolve(configPath), serverUuid },
      folder: settings.folder,
      log: this.#log,
      ...(onMade && { onMade }),
    });
  }

  /**
   * Creates the Super Token at a start. A reload creates none: it would revoke every token in use, and its output may be a journal.
   */
  async #requireSuperToken(database: Database, settings: BackendSettings): Promise<void> {
    const { env, show, passwordCost } = this.#options;
    if (this.#slot.present === undefined)
      await ensureSuperToken(database, env, { show, log: this.#log, passwordCost });
    else if ((await database.tokens.superToken()) === undefined)
      throw notMade(settings.database, "has no Super Token");
  }

  /** Removes what interrupted uploads left. Only at a start: later there may be uploads in progress. */
  async #clearStore(buckets: Buckets): Promise<void> {
    const failures = await buckets.clearStore();
    if (failures.length > 0)
      this.#log.warn("files of interrupted changes cannot be removed", {
        stayed: failures.join("; "),
      });
  }

  #replaceWith(next: Backend): void {
    this.#slot.replace(next);
    next.rolls.start();
    next.services.buckets.start();
    const { buckets } = next.services;
    const heard = (topic: Topic) => {
      if (topic === "tokens") this.#options.onTokensChanged();
      else if (topic === "certificates") this.#options.onCertificatesChanged();
      else buckets.records.poll.soon();
    };
    next.database.notifications.listen(heard, (message) => buckets.events.hear(message));
  }
}

/** `outboxOf` queues what changes in buckets for webhooks. */
function outboxOf(database: Database, hooks: Hooks): Outbox {
  return {
    wants: (bucket) => hooks.wants(bucket),
    add: (bucket, changes, transaction) =>
      hooks.add(
        database,
        changes.map((change) => toEvent(bucket, change)),
        { bucket, transaction },
      ),
    wake: () => hooks.wake(),
  };
}

function toEvent(bucket: string, { event, path, from, folder, deploy, by }: FileChange): NewEvent {
  if (event === "published") return { type: "deploy.published", data: { bucket, deploy, by } };
  return { type: `file.${event}`, data: { bucket, path, from, folder, by } };
}
