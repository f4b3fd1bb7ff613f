import { existsSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { isS3 } from "./files-keys.ts";
import { type FilePart, sqliteFilePart } from "./key.ts";
import { type CheckedConfig, type Config, settings } from "./schema.ts";

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
    logging: { ...checked.logging },
    database: { ...checked.database },
    files: { ...checked.files },
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
  if (isS3(config.files.url)) config.files.cache_path ??= join(dirname(database), "blob-cache");
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

/**
 * `folderModeOf` is the mode for a folder that an operator creates for a key. Backups contain secrets; other accounts must be able to
 * reach a socket, whose own mode decides who may connect.
 */
export function folderModeOf(key: string): number {
  return key === "backup_dir" ? 0o700 : key === "unix_socket_path" ? 0o755 : 0o750;
}

/** MovedPath is a file that exists only where earlier versions looked for it: relative paths started at the working directory. */
export interface MovedPath {
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
