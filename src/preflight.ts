import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
} from "node:fs";
import { dirname, join, relative as relativePath, resolve } from "node:path";
import { isHostName, isLocalhost } from "./base/address.ts";
import { sqliteFilePart } from "./base/config-key.ts";
import { parseDatabaseUrl, sqliteLockPath } from "./base/database-url.ts";
import { Fault } from "./base/fault.ts";
import {
  type AccessProblem,
  accessBits,
  accessMessage,
  createFolderCommand,
  currentUser,
  fileProblem,
  folderProblem,
  readProblem,
  shellQuoted,
} from "./base/local-fs/access.ts";
import { isInside } from "./base/local-fs/folder.ts";
import { memberAt } from "./base/validation-issue.ts";
import { kindOf, openBlobs, proveBlobs } from "./blobs/open-blobs.ts";
import {
  assertNotForeign,
  diskStore,
  isPresent,
  type KnownStore,
  readMark,
  stale,
} from "./buckets/maintenance/store-identity.ts";
import { assertOpens } from "./certs/key-store.ts";
import { readStored } from "./certs/pem.ts";
import type { Finding, Inspect } from "./config/live.ts";
import { folderModeOf, movedPaths, type RelativePath, usedFiles } from "./config/paths.ts";
import { type Config, hookKeys, settings } from "./config/schema.ts";
import { linkKeyPaths } from "./config/server-uuid.ts";
import { certificateState, endOfFile, endOfOrdered, readTls } from "./http/listen/tls.ts";
import { groupProblem } from "./http/listen/unix-socket.ts";
import { certificateSettings, redirectAddress, unixAddress } from "./settings.ts";

/**
 * `preflight` opens what a configuration names, as far as that changes nothing. `check` reports the findings; a start or a reload
 * fails because of them before it creates a database.
 */
export function preflight(
  configPath: string,
  inspectMore: (config: Config) => Finding[] = () => [],
): Inspect {
  return (config, relative) => {
    const found = [
      ...inspectTls(config),
      ...inspectOrders(config),
      ...inspectFolder("static_path", config.static_path),
      ...(config.backup_dir === undefined ? [] : inspectFolder("backup_dir", config.backup_dir)),
      ...inspectLogFiles(config),
      ...inspectSocket(config),
      ...inspectDatabase(config, relative),
      ...inspectFiles(config),
      ...inspectExposure(config, configPath),
      ...inspectSecrets(config, configPath),
      ...inspectLinkKey(config, configPath),
      ...inspectServed(config, configPath),
      ...inspectMore(config),
    ];
    const moved = movedPaths(relative).filter(({ path }) => !isKey(path, databaseKey));
    return [
      ...found.filter(({ path }) => !moved.some((other) => isKey(path, other.path))),
      // The better explanation of an error, and a warning if there is none: the server creates these files and folders.
      ...moved.map((finding): Finding => {
        const isError = found.some(({ path, isWarning }) => isKey(path, finding.path) && !isWarning);
        return isError ? finding : { ...finding, isWarning: true };
      }),
    ];
  };
}

const databaseKey = ["database", "database_url"];

function isKey(path: readonly string[], other: readonly string[]): boolean {
  return path.join(".") === other.join(".");
}

function inspectTls({ tls_cert, tls_key }: Pick<Config, "tls_cert" | "tls_key">): Finding[] {
  if (tls_cert === undefined || tls_key === undefined) return [];
  try {
    readTls(tls_cert, tls_key);
    return [];
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [{ path: [error.data.path === tls_key ? "tls_key" : "tls_cert"], why: error.detail }];
  }
}

/** `inspectOrders` looks at the files that ordering certificates needs. */
function inspectOrders(config: Config): Finding[] {
  const { auto, ca, dns_hook } = config.tls;
  if (!auto) return [];
  const problem = ca === undefined ? undefined : readProblem(ca);
  const subject = { name: "the certificate", path: ca ?? "", failed: "cannot be read" };
  return [
    ...toFindings(["tls", "ca"], problem && accessMessage(subject, problem)),
    ...toFindings(["tls", "dns_hook"], dns_hook && programProblem(dns_hook)),
    ...inspectNames(config),
  ];
}

/** Host names of buckets are in the database, which `check` does not open. */
function inspectNames(config: Config): Finding[] {
  const { tls, s3, node_url, http_listener } = config;
  const warnings: Array<[path: string[], why: string]> = [];
  if (tls.server_name === undefined && s3.host === undefined)
    warnings.push([
      ["tls", "auto"],
      "has no name to order a certificate for, unless a bucket has a host name; set server_name",
    ]);
  const asked = redirectAddress(config);
  if (http_listener === undefined && asked?.at === "tcp" && isLoopback(asked.address.host))
    warnings.push([
      ["tls", "auto"],
      `orders certificates, but only this machine reaches ws_listener, and port 80 beside it, where the certificate authority asks; set ws_listener = "0.0.0.0:443", or "[::]:443" for IPv6, too`,
    ]);
  const { protocol, hostname } = new URL(node_url ?? "http://localhost");
  if (protocol === "https:" && isHostName(hostname) && ![tls.server_name, s3.host].includes(hostname))
    warnings.push([
      ["node_url"],
      `has a name for which no certificate is ordered; use ${tls.server_name ?? "server_name"} in it`,
    ]);
  return warnings.map(([path, why]) => ({ path, why, isWarning: true }));
}

function isLoopback(host: string): boolean {
  return host === "::1" || host.startsWith("127.") || isLocalhost(host);
}

function programProblem(path: string): string | undefined {
  if (Bun.which(path) !== null) return undefined;
  return `names ${path}, which is not a program that ${currentUser()} can run; \`chmod +x ${shellQuoted(path)}\` makes a script one`;
}

/** `inspectCertificate` warns of a certificate that ends soon. A server reports that itself, also while it runs. */
export function inspectCertificate(config: Config, nowMs: number): Finding[] {
  const { tls_cert, tls_key } = config;
  if (config.tls.auto) return inspectOrdered(config, nowMs);
  if (tls_cert === undefined || tls_key === undefined || inspectTls({ tls_cert, tls_key }).length > 0)
    return [];
  const state = certificateState(endOfFile(readTls(tls_cert, tls_key).expiresAtMs), nowMs);
  return state === undefined ? [] : [{ path: ["tls_cert"], why: state.text, isWarning: true }];
}

/** The certificate of `server_name`. Others may be of names that no bucket has any more, and with `secret` they are in the database. */
function inspectOrdered(config: Config, nowMs: number): Finding[] {
  const { serverName, secret, folder } = certificateSettings(config) ?? {};
  if (serverName === undefined || folder === undefined || secret !== undefined) return [];
  const path = join(folder, `${serverName}.pem`);
  const stored = existsSync(path) ? readStored(readFileSync(path, "utf8"), serverName) : undefined;
  const state = stored && certificateState(endOfOrdered(stored), nowMs);
  return state === undefined
    ? []
    : [{ path: ["tls", "auto"], why: `the certificate of ${serverName} ${state.text}`, isWarning: true }];
}

function inspectFolder(key: string, path: string): Finding[] {
  const problem = folderProblem(path, folderModeOf(key));
  return toFindings([key], problem && `${problem.path} ${problem.why}`);
}

function inspectLogFiles({ logging: { json_log_file, access_log } }: Config): Finding[] {
  return [...inspectLogFile("json_log_file", json_log_file), ...inspectLogFile("access_log", access_log)];
}

function inspectLogFile(key: string, path: string | undefined): Finding[] {
  if (path === undefined) return [];
  const subject = { name: "the log file", path, failed: "cannot be opened" };
  const problem = fileProblem(path);
  return toFindings(["logging", key], problem && accessMessage(subject, problem));
}

function inspectSocket(config: Config): Finding[] {
  const address = unixAddress(config);
  if (address?.at !== "unix") return [];
  const subject = { name: "the socket", path: address.path, failed: "cannot be created" };
  const problem = folderProblem(dirname(address.path), folderModeOf("unix_socket_path"));
  if (problem !== undefined) return toFindings(["unix_socket_path"], accessMessage(subject, problem));
  const { group } = address.access;
  return toFindings(["unix_socket_group"], group && groupProblem(address.path, group));
}

/** `inspectDatabase` inspects only the database, for commands that need nothing else. */
export function inspectDatabase(
  { database: { database_url } }: Config,
  relative: readonly RelativePath[],
): Finding[] {
  const location = parseDatabaseUrl(database_url);
  if (!("sqlite" in location)) return [];
  const { path, mode } = location.sqlite;
  const found = (why: string | undefined) => toFindings(databaseKey, why);
  if (existsSync(path)) return found(sqliteProblem(path));
  // A start would create a second, empty database beside the one that the server has used so far.
  const moved = movedDatabase(relative);
  if (moved.length > 0) return moved;
  if (mode === "rw")
    return found(`the database ${path} does not exist; add ?mode=rwc to database_url to create it`);
  const problem = folderProblem(dirname(path)) ?? lockProblem(path);
  if (problem !== undefined)
    return found(accessMessage({ name: "the database", path, failed: "cannot be created" }, problem));
  return inspectRemains(path);
}

/** `inspectMovedDatabase` is the part for commands that can replace a database which is missing or damaged. */
export const inspectMovedDatabase: Inspect = (_, relative) => movedDatabase(relative);

function movedDatabase(relative: readonly RelativePath[]): Finding[] {
  return movedPaths(relative).filter(({ path }) => isKey(path, databaseKey));
}

/** `inspectRemains` reports what a missing database has left behind. */
function inspectRemains(path: string): Finding[] {
  const wal = `${path}-wal`;
  // SQLite would delete it with the first statement in a new database.
  const hasChanges = (statSync(wal, { throwIfNoEntry: false })?.size ?? 0) > 0;
  // A server that starts at the same time makes both, the database first.
  if (existsSync(path)) return toFindings(databaseKey, sqliteProblem(path));
  if (hasChanges)
    return toFindings(
      databaseKey,
      `${path} does not exist, but ${wal} does, with the latest changes of a database. Put the database back beside it, or move ${wal} away to begin with an empty one`,
    );
  const lock = sqliteLockPath(path);
  if (!existsSync(lock)) return [];
  const why = `${path} does not exist, although ${lock} shows that a server has used it. A new database has none of its tokens and buckets: if the old one was moved or deleted by mistake, put it back`;
  return [{ path: databaseKey, why, isWarning: true }];
}

/**
 * `sqliteProblem` returns why a SQLite file cannot be used. SQLite also writes `-wal` and `-shm` beside it, and a server its lock, so
 * the folder and these must be writable too.
 */
function sqliteProblem(path: string): string | undefined {
  const [problem] = [
    ...sqliteFiles(path).map(fileProblem),
    folderProblem(dirname(path)),
    lockProblem(path),
  ].filter((found) => found !== undefined);
  if (problem !== undefined)
    return accessMessage({ name: "the database", path, failed: "cannot be written" }, problem);
  return isSqlite(path)
    ? undefined
    : `the database ${path} is another kind of file, not a SQLite database; name another path`;
}

function lockProblem(path: string): AccessProblem | undefined {
  return fileProblem(sqliteLockPath(path));
}

/** `sqliteFiles` returns the file of a database and those of its side files that exist. */
function sqliteFiles(path: string): string[] {
  return [path, ...["-wal", "-shm"].map((end) => path + end).filter((file) => existsSync(file))];
}

/**
 * `inspectExposure` reports secrets that every user of the machine can read: hashes in a SQLite file, a password in the
 * configuration.
 */
function inspectExposure({ database: { database_url } }: Config, configPath: string): Finding[] {
  const location = parseDatabaseUrl(database_url);
  const isSqliteFile = "sqlite" in location;
  if (!isSqliteFile && new URL(location.postgres).password === "") return [];
  // The environment may have it instead.
  if (!isSqliteFile && !readFileSync(configPath, "utf8").includes(database_url)) return [];
  const files = isSqliteFile ? sqliteFiles(location.sqlite.path) : [resolve(configPath)];
  const exposed = files.filter(isReadableByAll);
  if (exposed.length === 0) return [];
  const what = isSqliteFile
    ? `names ${exposed[0]}, which holds hashes of secrets and`
    : `holds a password, and ${exposed[0]}`;
  return [
    {
      path: databaseKey,
      why: `${what} can be read by every user of this machine; run \`chmod 600 ${exposed.map(shellQuoted).join(" ")}\``,
      isWarning: true,
    },
  ];
}

/** `inspectFiles` looks at the folders of `[files]`. A remote store is asked when it is opened, and by `check --connect`. */
function inspectFiles({ files: { url, cache_path, cache_bytes }, static_path }: Config): Finding[] {
  if (url === undefined) return [];
  const folder = kindOf(url).folderOf?.(url);
  if (folder === undefined) {
    const problem = cache_path === undefined || cache_bytes === 0 ? undefined : folderProblem(cache_path);
    return toFindings(["files", "cache_path"], problem && `${problem.path} ${problem.why}`);
  }
  const found = (why: string | undefined) => toFindings(["files", "url"], why);
  if (isInside(folder, static_path) || isInside(static_path, folder))
    return found(
      `names ${folder}, which must not be inside or above static_path (${static_path}): files there belong to buckets. Name another folder`,
    );
  // Not created here: where it is missing, its file system may not be mounted.
  if (!existsSync(folder))
    return found(
      `names ${folder}, which does not exist; mount its file system, or create it: \`${createFolderCommand(folder, currentUser())}\``,
    );
  const problem = folderProblem(folder);
  return found(problem && `${problem.path} ${problem.why}`);
}

/**
 * `proveFiles` proves that the store of the files can be read and written, and is not without its content. Returns its address;
 * undefined for plain files.
 */
export async function proveFiles(
  { files, sync_uploads: sync }: Config,
  { namesContent: holdsContent, store: value }: KnownStore,
): Promise<string | undefined> {
  const { url } = files;
  if (url !== undefined) {
    const blobs = openBlobs({ ...files, url }, { sync, holdsContent });
    await proveBlobs(blobs);
    const mark = await readMark(blobs);
    assertNotForeign(mark, value?.database, url);
    if (value !== undefined && holdsContent && !isPresent(value, mark?.store)) throw stale(value, url);
  } else if (value !== undefined && holdsContent && !isPresent(value, diskStore)) throw stale(value, url);
  return url;
}

/** `proveKeys` proves that the secret of `[tls]` opens the private keys in the database. */
export function proveKeys(
  { tls: { auto, secret } }: Config,
  sealedKeys: ReadonlyMap<string, string> | undefined,
): void {
  if (auto && secret !== undefined && sealedKeys !== undefined) assertOpens(secret, sealedKeys);
}

/** `inspectSecrets` reports keys that are secrets in a configuration that every user of the machine can read. */
function inspectSecrets(config: Config, configPath: string): Finding[] {
  const path = resolve(configPath);
  if (!isReadableByAll(path)) return [];
  const text = readFileSync(path, "utf8");
  const why = `is a secret, and ${path} can be read by every user of this machine; run \`chmod 600 ${shellQuoted(path)}\``;
  const inHooks = config.hooks.map((_, at) => ({
    path: ["hooks", String(at), "secret"],
    key: hookKeys.secret,
  }));
  return [...settings, ...inHooks].flatMap(({ path, key }): Finding[] => {
    const secret = key.isSecret ? memberAt(config, path) : undefined;
    // It may come from the environment.
    const isWritten = typeof secret === "string" && text.includes(secret);
    return isWritten ? [{ path, why, isWarning: true }] : [];
  });
}

/**
 * `inspectLinkKey` reports a link key that this process cannot read, or that every user of the machine can, such as one that was copied
 * from another node.
 */
function inspectLinkKey({ link_key_file, database }: Config, configPath: string): Finding[] {
  const databaseFile = sqliteFilePart.read(database.database_url);
  const path = linkKeyPaths({ setting: link_key_file, configPath: resolve(configPath), databaseFile }).find(
    (at) => existsSync(at),
  );
  if (path === undefined) return [];
  const problem = readProblem(path);
  if (problem !== undefined) {
    const subject = { name: "the link key", path, failed: "cannot be read" };
    return toFindings(["link_key_file"], accessMessage(subject, problem));
  }
  if (!isReadableByAll(path)) return [];
  const why = `is the secret in ${path}, which can be read by every user of this machine; run \`chmod 600 ${shellQuoted(path)}\``;
  return [{ path: ["link_key_file"], why, isWarning: true }];
}

/** `inspectServed` reports files of the server that a bucket would show to its visitors. */
function inspectServed(config: Config, configPath: string): Finding[] {
  const { static_path } = config;
  return usedFiles(config, resolve(configPath)).flatMap(({ key, name, paths, kind }): Finding[] => {
    // The first has the files of all buckets, the second is refused there by `inspectFiles`, and a UUID is no secret.
    if (["static_path", "files.url", "server_uuid"].includes(key.join("."))) return [];
    const path = paths.find((path) => canBeServed(kind === "folder" ? path : dirname(path), static_path));
    if (path === undefined) return [];
    const advice = "where a bucket would show it to everybody; use another folder";
    return key.length === 0
      ? [{ path: ["static_path"], why: `contains ${name} (${path}), ${advice}`, isWarning: true }]
      : [{ path: key, why: `names ${path} inside of static_path, ${advice}`, isWarning: true }];
  });
}

/** Returns whether a folder can be that of a bucket, or in it. Folders that begin with `~` are the server's own. */
function canBeServed(folder: string, static_path: string): boolean {
  const path = relativePath(static_path, folder);
  return path !== "" && !path.startsWith("~") && isInside(folder, static_path);
}

function isReadableByAll(path: string): boolean {
  // Windows has no such mode; the runtime invents it.
  if (process.platform === "win32") return false;
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && (stats.mode & accessBits.read) !== 0;
}

/** `isSqlite` returns whether a file is a SQLite database, by its header. An empty file becomes one. */
function isSqlite(path: string): boolean {
  const header = Buffer.alloc(16);
  // Opening a FIFO would wait until somebody writes into it.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) return false;
    return readSync(file, header) === 0 || header.toString("latin1") === "SQLite format 3\0";
  } finally {
    closeSync(file);
  }
}

function toFindings(path: readonly string[], why: string | undefined): Finding[] {
  return why === undefined ? [] : [{ path, why }];
}
