import { join } from "node:path";
import { parseDatabaseUrl } from "./base/database-url.ts";
import { usableMemory } from "./base/memory-budget.ts";
import type { Finding } from "./config/live.ts";
import type { Config } from "./config/schema.ts";
import type { LogEntry } from "./log/entry.ts";
import type { SiblingMetrics } from "./metrics/metrics.ts";

/** ProcessGroup is what a node knows of the others if it is one of several processes of one server (`serve --processes`). */
export interface ProcessGroup extends SiblingMetrics {
  /** How many processes the server has; they are numbered from 1. */
  readonly count: number;
  /** True if this process takes the place of one that still runs. */
  readonly takesOver: boolean;
  /** Passes an entry of the log on to the other processes. */
  relay(entry: LogEntry): void;
  /** Makes the others read the configuration again, after this process has done so for a caller. */
  reloadOthers(): void;
}

/**
 * `shareOf` returns the configuration of one process of a group: memory and cache are divided, and what only one can have belongs to
 * the first.
 */
export function shareOf(config: Config, { number, count }: Pick<ProcessGroup, "number" | "count">): Config {
  const isFirst = number === 1;
  const clientBytes = config.client_memory_bytes || Math.floor(usableMemory() / 4);
  const { cache_path, cache_bytes } = config.files;
  return {
    ...config,
    reuse_port: true,
    client_memory_bytes: Math.max(1, Math.floor(clientBytes / count)),
    static_cache_bytes: Math.floor(config.static_cache_bytes / count),
    enable_unix_socket: config.enable_unix_socket && isFirst,
    backup_every: isFirst ? config.backup_every : undefined,
    files: {
      ...config.files,
      // An index of the files is kept in memory, so each process has a folder of its own.
      cache_path: cache_path === undefined ? undefined : join(cache_path, `process-${number}`),
      cache_bytes: Math.floor(cache_bytes / count),
    },
  };
}

/** `inspectShared` reports what several processes cannot share. */
export function inspectShared({ database: { database_url }, files }: Config): Finding[] {
  const found: Finding[] = [];
  if ("sqlite" in parseDatabaseUrl(database_url))
    found.push({
      path: ["database", "database_url"],
      why: "names a SQLite file, which only one process can use; for --processes name PostgreSQL (`node-server migrate --to postgres://…` copies the data), or start without --processes",
    });
  if (files.url === undefined)
    found.push({
      path: ["files", "url"],
      why: "means plain files, which several processes cannot share; for --processes name an object store (`node-server migrate --files s3://…`, or `file:///…`, copies the files), or start without --processes",
    });
  return found;
}
