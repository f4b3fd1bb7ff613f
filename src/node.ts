import { resolve } from "node:path";
import { Agents } from "./agents/agents.ts";
import { Authenticator } from "./auth/authenticator.ts";
import { FailureLimiter } from "./auth/failure-limiter.ts";
import { Passwords } from "./auth/passwords.ts";
import { ensureSuperToken, type SuperCredentials } from "./auth/super-token.ts";
import { Tokens } from "./auth/tokens.ts";
import { shownDatabase } from "./base/database-url.ts";
import { clearLeftoversOf } from "./base/leftovers.ts";
import { MemoryBudget } from "./base/memory-budget.ts";
import { RefCounted } from "./base/ref-counted.ts";
import { Turns } from "./base/turns.ts";
import { Buckets } from "./buckets/buckets.ts";
import { sourceProgram } from "./build.ts";
import { type ConsoleFiles, loadConsole } from "./bundle.ts";
import { ConfigFile, finishOverwrite } from "./config/edit.ts";
import { keptPart, LiveConfig, type Outcome, type Part } from "./config/live.ts";
import { explainTargets } from "./config/parse.ts";
import { placesOf, resolveServerUuid } from "./config/server-uuid.ts";
import { type Database, databaseFile, notMade, openDatabase, requireFile } from "./db/database.ts";
import { ServerLock } from "./db/server-lock.ts";
import { Compression } from "./http/compression.ts";
import { Console } from "./http/console.ts";
import { ContentBudget } from "./http/content-budget.ts";
import { DescriptorWatch } from "./http/descriptor-watch.ts";
import { HotFiles } from "./http/hot-files.ts";
import { Listening } from "./http/listening.ts";
import { idleSeconds, type SharedDoors } from "./http/routes.ts";
import { Delays, Slots } from "./http/slots.ts";
import type { Goodbye } from "./http/socket.ts";
import { parseFilter } from "./log/filter.ts";
import { LogHub } from "./log/hub.ts";
import { LogRing } from "./log/ring.ts";
import { LogSinks, type SinkSettings } from "./log/sinks.ts";
import { methods } from "./methods/index.ts";
import { preflight } from "./preflight.ts";
import { Engine, type Loan } from "./rpc/engine.ts";
import type { MethodTable } from "./rpc/method.ts";
import type { Services } from "./services.ts";
import {
  type FloorSlice,
  floorIn,
  limitsIn,
  listeningPart,
  noLimits,
  releasesIn,
  sinkSettings,
  tcpPlace,
  unixPlace,
} from "./slices.ts";
import { type Installed, Updater, type UpdateSettings } from "./update/updater.ts";

/** How long an old database stays open, at the least, for calls that began on it. */
const patienceMs = 30_000;
/** The same when the server stops: its listeners have waited for their calls already. */
const lastPatienceMs = 1000;

export interface NodeOptions {
  readonly configPath: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Receives the Super Token's credentials when this start made them; they go nowhere else. */
  readonly show: (credentials: SuperCredentials) => void;
  /** Callers may read and rewrite a configuration below this folder only. */
  readonly workingDirectory: string;
  /** The program that can be updated, and what makes it close the node and become the binary that is on the disk. */
  readonly program?: { readonly installed: Installed; restart(): void };
  /** Methods beside the product's own. */
  readonly extraMethods?: MethodTable<Services>;
  /** Where the web console's files come from, when somebody has them already. */
  readonly loadConsole?: () => Promise<ConsoleFiles>;
}

export interface Node extends AsyncDisposable {
  readonly url: string;
  readonly hub: LogHub;
  readonly ring: LogRing;
  reload(): Promise<Outcome>;
  /** Waits, while serving, until no call runs; within bounds, and until `signal` fires. */
  drain(signal: AbortSignal): Promise<unknown>;
  /** Stops accepting, finishes what runs within bounds, closes the database. */
  close(why?: Goodbye): Promise<void>;
}

/** What depends on the database and is replaced with it. */
interface Floor {
  readonly database: Database;
  readonly services: Services;
  readonly door: Authenticator;
  /** How long a call may take that the configuration sets a limit for. */
  readonly longestCallMs: number;
}

/** The only constructor of the house: opens every service in order, watches the configuration, closes in reverse. */
export async function openNode(options: NodeOptions): Promise<Node> {
  const openedAt = performance.now();
  const hub = new LogHub();
  const log = hub.logger("server");
  const passwords = new Passwords();
  const failures = new FailureLimiter();
  const ring = new LogRing(0, parseFilter("off"));
  let limits = noLimits;
  const configFile = new ConfigFile(options.configPath, options.workingDirectory);
  let floor: RefCounted<Floor> | undefined;

  const standing = (): RefCounted<Floor> => {
    if (floor === undefined) throw new TypeError("a call came before the services were open");
    return floor;
  };
  const borrow = (): Loan<Services> => {
    const current = standing();
    current.retain();
    return { services: current.value.services, door: current.value.door, release: () => current.release() };
  };
  const turns = new Turns();
  const engine = new Engine<Services>({
    methods: { ...methods, ...options.extraMethods },
    hub,
    maxResponseBytes: () => limits.maxResponseBytes,
    turns,
    borrow,
  });
  const contentBudget = new ContentBudget(idleSeconds * 1000);
  const doors: SharedDoors = {
    jsonRpc: {
      engine,
      slots: new Slots(() => limits.maxConnections),
      memory: new MemoryBudget(() => limits.clientBytes),
      delays: new Delays(1000),
      maxRequestBytes: () => limits.maxRequestBytes,
    },
    turns,
    // Bun takes in up to a megabyte of the body of each.
    delays: new Delays(64),
    borrow,
    buckets: () => standing().value.services.buckets,
    hot: new HotFiles(() => limits.hotBytes),
    compression: new Compression(contentBudget),
    contentBudget,
    maxUploadBytes: () => limits.maxUploadBytes,
    console: new Console(() => limits.console, options.loadConsole ?? loadConsole, log),
  };
  let releases: UpdateSettings = { releaseUrl: undefined, publicKey: undefined };
  const updater = new Updater(options.program?.installed ?? sourceProgram, () => releases, log);
  const tcp = new Listening(doors, () => limits, log);
  const unix = new Listening(doors, () => limits, log);

  const limitsPart = keptPart("limits", limitsIn, (slice) => {
    limits = slice;
    tcp.limit();
    unix.limit();
  });
  const releasesPart = keptPart("releases", releasesIn, (slice) => {
    releases = slice;
  });

  const lock = new ServerLock();
  const retiring = new Set<Promise<void>>();
  const databasePart: Part<FloorSlice> = {
    name: "database",
    slice: floorIn,
    async prepare({ database: settings, server_uuid, static_path, sync_uploads }) {
      const file = databaseFile(settings.database_url);
      const isStart = floor === undefined;
      if (!isStart) requireFile(settings);
      const claim = await lock.prepare(file);
      try {
        const serverUuid = await resolveServerUuid(server_uuid, options.configPath, file);
        const database = await openDatabase(settings, hub, { create: isStart });
        try {
          if (isStart) await ensureSuperToken(database, options.env, { show: options.show, log });
          // A reload makes no Super Token: it would end every token in use, and its output may be a journal.
          else if ((await database.tokens.superToken()) === undefined)
            throw notMade(settings, "has no Super Token");
        } catch (error) {
          await database.close();
          throw error;
        }
        const buckets = new Buckets(database, {
          staticPath: static_path,
          syncUploads: sync_uploads,
          serverUuid,
          staleSeconds: settings.stale_seconds,
        });
        // Only at the start: later there may be uploads under way.
        const stayed = isStart ? await buckets.clearStaging() : [];
        if (stayed.length > 0)
          log.warn("remains of changes that were cut short cannot be removed", { stayed: stayed.join("; ") });
        const next = new RefCounted<Floor>({
          database,
          services: {
            serverUuid,
            uptimeMs: () => Math.floor(performance.now() - openedAt),
            tokens: new Tokens(database, () => void engine.recheck()),
            agents: new Agents(database),
            buckets,
            database,
            limits: () => ({
              maxAnswerBytes: limits.maxResponseBytes,
              sqlTimeoutMs: settings.sql_timeout_ms,
            }),
            hub,
            ring,
            configFile,
            reload: () => live.reload(),
            updater,
            restart: () => options.program?.restart(),
          },
          door: new Authenticator({ database, passwords, failures, hub }),
          longestCallMs: settings.sql_timeout_ms + 5000,
        });
        return {
          commit: () => {
            // An operator's statement may run as long as it was allowed to when it began.
            const patience = Math.max(patienceMs, floor?.value.longestCallMs ?? 0);
            if (floor !== undefined) retiring.add(retire(floor, patience));
            floor = next;
            claim.commit();
            log.info("database opened", {
              config: resolve(options.configPath),
              database: shownDatabase(settings.database_url),
              static_path: resolve(static_path),
            });
          },
          discard: async () => {
            await database.close();
            claim.discard();
          },
        };
      } catch (error) {
        claim.discard();
        throw error;
      }
    },
    async close() {
      // Bun aborts no request's signal when it drops its connection at the stop.
      floor?.value.services.buckets.stopCopies();
      if (floor !== undefined) retiring.add(retire(floor, lastPatienceMs));
      await Promise.all(retiring);
      lock.close();
    },
  };

  const sinks = new LogSinks(hub, ring);
  const loggingPart: Part<SinkSettings> = {
    name: "logging",
    slice: (config) => sinkSettings(config, options.env.RUST_LOG),
    prepare: async (slice) => sinks.prepare(slice),
    refresh: () => sinks.reopen(),
    close: () => sinks.close(),
  };

  const parts = [
    limitsPart,
    releasesPart,
    loggingPart,
    databasePart,
    listeningPart("listener", tcp, tcpPlace),
    listeningPart("unix socket", unix, unixPlace),
  ];
  const finished = await finishOverwrite(options.configPath);
  const leftovers = await clearLeftoversOf([options.configPath, ...placesOf(options.configPath, undefined)]);
  const live = await LiveConfig.open({
    path: options.configPath,
    hub,
    parts,
    inspect: preflight(options.configPath),
  });
  const descriptors = new DescriptorWatch([tcp, unix], log);
  const close = async (why: Goodbye = "stop") => {
    leftovers[Symbol.dispose]();
    descriptors[Symbol.dispose]();
    tcp.stopAccepting(why);
    unix.stopAccepting(why);
    // The call that waits for a download would hold up the listeners.
    await updater.close();
    await live.close();
  };
  const odd = options.env.RUST_LOG ? explainTargets(parseFilter(options.env.RUST_LOG)) : undefined;
  if (odd !== undefined) hub.warnUnfiltered("server", `RUST_LOG ${odd}`, {});
  if (finished)
    log.warn("an edit of the configuration that was cut short has been finished", {
      path: options.configPath,
    });
  return {
    hub,
    ring,
    get url() {
      return tcp.url ?? "";
    },
    reload: () => live.reload(),
    drain: (signal) => Promise.all([tcp.drain(signal), unix.drain(signal)]),
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}

async function retire(floor: RefCounted<Floor>, patience: number): Promise<void> {
  await floor.idle(patience);
  await floor.value.database.close();
}
