// openNode puts a server together: log, listeners, services, background tasks. It restarts into an update three seconds
// after the answer (`scheduleRestart`), and applies each reload to all parts or to none.

import { AuditLog } from "./auth/audit-log.ts";
import { FailureLimiter } from "./auth/failure-limiter.ts";
import { BackendPart, BackendSlot, type LastingServices } from "./backend.ts";
import { BackupSchedule } from "./backup/schedule.ts";
import { systemClock } from "./base/clock.ts";
import { clearLeftoversOf } from "./base/local-fs/replace-file.ts";
import { Turns } from "./base/turns.ts";
import { build, sourceProgram } from "./build.ts";
import { loadConsole } from "./bundle.ts";
import { Certificates } from "./certs/certificates.ts";
import { NodeMemory } from "./cluster/memory.ts";
import { Roster } from "./cluster/roster.ts";
import { ConfigFile, finishOverwrite } from "./config/config-file.ts";
import { overriddenKeys, readOverrides, sourceOf } from "./config/environment.ts";
import { LiveConfig, type Outcome, type Part, reportStart, settingPart } from "./config/live.ts";
import { pathsBeside } from "./config/server-uuid.ts";
import { Hooks } from "./hooks/hooks.ts";
import { AccessLog } from "./http/access-log.ts";
import { Readiness } from "./http/health.ts";
import type { CloseReason } from "./http/jsonrpc/rpc-socket.ts";
import { DescriptorWatch } from "./http/listen/descriptor-watch.ts";
import { ListenerSlot } from "./http/listen/listener-slot.ts";
import { certificateCheck, certificateState } from "./http/listen/tls.ts";
import { isS3Host, type S3Settings } from "./http/request/host-name.ts";
import { type HttpDeps, newHttpDeps } from "./http/routes.ts";
import { auditTarget, parseFilter } from "./log/filter.ts";
import { LogHub } from "./log/hub.ts";
import { auditCapacity, LogRing } from "./log/ring.ts";
import { LogSinks } from "./log/sinks.ts";
import { methods } from "./methods/index.ts";
import type { Family } from "./metrics/family.ts";
import type { Metrics } from "./metrics/metrics.ts";
import { openMetrics } from "./monitor/open-metrics.ts";
import { Recorders } from "./monitor/sources.ts";
import { VerdictWatch } from "./monitor/verdict-watch.ts";
import type { NodeOptions } from "./node-options.ts";
import { preflight } from "./preflight.ts";
import { inspectShared, shareOf } from "./process-group.ts";
import { Engine } from "./rpc/engine.ts";
import type { Services } from "./services.ts";
import {
  accessLogPart,
  backupsPart,
  certificatesPart,
  clusterPart,
  hooksPart,
  type Limits,
  limitSettings,
  listeningPart,
  loggingPart,
  memoryPart,
  noLimits,
  proxySettings,
  redirectAddress,
  releaseSettings,
  s3Address,
  s3Settings,
  serverNames,
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

/**
 * `openNode` opens a node, and is the only constructor. It makes each part with those that it uses, opens them as `partsOf` lists
 * them, and then starts what works by itself. `closeNode` ends that, then everything else in reverse.
 */
export async function openNode(options: NodeOptions): Promise<Node> {
  const core = newCore(options);
  const backend = new BackendSlot(core.clock);
  const cluster = newCluster(core, backend);
  const http = newHttp(core, { backend, cluster });
  const certificates: Certificates = newCertificates(core, backend, () => listeners);
  const listeners = new Listeners(core, http.deps, certificates);
  const hooks = newHooks(core, backend);
  cluster.roster.advertise(listeners.tcp);
  const metrics = newMetrics(core, { backend, cluster, http, listeners });
  const verdict = newVerdictWatch(core, { backend, cluster });
  const memory = newMemory(core, { backend, cluster, metrics });
  const background = newBackground(core, listeners);
  const live = newLiveConfig(core);
  const control = newControl(core, { live, cluster, background });
  const services = { backend, cluster, certificates, hooks, http, listeners };
  const made = { ...services, metrics, verdict, memory, background, live, control };

  const found = await clearUpFiles(core);
  const { config, overrides } = await live.open(partsOf(core, made));
  background.backups.start(() => backend.backupSource);
  await memory.open();
  metrics.start();
  verdict.start();
  await cluster.roster.settled();
  const descriptors = new DescriptorWatch(listeners.all, core.log, core.clock);
  background.certificates.start();
  certificates.start();
  const overridden = overriddenKeys(overrides, config, options.env);
  reportStart(core.log, options.configPath, { overridden, finished: found.finished });
  return toNode(core, made, (why) => closeNode(made, [found.leftovers, descriptors], why));
}

/** `closeNode` stops accepting, ends what works by itself, and then closes the parts, the last one first. */
async function closeNode(made: NodeParts, watches: readonly Disposable[], why: CloseReason): Promise<void> {
  const { background, control, listeners, live, metrics, verdict } = made;
  control.startDraining();
  for (const watch of watches) watch[Symbol.dispose]();
  void background.certificates.close();
  metrics.close();
  void verdict.close();
  listeners.stopAccepting(why);
  const backedUp = background.backups.close();
  // A call that waits for a download would delay the closing of the listeners.
  await background.updater.close();
  await backedUp;
  await live.close();
}

/** `partsOf` lists what is opened with the configuration: in this order, and closed in reverse. */
function partsOf(core: Core, made: NodeParts): Part[] {
  const { hub, ring, audit, present, options } = core;
  const { listeners, cluster, http, background } = made;
  return [
    settingPart("limits", limitSettings, (slice) => {
      present.limits = slice;
      listeners.applyLimits();
    }),
    settingPart("trusted proxies", proxySettings, (slice) => http.deps.addresses.apply(slice)),
    settingPart("server names", serverNames, (slice) => {
      http.deps.names.apply(slice);
      http.deps.static.cache.forgetUrls();
    }),
    settingPart("releases", releaseSettings, (slice) => {
      present.releases = slice;
    }),
    loggingPart(new LogSinks(hub, ring, options.group?.relay), { audit, rustLog: options.env.RUST_LOG }),
    backupsPart(background.backups),
    accessLogPart(newAccessLog(core, made)),
    newBackendPart(core, made),
    memoryPart(made.memory, audit, ({ keepMs }) => {
      present.keepAuditMs = keepMs;
    }),
    hooksPart(made.hooks),
    certificatesPart(made.certificates),
    listeningPart("listener", listeners.tcp, tcpAddress),
    listeningPart("unix socket", listeners.unix, unixAddress),
    listeningPart("http listener", listeners.http, redirectAddress),
    listeningPart("s3 listener", listeners.s3, s3Address),
    settingPart("s3", s3Settings, (slice) => {
      present.s3 = slice;
    }),
    clusterPart(cluster.roster, (slice) => {
      present.drainMs = slice.drainMs;
    }),
  ];
}

/** PresentSettings are what a reload changes and the parts read while they work. */
interface PresentSettings {
  limits: Limits;
  releases: UpdateSettings;
  s3: S3Settings;
  keepAuditMs: number;
  drainMs: number;
}

type Core = ReturnType<typeof newCore>;

/** `newCore` makes what every part uses and what needs none of them: the time, the log, the counters. */
function newCore(options: NodeOptions) {
  const { group, clock = systemClock } = options;
  const openedAt = clock.monotonic();
  const overrides = readOverrides(options.env, { listen: options.listen });
  const hub = new LogHub(group && { process: group.number }, clock);
  const auditRing = new LogRing(auditCapacity, parseFilter(`${auditTarget}=info`));
  hub.attach(auditRing);
  const present: PresentSettings = {
    limits: noLimits,
    releases: { releaseUrl: undefined, publicKey: undefined },
    s3: { host: undefined, listener: undefined, anonymous: false },
    keepAuditMs: Number.POSITIVE_INFINITY,
    drainMs: 0,
  };
  return {
    options,
    clock,
    uptimeMs: () => Math.floor(clock.monotonic() - openedAt),
    overrides,
    present,
    hub,
    log: hub.logger("server"),
    ring: new LogRing(0, parseFilter("off")),
    audit: new AuditLog(hub, clock),
    auditRing,
    failures: new FailureLimiter(clock),
    recorders: new Recorders(),
  };
}

type Cluster = ReturnType<typeof newCluster>;

/** `newCluster` makes what the node tells others about itself: whether it is ready, and its row in the list of nodes. */
function newCluster({ options, uptimeMs, log, clock }: Core, backend: BackendSlot) {
  const readiness = new Readiness({ acquire: () => backend.acquire(), log, clock });
  const roster = new Roster({
    ...options.cluster,
    boot: options.cluster?.boot ?? crypto.randomUUID(),
    version: build.cargo_version,
    uptimeMs,
    acquire: () => {
      const { services, release } = backend.acquire();
      return { rows: services.database.nodes, uuid: services.serverUuid, files: services.storeId, release };
    },
    isReady: () => readiness.isReady(),
    log,
    clock,
  });
  return { readiness, roster };
}

type Http = ReturnType<typeof newHttp>;

/** `newHttp` makes what answers calls and requests, for all listeners. */
function newHttp(
  core: Core,
  { backend, cluster: { readiness, roster } }: { readonly backend: BackendSlot; readonly cluster: Cluster },
) {
  const { options, present, hub, log, audit, recorders, clock, uptimeMs } = core;
  const acquire = () => backend.acquire();
  const turns = new Turns();
  const engine = new Engine<Services>({
    methods: { ...methods, ...options.extraMethods },
    hub,
    audit,
    maxResponseBytes: () => present.limits.maxResponseBytes,
    turns,
    clock,
    acquire,
    onCall: (method, outcome, startedAt) => recorders.calls.ended(method, outcome, startedAt),
  });
  const deps = newHttpDeps({
    limits: () => present.limits,
    s3: () => present.s3,
    engine,
    acquire,
    records: () => backend.services.buckets.records,
    audit,
    clock,
    turns,
    traffic: recorders.traffic,
    health: {
      version: build.cargo_version,
      uptimeMs,
      readiness,
      warnings: () => roster.warnings.map(({ event }) => event),
      crashed: () => roster.crashed,
    },
    loadConsole: options.loadConsole ?? loadConsole,
    log,
  });
  deps.observers.attach(recorders.requests);
  return { engine, deps };
}

/** `newCertificates` makes the certificates that the server orders by itself. The listeners are made with them. */
function newCertificates(
  { options: { reach }, log, clock }: Core,
  backend: BackendSlot,
  listeners: () => Listeners,
): Certificates {
  return new Certificates({
    acquire: () => {
      const { services, release } = backend.acquire();
      return { database: services.database, release };
    },
    upcoming: () => backend.upcoming?.services.database,
    onChanged: () => listeners().renewCertificates(),
    shown: () => listeners().tcp.certificates,
    reach,
    log,
    clock,
  });
}

function newHooks({ log, clock }: Core, backend: BackendSlot): Hooks {
  const acquire = () => {
    const { services, release } = backend.acquire();
    return { database: services.database, release };
  };
  return new Hooks({ acquire, log, clock });
}

/** Listeners are the addresses at which a node accepts connections. */
class Listeners {
  readonly tcp: ListenerSlot;
  readonly unix: ListenerSlot;
  /** Sends plain http to `tcp`. */
  readonly http: ListenerSlot;
  /** For clients of S3 alone. */
  readonly s3: ListenerSlot;
  #isAnnounced: boolean;

  constructor(
    { options: { group }, present, log, overrides }: Core,
    deps: HttpDeps,
    certificates: Certificates,
  ) {
    this.#isAnnounced = group === undefined;
    const listening = (key: string) => ({
      limits: () => present.limits,
      log,
      addressFrom: sourceOf(overrides, key),
      takesOver: group?.takesOver,
      isAnnounced: () => this.#isAnnounced,
    });
    this.tcp = new ListenerSlot(deps, { ...listening("ws_listener"), certificates });
    this.unix = new ListenerSlot(deps, listening("unix_socket_path"));
    this.http = new ListenerSlot(deps, {
      ...listening("http_listener"),
      redirects: { httpsPort: () => this.tcp.port, answerChallenge: (token) => certificates.answerTo(token) },
    });
    this.s3 = new ListenerSlot({ ...deps, isForS3: true }, { ...listening("s3.listener"), certificates });
  }

  get all(): readonly ListenerSlot[] {
    return [this.tcp, this.unix, this.http, this.s3];
  }

  applyLimits(): void {
    for (const slot of this.all) slot.applyLimits();
  }

  /** Puts the present certificates in force. */
  async renewCertificates(): Promise<void> {
    await Promise.all(this.all.map((slot) => slot.renewCertificates()));
  }

  /** Logs the addresses from now on: at once if they are new, and when they change. */
  announce({ isNew }: { readonly isNew: boolean }): void {
    this.#isAnnounced = true;
    if (isNew) for (const slot of this.all) slot.announce();
  }

  drain(signal: AbortSignal): Promise<unknown> {
    return Promise.all(this.all.map((slot) => slot.drain(signal)));
  }

  stopAccepting(why: CloseReason): void {
    for (const slot of this.all) slot.stopAccepting(why);
  }
}

interface MetricsDeps {
  readonly backend: BackendSlot;
  readonly cluster: Cluster;
  readonly http: Http;
  readonly listeners: Listeners;
}

function newMetrics(core: Core, { backend, cluster, http: { deps }, listeners }: MetricsDeps): Metrics {
  const { recorders, hub, present, failures, options, clock } = core;
  return openMetrics({
    recorders,
    hub,
    listeners: listeners.all,
    connections: deps.jsonRpc.connections,
    maxConnections: () => present.limits.maxConnections,
    memory: deps.memory,
    maxClientBytes: () => present.limits.clientBytes,
    cache: deps.static.cache,
    readiness: cluster.readiness,
    failedSignIns: () => failures.total,
    services: () => backend.services,
    siblings: options.group,
    clock,
  });
}

/** `newVerdictWatch` makes what tells webhooks how the node is. Of several processes the first one does. */
function newVerdictWatch(
  { options: { group }, log, clock }: Core,
  { backend, cluster: { roster } }: Pick<MetricsDeps, "backend" | "cluster">,
): VerdictWatch {
  return new VerdictWatch({
    acquire: () => backend.acquire(),
    isFirst: group === undefined || group.number === 1,
    name: () => roster.name,
    log,
    clock,
  });
}

type MemoryDeps = Pick<MetricsDeps, "backend" | "cluster"> & { readonly metrics: Metrics };

/** `newMemory` makes what the node remembers over a restart. */
function newMemory(core: Core, { backend, cluster: { roster }, metrics }: MemoryDeps): NodeMemory {
  const { options, present, hub, log, ring, clock } = core;
  return new NodeMemory({
    acquire: () => {
      const { services, release } = backend.acquire();
      return { rows: services.database.memory, uuid: services.serverUuid, release };
    },
    name: () => roster.name,
    process: options.group?.number,
    hub,
    log,
    ring,
    metrics,
    keepAuditMs: () => present.keepAuditMs,
    clock,
  });
}

type Background = ReturnType<typeof newBackground>;

/** `newBackground` makes what works beside requests: backups, updates, the watch on the certificate. None of them is started. */
function newBackground({ options, present, log, clock }: Core, { tcp }: Listeners) {
  const installed = options.program?.installed ?? sourceProgram;
  const updater = new Updater(installed, () => present.releases, log);
  return {
    backups: new BackupSchedule({ log, clock }),
    updater,
    latestRelease: new LatestRelease({
      current: installed.version,
      releaseUrl: () => present.releases.releaseUrl,
      stopping: updater.stopping,
      clock,
    }),
    certificates: certificateCheck({ end: () => tcp.certificateEnd, log, clock }),
  };
}

function newLiveConfig({ options: { configPath, group }, hub, overrides }: Core): LiveConfig {
  return new LiveConfig({
    path: configPath,
    hub,
    inspect: preflight(configPath, group && inspectShared),
    overrides,
    share: group && ((config) => shareOf(config, group)),
  });
}

interface ControlDeps {
  readonly live: LiveConfig;
  readonly cluster: Cluster;
  readonly background: Background;
}

type Control = ReturnType<typeof newControl>;

/** `newControl` makes what a signal or a call may do to the whole node. */
function newControl(core: Core, { live, cluster: { readiness, roster }, background }: ControlDeps) {
  const { present, log, clock } = core;
  const { group, program } = core.options;
  const reload = async () => {
    const outcome = await live.reload();
    background.certificates.dueIn(0);
    roster.refresh();
    return outcome;
  };
  const startDraining = () => {
    readiness.startDraining();
    roster.refresh();
    return Math.max(0, present.drainMs - readiness.drainingMs);
  };
  return {
    reload,
    startDraining,
    async reloadAll() {
      if ((await reload()) !== "refused") group?.reloadOthers();
    },
    scheduleRestart() {
      // Another process takes over from one of several before that one stops.
      const delayMs = group === undefined ? Math.max(restartDelayMs, present.drainMs) : restartDelayMs;
      log.event("server.restart_scheduled", "restart scheduled", { delay_ms: delayMs });
      if (program === undefined) return;
      if (group === undefined) startDraining();
      clock.after(delayMs, () => program.restart());
    },
  };
}

/** NodeParts are the parts of a node, made and not opened. */
interface NodeParts extends MetricsDeps, ControlDeps {
  readonly certificates: Certificates;
  readonly hooks: Hooks;
  readonly metrics: Metrics;
  readonly verdict: VerdictWatch;
  readonly memory: NodeMemory;
  readonly control: Control;
}

function newAccessLog({ log, clock }: Core, { backend, http: { deps } }: NodeParts): AccessLog {
  return new AccessLog({
    observers: deps.observers,
    addresses: deps.addresses,
    rootBucket: (host) => backend.services.buckets.records.rootName(host),
    log,
    clock,
  });
}

function newBackendPart(core: Core, made: NodeParts): BackendPart {
  const { options, present, hub, audit, failures, recorders } = core;
  return new BackendPart(made.backend, {
    configPath: options.configPath,
    env: options.env,
    show: options.show,
    hub,
    audit,
    failures,
    services: newServices(core, made),
    maxResponseBytes: () => present.limits.maxResponseBytes,
    backups: made.background.backups,
    hooks: made.hooks,
    onMigrationBackup: options.program?.onMigrationBackup,
    onTokensChanged: () => void made.http.engine.recheck(),
    onCertificatesChanged: () => made.certificates.refreshSoon(),
    passwordCost: options.passwordCost,
    observers: recorders.statements,
  });
}

/** `newServices` makes the services that outlive a backend. */
function newServices(
  core: Core,
  { certificates, cluster, hooks, http, listeners, background, metrics, memory, control }: NodeParts,
): LastingServices {
  const { options, overrides, clock, uptimeMs, hub, ring, auditRing } = core;
  return {
    clock,
    uptimeMs,
    readiness: cluster.readiness,
    roster: cluster.roster,
    memory,
    certificates,
    hooks,
    certificateState() {
      const { certificateEnd } = listeners.tcp;
      return certificateEnd && certificateState(certificateEnd, clock.now());
    },
    backupState: () => background.backups.state,
    isServerName: (host) => http.deps.names.has(host) || isS3Host(host, http.deps.s3()),
    s3: http.deps.s3,
    hub,
    metrics,
    ring,
    auditRing,
    configFile: new ConfigFile(options.configPath, options.workingDirectory, overrides),
    reload: control.reloadAll,
    updater: background.updater,
    latestRelease: background.latestRelease,
    scheduleRestart: control.scheduleRestart,
  };
}

/** `clearUpFiles` ends an interrupted edit of the configuration, and removes what crashes left beside it. */
async function clearUpFiles({ options: { configPath }, overrides, clock }: Core) {
  const finished = await finishOverwrite(configPath, overrides);
  const ownFiles = [configPath, ...pathsBeside(configPath, undefined)];
  return { finished, leftovers: await clearLeftoversOf(ownFiles, clock) };
}

/** `toNode` makes the handle that the program has on an open node. */
function toNode(
  { hub, ring, present }: Core,
  { listeners, metrics, control }: NodeParts,
  closeAll: (why: CloseReason) => Promise<void>,
): Node {
  const close = (why: CloseReason = "stop") => closeAll(why);
  return {
    hub,
    ring,
    get url() {
      return listeners.tcp.url ?? "";
    },
    get consoleUrl() {
      const { url } = listeners.tcp;
      return url !== undefined && present.limits.console ? `${url}/node/console/` : undefined;
    },
    families: metrics.families,
    announce: (options) => listeners.announce(options),
    reload: control.reload,
    startDraining: control.startDraining,
    drain: (signal) => listeners.drain(signal),
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}
