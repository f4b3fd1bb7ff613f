import { hostname } from "node:os";
import { dirname, join } from "node:path";
import type { BackupSchedule, BackupSettings } from "./backup/schedule.ts";
import { formatAddress, isHostName } from "./base/address.ts";
import { usableMemory } from "./base/memory-budget.ts";
import type { FilesSource } from "./buckets/open-storage.ts";
import type { CertificateSettings, Certificates } from "./certs/certificates.ts";
import type { NodeMemory } from "./cluster/memory.ts";
import type { NodeSettings, Roster } from "./cluster/roster.ts";
import { type Part, settingPart } from "./config/live.ts";
import type { Config } from "./config/schema.ts";
import { databaseFile } from "./db/database.ts";
import type { HookSettings, Hooks } from "./hooks/hooks.ts";
import type { AccessLog, AccessLogSettings } from "./http/access-log.ts";
import type { BindAddress } from "./http/listen/listener.ts";
import type { ListenerSlot } from "./http/listen/listener-slot.ts";
import { readPem, readTls } from "./http/listen/tls.ts";
import type { ProxySettings } from "./http/request/client-address.ts";
import type { S3Settings, ServerNameSettings } from "./http/request/host-name.ts";
import { parseFilter } from "./log/filter.ts";
import type { LogSinks, SinkSettings } from "./log/sinks.ts";
import type { UpdateSettings } from "./update/updater.ts";

/** Limits are the configured bounds of what clients may use. */
export interface Limits {
  readonly maxConnections: number;
  readonly maxRequestBytes: number;
  /** The largest WebSocket message. */
  readonly maxMessageBytes: number;
  readonly maxResponseBytes: number;
  /** Bytes that clients may make the server hold in memory. */
  readonly clientBytes: number;
  /** Bytes of cached files. */
  readonly maxCacheBytes: number;
  readonly maxUploadBytes: number;
  /** True if the web console is served. */
  readonly console: boolean;
}

/** `noLimits` is in force before a configuration is read. */
export const noLimits: Limits = {
  maxConnections: 0,
  maxRequestBytes: 0,
  maxMessageBytes: 0,
  maxResponseBytes: 0,
  clientBytes: 0,
  maxCacheBytes: 0,
  maxUploadBytes: 0,
  console: false,
};

/** The least size of a WebSocket message that is accepted, however small the memory budget is. */
const minMessageBytes = 256 * 1024;

export function limitSettings(config: Config): Limits {
  const clientBytes =
    config.client_memory_bytes === 0 ? Math.floor(usableMemory() / 4) : config.client_memory_bytes;
  // Bun buffers an incomplete message without reporting it, so half of the budget is divided between the connections beforehand.
  const fairShare = Math.floor(clientBytes / 2 / config.jsonrpc_max_connections);
  return {
    maxConnections: config.jsonrpc_max_connections,
    maxRequestBytes: config.max_request_body_size,
    maxResponseBytes: config.max_response_body_size,
    maxMessageBytes: Math.min(config.max_request_body_size, Math.max(minMessageBytes, fairShare)),
    clientBytes,
    maxCacheBytes: config.static_cache_bytes,
    maxUploadBytes: config.max_upload_size,
    console: config.console,
  };
}

export function proxySettings({ trusted_proxies: trusted, proxy_header: header }: Config): ProxySettings {
  return { trusted, header };
}

export function serverNames({ tls: { server_name, hsts_days }, node_url }: Config): ServerNameSettings {
  if (server_name === undefined) return { names: [], hstsDays: undefined };
  const names = [server_name, ...(node_url === undefined ? [] : [new URL(node_url).hostname])];
  return { names: names.filter(isHostName), hstsDays: hsts_days };
}

export function releaseSettings(config: Config): UpdateSettings {
  return { releaseUrl: config.release_url, publicKey: config.release_public_key };
}

export function backupSettings(config: Config): BackupSettings {
  return {
    folder: config.backup_dir,
    everyMs: config.backup_every,
    keep: config.backup_keep,
    files: config.backup_files,
    beforeMigration: config.backup_before_migration,
  };
}

/** AuditSettings are how long the audit trail is kept. */
export interface AuditSettings {
  readonly keepMs: number;
}

export function auditSettings({ logging }: Config): AuditSettings {
  return { keepMs: logging.keep_audit_days * 24 * 3_600_000 };
}

/** ClusterSettings are what a node says about itself, and how long it drains. */
interface ClusterSettings extends NodeSettings {
  readonly drainMs: number;
}

function clusterSettings({ node_name, node_url, drain_seconds }: Config): ClusterSettings {
  return { name: node_name ?? hostName(), url: node_url, drainMs: drain_seconds * 1000 };
}

/** The name of the machine, in the characters of `node_name`. */
function hostName(): string {
  return (
    hostname()
      .replace(/[^A-Za-z0-9_.-]/g, "-")
      .replace(/^[^A-Za-z0-9]+/, "")
      .slice(0, 63) || "node"
  );
}

/** BackendSettings are what the database and its services are opened with. */
export type BackendSettings = Pick<
  Config,
  | "database"
  | "files"
  | "keep_deploys"
  | "keep_removed_days"
  | "link_key_file"
  | "server_uuid"
  | "static_path"
  | "sync_uploads"
>;

export function backendSettings({
  database,
  files,
  keep_deploys,
  keep_removed_days,
  link_key_file,
  server_uuid,
  static_path,
  sync_uploads,
}: Config): BackendSettings {
  return {
    database,
    files,
    keep_deploys,
    keep_removed_days,
    link_key_file,
    server_uuid,
    static_path,
    sync_uploads,
  };
}

/** `filesSource` is where a backup reads the files of the buckets. */
export function filesSource({ static_path, files }: Pick<Config, "static_path" | "files">): FilesSource {
  const { url } = files;
  return url === undefined ? { staticPath: static_path } : { blobs: { ...files, url } };
}

/** `storageSettings` returns which store keeps the files of the buckets, and how. */
export function storageSettings({ files, keep_removed_days, static_path, sync_uploads }: BackendSettings) {
  return {
    files,
    keepRemovedDays: keep_removed_days,
    staticPath: static_path,
    syncUploads: sync_uploads,
  };
}

/** `sinkSettings` lets the environment's `RUST_LOG` override `log_filter`; a sink without a filter of its own uses the result. */
function sinkSettings({ logging }: Config, fromEnvironment: string | undefined): SinkSettings {
  const filter = fromEnvironment ? parseFilter(fromEnvironment) : (logging.log_filter ?? parseFilter("info"));
  const { json_log_file: path, json_log_filter, memory_log_capacity: capacity, memory_log_filter } = logging;
  return {
    terminal: { filter, format: logging.log_format },
    file: path === undefined ? undefined : { path, filter: json_log_filter ?? filter },
    memory: { capacity, filter: memory_log_filter ?? filter },
  };
}

function accessLogSettings({ logging }: Config): AccessLogSettings | undefined {
  const { access_log: path, access_log_format: format } = logging;
  return path === undefined ? undefined : { path, format };
}

/** `certificateSettings` says how certificates are ordered; undefined unless the server does that. */
export function certificateSettings({ tls, database, s3 }: Config): CertificateSettings | undefined {
  if (!tls.auto) return undefined;
  const { directory, email, ca, server_name, dns_hook, secret, eab_kid: kid, eab_hmac_key: hmacKey } = tls;
  const { database_url: databaseUrl } = database;
  const file = databaseFile(databaseUrl);
  return {
    directory,
    email,
    // The text is part of the slice, so that the next reload takes up a new one.
    ca: ca === undefined ? undefined : readPem(ca, { what: "certificate", key: "ca" }),
    externalAccount: kid === undefined || hmacKey === undefined ? undefined : { kid, hmacKey },
    serverName: server_name,
    names: [server_name, s3.host, dns_hook && s3.host && `*.${s3.host}`].filter((name) => name !== undefined),
    dnsHook: dns_hook,
    secret,
    folder: file === undefined ? undefined : join(dirname(file), "certificates"),
    databaseUrl,
  };
}

export function tcpAddress({
  ws_listener,
  tls_cert,
  tls_key,
  tls: { auto },
  reuse_port,
}: Config): BindAddress {
  if (auto) return { at: "tcp", address: ws_listener, tls: "auto", reusePort: reuse_port };
  // The certificate's text is part of the slice, so that a renewed one is taken up by the next reload.
  const tls = tls_cert === undefined || tls_key === undefined ? undefined : readTls(tls_cert, tls_key);
  return { at: "tcp", address: ws_listener, tls, reusePort: reuse_port };
}

/** `redirectAddress` is where plain http is sent to https. */
export function redirectAddress({
  ws_listener,
  http_listener,
  tls,
  reuse_port,
}: Config): BindAddress | undefined {
  // Certificate authorities ask at port 80.
  const isAsked = tls.auto && tls.dns_hook === undefined;
  const address = http_listener ?? (isAsked ? { host: ws_listener.host, port: 80 } : undefined);
  if (address === undefined) return undefined;
  return { at: "tcp", address, tls: undefined, reusePort: reuse_port };
}

export function unixAddress({
  enable_unix_socket,
  unix_socket_path,
  unix_socket_group: group,
  unix_socket_mode: mode = group === undefined ? "0600" : "0660",
}: Config): BindAddress | undefined {
  if (!enable_unix_socket) return undefined;
  return {
    at: "unix",
    path: unix_socket_path,
    access: { mode: Number.parseInt(mode, 8), group },
  };
}

/** `s3Address` returns the address that clients of S3 have for themselves. */
export function s3Address({ s3, ...config }: Config): BindAddress | undefined {
  if (s3.listener === undefined) return undefined;
  return tcpAddress({ ...config, s3, ws_listener: s3.listener });
}

export function s3Settings({ s3: { host, listener, anonymous } }: Config): S3Settings {
  return { host, listener: listener && formatAddress(listener), anonymous };
}

/** `listeningPart` makes a listener a part of the configuration. */
export function listeningPart(
  name: string,
  listener: ListenerSlot,
  address: (config: Config) => BindAddress | undefined,
): Part<BindAddress | undefined> {
  return { name, slice: address, prepare: (slice) => listener.prepare(slice), close: () => listener.close() };
}

/** `certificatesPart` makes the certificates that the server orders a part of the configuration. */
export function certificatesPart(certificates: Certificates): Part<CertificateSettings | undefined> {
  return {
    name: "certificates",
    slice: certificateSettings,
    prepare: (slice) => certificates.prepare(slice),
    close: () => certificates.close(),
  };
}

function hookSettings({ hooks }: Config): readonly HookSettings[] {
  return hooks;
}

/** `hooksPart` makes the webhooks a part of the configuration. */
export function hooksPart(hooks: Hooks): Part<readonly HookSettings[]> {
  return {
    ...settingPart("hooks", hookSettings, (slice) => hooks.apply(slice)),
    close: () => hooks.close(),
  };
}

/** `loggingPart` makes the outputs of the log a part of the configuration; `audit` ends before they do. */
export function loggingPart(
  sinks: LogSinks,
  { audit, rustLog }: { readonly audit: Disposable; readonly rustLog: string | undefined },
): Part<SinkSettings> {
  return {
    name: "logging",
    slice: (config) => sinkSettings(config, rustLog),
    prepare: async (slice) => sinks.prepare(slice),
    close: () => {
      audit[Symbol.dispose]();
      sinks.close();
    },
  };
}

export function accessLogPart(accessLog: AccessLog): Part<AccessLogSettings | undefined> {
  return {
    name: "access log",
    slice: accessLogSettings,
    prepare: async (slice) => accessLog.prepare(slice),
    close: () => accessLog.close(),
  };
}

export function backupsPart(backups: BackupSchedule): Part<BackupSettings> {
  return {
    ...settingPart("backups", backupSettings, (slice) => backups.apply(slice)),
    close: () => backups.close(),
  };
}

/** `memoryPart` makes what the node remembers over a restart a part of the configuration; `audit` ends before it does. */
export function memoryPart(
  memory: NodeMemory,
  audit: Disposable,
  onChanged: (settings: AuditSettings) => void,
): Part<AuditSettings> {
  return {
    ...settingPart("audit trail", auditSettings, onChanged),
    close: () => {
      audit[Symbol.dispose]();
      return memory.close();
    },
  };
}

/** `clusterPart` returns what a node says about itself. It leaves the list of nodes before anything is closed. */
export function clusterPart(
  roster: Roster,
  onChanged: (settings: ClusterSettings) => void,
): Part<ClusterSettings> {
  return {
    ...settingPart("node", clusterSettings, (slice) => {
      onChanged(slice);
      roster.apply(slice);
    }),
    close: () => roster.leave(),
  };
}
