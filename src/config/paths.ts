import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { type FilePart, sqliteFilePart } from "../base/config-key.ts";
import { type CheckedConfig, type Config, folderPart, settings } from "./schema.ts";
import { linkKeyPaths, pathsBeside } from "./server-uuid.ts";

/** RelativePath is a path that a configuration gives relative to its own folder. */
export interface RelativePath {
  /** The key, with its table. */
  readonly key: readonly string[];
  readonly given: string;
  readonly resolved: string;
  /** The value that contains the path, and where. */
  readonly value: string;
  readonly file: FilePart;
}

/**
 * `resolvePaths` makes every path of a configuration absolute; a relative one starts at `folder`, the folder of the configuration
 * file. It is the only place that does: all later code gets absolute paths.
 */
export function resolvePaths(
  checked: CheckedConfig,
  folder: string,
): { readonly config: Config; readonly relative: readonly RelativePath[] } {
  const config = {
    ...checked,
    tls: { ...checked.tls },
    logging: { ...checked.logging },
    database: { ...checked.database },
    files: { ...checked.files },
    s3: { ...checked.s3 },
  };
  const relative: RelativePath[] = [];
  for (const { path, name, table, key } of settings) {
    const holder = (table === undefined ? config : config[table]) as Record<string, unknown>;
    const value = holder[name];
    if (key.file === undefined || typeof value !== "string") continue;
    const given = key.file.read(value);
    if (given === undefined || isAbsolute(given)) continue;
    const resolved = resolve(folder, given);
    holder[name] = key.file.replace(value, resolved);
    relative.push({ key: path, given, resolved, value, file: key.file });
  }
  const database = sqliteFilePart.read(config.database.database_url) ?? resolve(folder, "data/node.db");
  const unix_socket_path = config.unix_socket_path ?? join(dirname(database), "node.sock");
  const { url } = config.files;
  if (url !== undefined && folderPart.read(url) === undefined)
    config.files.cache_path ??= join(dirname(database), "blob-cache");
  return { config: { ...config, unix_socket_path }, relative };
}

/** ConfiguredFile is a file or folder that a configuration names. */
export interface ConfiguredFile {
  readonly name: string;
  readonly path: string;
  readonly use: "write" | "folder" | "read";
}

/** `configuredFiles` lists the files and folders of all keys that have a value. */
export function configuredFiles(config: Config): ConfiguredFile[] {
  return settings.flatMap(({ name, table, key }) => {
    const holder = (table === undefined ? config : config[table]) as Record<string, unknown>;
    const value = holder[name];
    if (key.file === undefined || typeof value !== "string") return [];
    const path = key.file.read(value);
    return path === undefined ? [] : [{ name, path, use: key.fileUse ?? "write" }];
  });
}

/** UsedFile is what the server keeps for one purpose: a file, with those that it keeps beside it. */
interface UsedFile {
  /** The key that decides where it is. */
  readonly key: readonly string[];
  /** Names it in messages. */
  readonly name: string;
  readonly paths: readonly string[];
  /** Two of the same kind may be one: a certificate and its key in one file, backups beside the folders of the buckets. */
  readonly kind: "own" | "read" | "folder";
}

/** SharedFile is a file that a configuration names for two purposes. */
export interface SharedFile {
  /** The keys of both purposes. */
  readonly keys: readonly [first: readonly string[], second: readonly string[]];
  /** How to say each of them in a message about the other. */
  readonly names: readonly [first: string, second: string];
}

/** `sharedFiles` finds files with two purposes: one of them would write into what the other reads. */
export function sharedFiles(config: Config, configPath: string): SharedFile[] {
  const used = usedFiles(config, configPath);
  const byPath = new Map<string, UsedFile>();
  const found: SharedFile[] = [];
  for (const second of used)
    for (const path of new Set(second.paths.map(realPathOf))) {
      const first = byPath.get(path);
      if (first === undefined) byPath.set(path, second);
      else if (first !== second && (first.kind === "own" || first.kind !== second.kind)) {
        found.push({ keys: [first.key, second.key], names: [first.name, second.name] });
        break;
      }
    }
  return found;
}

/** `usedFiles` lists the files and folders of the server, each with its key. Files of buckets are in `static_path`. */
export function usedFiles(config: Config, configPath: string): UsedFile[] {
  const { logging, database, files, tls } = config;
  const sqlite = sqliteFilePart.read(database.database_url);
  const databasePath = sqlite === undefined ? undefined : realPathOf(sqlite);
  const named = (key: readonly string[], paths: readonly string[], name = key.at(-1) ?? ""): UsedFile => ({
    key,
    name,
    paths,
    kind: "own",
  });
  const one = (key: readonly string[], path: string | undefined, kind: UsedFile["kind"]) =>
    path === undefined ? [] : [{ ...named(key, [path]), kind }];
  // Terminals, pipes and the null device take lines of anybody. What is below /dev/shm are files.
  const log = (key: string, path: string | undefined) =>
    path === undefined || /^\/(dev(?!\/shm\/)|proc)\//.test(path) ? [] : [named(["logging", key], [path])];
  return [
    named([], [configPath, `${configPath}.recovery`], "the configuration file"),
    ...(config.server_uuid === "auto_gen"
      ? [named(["server_uuid"], pathsBeside(configPath, sqlite), "the file of server_uuid")]
      : []),
    named(
      ["link_key_file"],
      linkKeyPaths({ setting: config.link_key_file, configPath, databaseFile: sqlite }),
      "the file of the link key (link_key_file)",
    ),
    ...(databasePath === undefined
      ? []
      : [
          named(
            ["database", "database_url"],
            ["", "-wal", "-shm", "-journal", ".lock"].map((end) => databasePath + end),
          ),
        ]),
    ...one(["static_path"], config.static_path, "folder"),
    ...one(["files", "url"], files.url && folderPart.read(files.url), "folder"),
    ...one(["files", "cache_path"], files.cache_path, "folder"),
    ...one(["backup_dir"], config.backup_dir, "folder"),
    ...one(["tls_cert"], config.tls_cert, "read"),
    ...one(["tls_key"], config.tls_key, "read"),
    ...one(["tls", "ca"], tls.ca, "read"),
    ...one(["tls", "dns_hook"], tls.dns_hook, "read"),
    ...one(["unix_socket_path"], config.enable_unix_socket ? config.unix_socket_path : undefined, "own"),
    ...log("json_log_file", logging.json_log_file),
    ...log("access_log", logging.access_log),
  ];
}

/** `realPathOf` resolves the links in as much of a path as exists. */
function realPathOf(path: string): string {
  let missing = "";
  for (let at = path; ; at = dirname(at)) {
    if (existsSync(at)) return join(realpathSync(at), missing);
    if (at === dirname(at)) return path;
    missing = join(basename(at), missing);
  }
}

/**
 * `folderModeOf` returns the mode for a folder that an operator creates for a key. Backups contain secrets; other accounts must
 * be able to reach a socket, whose own mode decides who may connect.
 */
export function folderModeOf(key: string): number {
  return key === "backup_dir" ? 0o700 : key === "unix_socket_path" ? 0o755 : 0o750;
}

/** MovedPath is a file that exists only where earlier versions looked for it: relative paths started at the working directory. */
interface MovedPath {
  /** The key that names it. */
  readonly path: readonly string[];
  /** Both paths, and what to write. */
  readonly why: string;
}

export function movedPaths(relative: readonly RelativePath[], workingDirectory = process.cwd()): MovedPath[] {
  return relative.flatMap(({ key, given, resolved, value, file }) => {
    const before = resolve(workingDirectory, given);
    if (before === resolved || existsSync(resolved) || !existsSync(before)) return [];
    const setting = `${key.at(-1)} = ${JSON.stringify(file.replace(value, before))}`;
    const why = `${resolved} does not exist, but ${before} does. Relative paths start at the folder of the configuration, not at the working directory: to use the latter, write ${setting}`;
    return [{ path: key, why }];
  });
}
