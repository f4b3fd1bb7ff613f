import { AuditLog } from "./auth/audit-log.ts";
import { FailureLimiter } from "./auth/failure-limiter.ts";
import { BackendPart, BackendSlot } from "./backend.ts";
import { BackupSchedule } from "./backup/schedule.ts";
import { systemClock } from "./base/clock.ts";
import { clearLeftoversOf } from "./base/local-fs/replace-file.ts";
import { Turns } from "./base/turns.ts";
import { build, sourceProgram } from "./build.ts";
import { loadConsole } from "./bundle.ts";
import { Roster } from "./cluster/roster.ts";
import { ConfigFile, finishOverwrite } from "./config/config-file.ts";
import { overriddenKeys, readOverrides, sourceOf } from "./config/environment.ts";
import { LiveConfig, type Outcome, settingPart } from "./config/live.ts";
import { reportStart } from "./config/report-start.ts";
import { placesOf } from "./config/server-uuid.ts";
import { AccessLog } from "./http/access-log.ts";
import { Readiness } from "./http/health.ts";
import { newHttpDeps } from "./http/http-deps.ts";
import type { CloseReason } from "./http/jsonrpc/rpc-socket.ts";
import { DescriptorWatch } from "./http/listen/descriptor-watch.ts";
import { ListenerSlot } from "./http/listen/listener-slot.ts";
import { CertificateWatch } from "./http/listen/tls.ts";
import { auditTarget, parseFilter } from "./log/filter.ts";
import { LogHub } from "./log/hub.ts";
import { auditCapacity, LogRing } from "./log/ring.ts";
import { LogSinks } from "./log/sinks.ts";
import { methods } from "./methods/index.ts";
import type { Family } from "./metrics/family.ts";
import { openMetrics } from "./monitor/open-metrics.ts";
import { Recorders } from "./monitor/sources.ts";
import type { NodeOptions } from "./node-options.ts";
import { preflight } from "./preflight.ts";
import { inspectShared, shareOf } from "./process-group.ts";
import { Engine } from "./rpc/engine.ts";
import type { Services } from "./services.ts";
import {
  accessLogPart,
  backupsPart,
  clusterPart,
  limitSettings,
  listeningPart,
  loggingPart,
  noLimits,
  proxySettings,
  releaseSettings,
  tcpAddress,
  unixAddress,
} from "./settings.ts";
import { LatestRelease } from "./update/release.ts";
import { Updater, type UpdateSettings } from "./update/updater.ts";

/** Time between the answer to an update and the restart, for clients to get ready. */
const restartDelayMs = 3000;

export interface Node extends AsyncDisposable {
  readonly url: string;
  /** The address of the web console; undefined where it is not served. */
  readonly consoleUrl: string | undefined;
  readonly hub: LogHub;
  readonly ring: LogRing;
  /** The metrics of this process. */
  readonly families: readonly Family[];
  /** Makes one of several processes log where it listens: at once if that is new, and when it moves. */
  announce(options: { readonly isNew: boolean }): void;
  reload(): Promise<Outcome>;
  /**
   * Makes the node not ready from now on, for load balancers and in the list of nodes; it goes on serving. Returns for how many
   * more milliseconds it should (`drain_seconds`).
   */
  startDraining(): number;
  /** Waits, while serving, until no call runs; at most for a bounded time, and until `signal` fires. */
  drain(signal: AbortSignal): Promise<unknown>;
  /** Stops accepting, waits a bounded time for running calls, and closes everything. */
  close(why?: CloseReason): Promise<void>;
}

/** `openNode` is the only constructor: it opens every service in order, watches the configuration, and closes in reverse. */
export async function openNode(options: NodeOptions): Promise<Node> {
  const { group, clock = systemClock } = options;
  const openedAt = clock.monotonic();
  const overrides = readOverrides(options.env, { listen: options.listen });
  const hub = new LogHub(group && { process: group.number }, clock);
  const log = hub.logger("server");
  const ring = new LogRing(0, parseFilter("off"));
  const audit = new AuditLog(hub, clock);
  const auditRing = new LogRing(auditCapacity, parseFilter(`${auditTarget}=info`));
  const turns = new Turns();
  const recorders = new Recorders();
  let limits = noLimits;
  let drainMs = 0;
  let releases: UpdateSettings = { releaseUrl: undefined, publicKey: undefined };
  const installed = options.program?.installed ?? sourceProgram;
  const updater = new Updater(installed, () => releases, log);
  const latestRelease = new LatestRelease({
    current: installed.version,
    releaseUrl: () => releases.releaseUrl,
    stopping: updater.stopping,
    clock,
  });
  const uptimeMs = () => Math.floor(clock.monotonic() - openedAt);
  const backups = new BackupSchedule({ source: () => slot.backupSource, log, clock });
  const failures = new FailureLimiter(clock);
  const slot = new BackendSlot(clock);
  const backend = new BackendPart(slot, {
    configPath: options.configPath,
    env: options.env,
    show: options.show,
    hub,
    audit,
    failures,
    services: {
      clock,
      uptimeMs,
      roster: { view: () => roster.view() },
      hub,
      metrics: () => metrics,
      ring,
      auditRing,
      configFile: new ConfigFile(options.configPath, options.workingDirectory, overrides),
      reload: async () => {
        if ((await reload()) !== "refused") group?.reloadOthers();
      },
      updater,
      latestRelease,
      scheduleRestart: () => {
        const { program } = options;
        // Another process takes over from one of several before that one stops.
        const delayMs = group === undefined ? Math.max(restartDelayMs, drainMs) : restartDelayMs;
        log.event("server.restart_scheduled", "restart scheduled", { delay_ms: delayMs });
        if (program === undefined) return;
        if (group === undefined) startDraining();
        clock.after(delayMs, () => program.restart());
      },
    },
    maxResponseBytes: () => limits.maxResponseBytes,
    backups,
    onMigrationBackup: options.program?.onMigrationBackup,
    onTokensChanged: () => void engine.recheck(),
    passwordCost: options.passwordCost,
    observers: recorders.statements,
  });
  const acquire = () => slot.acquire();
  const live = new LiveConfig({
    path: options.configPath,
    hub,
    inspect: preflight(options.configPath, group && inspectShared),
    overrides,
    share: group && ((config) => shareOf(config, group)),
  });
  let certificates: CertificateWatch | undefined;
  const startDraining = () => {
    readiness.startDraining();
    roster.refresh();
    return Math.max(0, drainMs - readiness.drainingMs);
  };
  const reload = async () => {
    const outcome = await live.reload();
    certificates?.check();
    roster.refresh();
    return outcome;
  };
  const readiness = new Readiness({ acquire, log, clock });
  const roster = new Roster({
    ...options.cluster,
    boot: options.cluster?.boot ?? crypto.randomUUID(),
    version: build.cargo_version,
    uptimeMs,
    acquire: () => {
      const { services, release } = acquire();
      return { rows: services.database.nodes, uuid: services.serverUuid, files: services.storeId, release };
    },
    isReady: () => readiness.isReady(),
    listenerUrl: () => tcp.url,
    log,
    clock,
  });
  const engine = new Engine<Services>({
    methods: { ...methods, ...options.extraMethods },
    hub,
    audit,
    maxResponseBytes: () => limits.maxResponseBytes,
    turns,
    clock,
    acquire,
    onCall: (method, outcome, startedAt) => recorders.calls.ended(method, outcome, startedAt),
  });
  const httpDeps = newHttpDeps({
    limits: () => limits,
    engine,
    acquire,
    records: () => slot.services.buckets.records,
    audit,
    clock,
    turns,
    traffic: recorders.traffic,
    health: {
      version: build.cargo_version,
      uptimeMs,
      readiness,
      warnings: () => roster.warnings.map(({ event }) => event),
    },
    loadConsole: options.loadConsole ?? loadConsole,
    log,
  });
  const { addresses, observers, memory, jsonRpc, static: files } = httpDeps;
  observers.attach(recorders.requests);
  let isAnnounced = group === undefined;
  const listening = (key: string) => ({
    limits: () => limits,
    log,
    addressFrom: sourceOf(overrides, key),
    takesOver: group?.takesOver,
    isAnnounced: () => isAnnounced,
  });
  const tcp = new ListenerSlot(httpDeps, listening("ws_listener"));
  const unix = new ListenerSlot(httpDeps, listening("unix_socket_path"));

  const metrics = openMetrics({
    recorders,
    hub,
    listeners: [tcp, unix],
    connections: jsonRpc.connections,
    maxConnections: () => limits.maxConnections,
    memory,
    maxClientBytes: () => limits.clientBytes,
    cache: files.cache,
    readiness,
    failedSignIns: () => failures.total,
    services: () => slot.services,
    siblings: group,
    clock,
  });

  const limitsPart = settingPart("limits", limitSettings, (slice) => {
    limits = slice;
    tcp.applyLimits();
    unix.applyLimits();
  });
  const proxiesPart = settingPart("trusted proxies", proxySettings, (slice) => addresses.apply(slice));
  const releasesPart = settingPart("releases", releaseSettings, (slice) => {
    releases = slice;
  });

  hub.attach(auditRing);

  const sinks = new LogSinks(hub, ring, group?.relay);
  const accessLog = new AccessLog({
    observers,
    addresses,
    rootBucket: (host) => slot.services.buckets.records.rootName(host),
    log,
    clock,
    isShared: group !== undefined,
  });
  const nodePart = clusterPart(roster, (slice) => {
    drainMs = slice.drainMs;
  });

  const parts = [
    limitsPart,
    proxiesPart,
    releasesPart,
    loggingPart(sinks, { audit, rustLog: options.env.RUST_LOG }),
    backupsPart(backups),
    accessLogPart(accessLog),
    backend,
    listeningPart("listener", tcp, tcpAddress),
    listeningPart("unix socket", unix, unixAddress),
    nodePart,
  ];
  const finished = await finishOverwrite(options.configPath, overrides);
  const ownFiles = [options.configPath, ...placesOf(options.configPath, undefined)];
  const leftovers = await clearLeftoversOf(ownFiles, clock);
  const { config, overrides: overridesAtStart } = await live.open(parts);
  backups.start();
  metrics.start();
  await roster.settled();
  const descriptors = new DescriptorWatch([tcp, unix], log, clock);
  certificates = new CertificateWatch(() => tcp.certificateExpiresAtMs, log, clock);
  const close = async (why: CloseReason = "stop") => {
    startDraining();
    leftovers[Symbol.dispose]();
    descriptors[Symbol.dispose]();
    certificates?.[Symbol.dispose]();
    metrics.close();
    tcp.stopAccepting(why);
    unix.stopAccepting(why);
    const backedUp = backups.close();
    // A call that waits for a download would delay the closing of the listeners.
    await updater.close();
    await backedUp;
    await live.close();
  };
  const overridden = overriddenKeys(overridesAtStart, config, options.env);
  reportStart(log, options.configPath, { overridden, finished });
  return {
    hub,
    ring,
    get url() {
      return tcp.url ?? "";
    },
    get consoleUrl() {
      return tcp.url !== undefined && limits.console ? `${tcp.url}/node/console/` : undefined;
    },
    families: metrics.families,
    announce({ isNew }) {
      isAnnounced = true;
      if (!isNew) return;
      tcp.announce();
      unix.announce();
    },
    reload,
    startDraining,
    drain: (signal) => Promise.all([tcp.drain(signal), unix.drain(signal)]),
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}
