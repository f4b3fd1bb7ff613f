import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { BlobSettings } from "../../../src/blobs/open-blobs.ts";
import { quietPort } from "../installed.ts";
import { tempFolder } from "../node.ts";
import { stoppablePostgres } from "../postgres.ts";
import { type PostgresRelay, postgresRelay } from "../postgres-relay.ts";
import { applied, Home, type Server, sendTo } from "../process.ts";
import { openRelay, type Relay } from "../relay.ts";
import { seaweed } from "../seaweed.ts";
import { until } from "../until.ts";

/** The Super Token of every cluster, given by the environment, so that it is the same on every node. */
export const superToken = "clusterCluster00:clusterClusterClusterClusterClus";
/** The host name of S3 on every cluster. */
export const s3Host = "s3.test";
/** All nodes of a cluster have the same. */
const linkKey = randomBytes(32).toString("base64");
export const basic = (token: string) => `Basic ${Buffer.from(token).toString("base64")}`;

export type ClusterStore = "s3" | "folder";

export interface ClusterOptions {
  readonly store: ClusterStore;
  /** Another binary than that of this test run. Each node has a link to it of its own. */
  readonly binary?: string;
  /** TOML lines above the tables. */
  readonly top?: string;
  readonly databaseKeys?: string;
  /** Further TOML lines of `[files]`. */
  readonly files?: string;
  /** How long a node waits for the store; default: longer than a busy machine takes. */
  readonly storeTimeoutMs?: number;
  /** False keeps from each node what the others notify, as some poolers do. */
  readonly notifies?: boolean;
}

const nodeCount = 3;
type Postgres = Awaited<ReturnType<typeof stoppablePostgres>>;

interface NodeParts {
  readonly number: number;
  readonly home: Home;
  readonly port: number;
  readonly database: PostgresRelay;
  readonly blobs: Relay | undefined;
  readonly binary: string | undefined;
}

/**
 * ClusterNode is a node of the compiled server, with a relay to PostgreSQL and one to the S3 store. Its address stays the same
 * over restarts.
 */
export class ClusterNode implements AsyncDisposable {
  server: Server | undefined;
  readonly number: number;
  readonly url: string;
  readonly database: PostgresRelay;
  /** Undefined where the store is a folder. */
  readonly blobs: Relay | undefined;
  readonly #home: Home;
  readonly #binary: string | undefined;

  constructor({ number, home, port, database, blobs, binary }: NodeParts) {
    this.number = number;
    this.url = `http://127.0.0.1:${port}`;
    this.database = database;
    this.blobs = blobs;
    this.#home = home;
    this.#binary = binary;
  }

  async start(): Promise<void> {
    const env = { NODE_SERVER_SUPER_TOKEN: superToken, NODE_SERVER_S3_HOST: s3Host };
    this.server = await this.#home.serve({ env, binary: this.#binary });
  }

  /** Starts it, again if that fails: the limits of a node may be too short for a busy machine, and its database or store away. */
  async startAgain(): Promise<void> {
    let cause: unknown;
    const start = () =>
      this.start().then(
        () => true,
        (error: unknown) => {
          cause = error;
          return false;
        },
      );
    await until(`node ${this.number} starts`, start).catch((error: unknown) => {
      throw new Error(String(error), { cause });
    });
  }

  /** Changes its configuration, and applies that. */
  async edit(change: (config: string) => string): Promise<void> {
    const path = this.#home.configPath;
    await writeFile(path, change(await readFile(path, "utf8")));
    const told = await this.server?.reload();
    if (told?.event !== applied().event) throw new Error(`not edited: ${told?.line}`);
  }

  async kill(): Promise<void> {
    this.server?.signal("SIGKILL");
    await this.server?.exited;
  }

  get isReady(): Promise<boolean> {
    return fetch(`${this.url}/node/ready`, { keepalive: false, signal: AbortSignal.timeout(10_000) }).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#home[Symbol.asyncDispose]();
    await this.database[Symbol.asyncDispose]();
    await this.blobs?.[Symbol.asyncDispose]();
  }
}

/** Cluster is three nodes on one PostgreSQL and one store, with the bucket `site`. */
export class Cluster implements AsyncDisposable {
  private constructor(
    readonly nodes: readonly ClusterNode[],
    readonly postgres: Postgres,
    readonly blobs: BlobSettings,
    readonly folder: AsyncDisposable,
  ) {}

  static async open(options: ClusterOptions): Promise<Cluster> {
    const [postgres, folder] = await Promise.all([stoppablePostgres(), tempFolder()]);
    const blobs = await blobSettings(options, folder.path);
    const nodes = await Promise.all(
      Array.from({ length: nodeCount }, (_, number) => newNode(number, { postgres, blobs, options })),
    );
    const cluster = new Cluster(nodes, postgres, blobs, folder);
    await Promise.all(nodes.map((node) => node.startAgain()));
    await until("the bucket is made", async () => {
      const { error } = await sendTo(cluster.node(0).url, "static-bucket_create", [superToken, "site"]);
      // A call that took too long may have made it.
      if (error === undefined || error.message.includes("exists already")) return true;
      if (error.data.reason !== "unavailable") throw new Error(`no bucket: ${JSON.stringify(error)}`);
      return false;
    });
    await cluster.untilReady();
    return cluster;
  }

  node(number: number): ClusterNode {
    return this.nodes[number % nodeCount] as ClusterNode;
  }

  /** Waits until every node is ready and knows the bucket. */
  async untilReady(): Promise<void> {
    for (const node of this.nodes) {
      await until(`node ${node.number} is ready`, () => node.isReady);
      const headers = { authorization: basic(superToken), depth: "0" };
      const look = () => fetch(`${node.url}/node/static-webdav/site/`, { method: "PROPFIND", headers });
      await until(`node ${node.number} has the bucket`, async () => (await look()).status === 207);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.nodes.map((node) => node[Symbol.asyncDispose]()));
    await this.postgres[Symbol.asyncDispose]();
    await this.folder[Symbol.asyncDispose]();
  }
}

async function blobSettings(
  { store, storeTimeoutMs = 60_000 }: ClusterOptions,
  folder: string,
): Promise<BlobSettings> {
  const common = { path_style: true, request_timeout_ms: storeTimeoutMs };
  if (store === "folder") {
    const blobs = join(folder, "blobs");
    await mkdir(blobs);
    return { ...common, url: `file://${blobs}` };
  }
  const { location } = await seaweed();
  return {
    ...common,
    url: `s3://${location.bucket}/${crypto.randomUUID()}`,
    endpoint: location.endpoint,
    access_key_id: location.accessKeyId,
    secret_access_key: location.secretAccessKey,
  };
}

interface Shared {
  readonly postgres: Postgres;
  readonly blobs: BlobSettings;
  readonly options: ClusterOptions;
}

async function newNode(number: number, { postgres, blobs, options }: Shared): Promise<ClusterNode> {
  const [home, port, database] = await Promise.all([Home.open(), quietPort(), postgresRelay(postgres.url)]);
  database.passesNotifications = options.notifies ?? true;
  const relay =
    blobs.endpoint === undefined ? undefined : await openRelay(Number(new URL(blobs.endpoint).port));
  const own = relay === undefined ? blobs : { ...blobs, endpoint: relay.url };
  const files = Object.entries(own).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`);
  await home.configure(
    {
      top: `ws_listener = "127.0.0.1:${port}"\n${options.top ?? ""}`,
      databaseKeys: options.databaseKeys ?? "",
      files: files.join("") + (options.files ?? ""),
    },
    database.url,
  );
  await writeFile(home.file("config.link-key"), `${linkKey}\n`, { mode: 0o600 });
  const installed = home.file("bin/node-server");
  if (options.binary !== undefined) {
    await mkdir(home.file("bin"));
    await link(options.binary, installed);
  }
  return new ClusterNode({
    number,
    home,
    port,
    database,
    blobs: relay,
    binary: options.binary === undefined ? undefined : installed,
  });
}
