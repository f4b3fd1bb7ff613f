import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { closeShared } from "../../test/support/test-run.ts";
import { type Bench, type Settings, type Site, start } from "../servers/node-server.ts";
import { type Content, fillStore } from "./fill.ts";

const databases = ["SQLite", "PostgreSQL"] as const;
const stores = ["disk", "folder", "SeaweedFS"] as const;
export type DatabaseName = (typeof databases)[number];
export type StoreName = (typeof stores)[number];

/** StoreSite is a server of ours with one of the stores of files on one of the databases. */
export interface StoreSite {
  readonly store: StoreName;
  readonly database: DatabaseName;
  readonly site: Site;
  /** The processes that work for the server beside it: PostgreSQL, SeaweedFS. */
  readonly helpers: readonly number[];
}

/** Backends are the programs that keep rows and blobs for the servers of a run. */
export interface Backends extends AsyncDisposable {
  /** Whether SeaweedFS is installed. */
  readonly hasSeaweed: boolean;
  /** Settings for a server with files in this store and rows in this database, with a place of its own in both. */
  settings(name: string, store: StoreName, database: DatabaseName): Promise<BackendSettings>;
}

interface BackendSettings {
  readonly settings: Settings;
  readonly helpers: readonly number[];
}

export interface BackendOptions {
  /** Whether PostgreSQL waits for the disk at every commit. */
  readonly sync: boolean;
}

/** openBackends starts PostgreSQL, and SeaweedFS if it is installed. To be called before this process is kept on a core. */
export async function openBackends(bench: Bench, { sync }: BackendOptions): Promise<Backends> {
  // These load the server's source; other parts of the benchmark need nothing of it.
  const { administrate, stoppablePostgres } = await import("../../test/support/postgres.ts");
  const { hasSeaweed, seaweed } = await import("../../test/support/seaweed.ts");
  await using opening = new AsyncDisposableStack();
  const postgres = opening.use(await stoppablePostgres({ sync }));
  const cluster = postgres.url.slice(0, postgres.url.lastIndexOf("/"));
  const s3 = hasSeaweed ? await seaweed() : undefined;
  opening.defer(closeShared);
  const started = opening.move();
  const files = async (name: string, store: StoreName): Promise<string> => {
    if (store === "disk") return "";
    if (store === "SeaweedFS" && s3 !== undefined) {
      const { endpoint, accessKeyId, secretAccessKey } = s3.location;
      return `url = "s3://test/${name}"\nendpoint = "${endpoint}"\naccess_key_id = "${accessKeyId}"\nsecret_access_key = "${secretAccessKey}"\ncache_path = "${join(bench.folder, name, "cache")}"`;
    }
    const folder = join(bench.folder, name, "blobs");
    await mkdir(folder, { recursive: true });
    return `url = "file://${folder}"`;
  };
  return {
    hasSeaweed,
    async settings(name, store, database) {
      const settings = { files: await files(name, store) };
      const helpers = store === "SeaweedFS" && s3 !== undefined ? [s3.pid] : [];
      if (database === "SQLite") return { settings, helpers };
      const databaseName = name.replaceAll("-", "_");
      await administrate(cluster, `CREATE DATABASE ${databaseName}`);
      return {
        settings: { ...settings, databaseUrl: `${cluster}/${databaseName}` },
        helpers: [...helpers, postgres.pid],
      };
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

export interface SitesOptions {
  readonly content: Content;
  /** Whether every store is on SQLite, and only the folder on PostgreSQL too. */
  readonly isShort: boolean;
}

/** makeSites returns a server for each store on each database, all with the same content. */
export async function makeSites(
  bench: Bench,
  backends: Backends,
  { content, isShort }: SitesOptions,
): Promise<StoreSite[]> {
  const sites: StoreSite[] = [];
  for (const database of databases)
    for (const store of stores) {
      if (store === "SeaweedFS" && !backends.hasSeaweed) continue;
      if (isShort && database !== "SQLite" && store !== "folder") continue;
      const name = `stores-${store}-${database}`.toLowerCase();
      const { settings, helpers } = await backends.settings(name, store, database);
      const site = await bench.site(name, settings);
      await using server = await start(site.program);
      await fillStore(server.port, store === "disk" ? { folder: site.buckets } : "rows", content);
      sites.push({ store, database, site, helpers });
    }
  return sites;
}
