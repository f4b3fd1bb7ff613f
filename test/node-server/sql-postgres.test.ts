import { expect, test } from "bun:test";
import { chmod, chown, readFile, writeFile } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { SQL } from "bun";
import { systemClock } from "../../src/base/clock.ts";
import type { Fault } from "../../src/base/fault.ts";
import { PostgresOperator } from "../../src/db/operator/postgres/postgres-operator.ts";
import { makeCertificate } from "../support/certificate.ts";
import { type TestNode, testNode } from "../support/node.ts";
import { newPostgresDatabase, postgresUser, stoppablePostgres } from "../support/postgres.ts";
import { hello, newHome } from "../support/process.ts";
import type { SqlResult } from "../support/sql.ts";
import { until, within } from "../support/until.ts";

/** A new database that goes with its scope. */
async function ownDatabase() {
  const { url, drop } = await newPostgresDatabase();
  return { url, [Symbol.asyncDispose]: drop };
}

const select = "SELECT current_user AS who, 1 AS one";
type Caller = Pick<TestNode, "send" | "superToken">;
const send = (server: Caller, sql = select) => server.send("node-server_exec_sql", [server.superToken, sql]);
const exec = async (server: Caller, sql = select) => (await send(server, sql)).result as SqlResult;

/** Characters that have to be escaped somewhere between the URL and the wire. */
const password = "pä:ss w/örd|100%@home'";

/** Asks one role for its password in one way; the rest of the cluster is let in as before. */
async function demandPassword(admin: SQL, role: string, how: string): Promise<() => Promise<void>> {
  const [{ hba_file: path }] = (await admin.unsafe("SHOW hba_file")) as [{ hba_file: string }];
  const before = await readFile(path, "utf8");
  const line = `host all ${role} 127.0.0.1/32 ${how}\n`;
  await writeFile(path, line + before);
  await admin.unsafe("SELECT pg_reload_conf()");
  return async () => {
    await writeFile(path, (await readFile(path, "utf8")).replace(line, ""));
    await admin.unsafe("SELECT pg_reload_conf()");
  };
}

for (const [how, encryption] of [
  ["scram-sha-256", "scram-sha-256"],
  ["md5", "md5"],
  ["md5", "scram-sha-256"],
  ["password", "scram-sha-256"],
] as const) {
  test(`exec_sql signs in where PostgreSQL asks by ${how} for a ${encryption} password`, async () => {
    const { url, drop } = await newPostgresDatabase();
    await using admin = new SQL({ url, max: 1 });
    const role = `r_${crypto.randomUUID().replaceAll("-", "")}`;
    const quoted = `'${password.replaceAll("'", "''")}'`;
    await admin.unsafe(`SET password_encryption = '${encryption}'`);
    await admin.unsafe(`CREATE ROLE ${role} LOGIN PASSWORD ${quoted}`);
    await admin.unsafe(`GRANT ALL ON SCHEMA public TO ${role}`);
    const restore = await demandPassword(admin, role, how);
    try {
      const own = new URL(url);
      own.username = role;
      own.password = encodeURIComponent(password);
      await until("the new rule is in force", () => refusesWrongPassword(own));
      await using home = await newHome({}, own.href);
      const server = await home.serve();
      for (const _ of [1, 2]) expect((await exec(server)).data).toEqual([{ who: role, one: 1 }]);
      await admin.unsafe(`ALTER ROLE ${role} PASSWORD 'another one'`);
      const { error } = await send(server);
      expect(error).toMatchObject({ code: 103, data: { reason: "unavailable" } });
      expect(JSON.stringify(error)).not.toContain(role);
      await until("the log says why the database is lost", () =>
        server.stderr.includes(`password authentication failed for user \\"${role}\\"`),
      );
      const { stderr } = await home.run(["check", "--connect"]);
      expect(stderr).toMatch(
        /cannot be used: password authentication failed for user "\w+"; correct user and password in database_url, or set /,
      );
      expect(server.stderr + stderr).not.toContain("100%");
      // With another salt than before.
      await admin.unsafe(`ALTER ROLE ${role} PASSWORD ${quoted}`);
      await until("the database is back", async () =>
        (await send(server)).error === undefined ? true : undefined,
      );
      expect(await server.call("node-server_hello")).toBe(hello);
      await server.stop();
    } finally {
      await restore();
      await admin.unsafe(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
      await admin.close();
      await drop();
    }
  });
}

async function refusesWrongPassword(url: URL): Promise<true | undefined> {
  const wrong = new URL(url);
  wrong.password = "wrong";
  await using client = new SQL({ url: wrong.href, max: 1 });
  return client.unsafe("SELECT 1").then(
    () => undefined,
    () => true,
  );
}

/** Stands between a server and PostgreSQL, and can turn nasty to those who come new. */
async function nastyProxy(target: URL) {
  let mood: "kind" | "silent" | "curt" = "kind";
  const open = new Set<Socket>();
  const proxy = createServer((client) => {
    open.add(client);
    client.on("error", () => {});
    if (mood === "curt") client.destroy();
    if (mood !== "kind") return;
    const server = connect(Number(target.port), target.hostname);
    open.add(server);
    server.on("error", () => client.destroy()).on("close", () => client.destroy());
    client.on("close", () => server.destroy());
    client.pipe(server).pipe(client);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const address = proxy.address();
  const url = new URL(target);
  url.port = String(typeof address === "object" ? address?.port : 0);
  return {
    url: url.href,
    become: (next: typeof mood) => {
      mood = next;
    },
    [Symbol.dispose]() {
      for (const socket of open) socket.destroy();
      proxy.close();
    },
  };
}

for (const mood of ["silent", "curt"] as const) {
  test(`a PostgreSQL that is ${mood} to a new connection is told about, and holds up no later statement`, async () => {
    await using database = await ownDatabase();
    using proxy = await nastyProxy(new URL(database.url));
    await using node = await testNode({
      databaseUrl: proxy.url,
      databaseKeys: "timeout_ms = 1000",
    });
    expect((await exec(node)).row_count).toBe(1);
    proxy.become(mood);
    const calls = Array.from({ length: 6 }, () => send(node));
    const replies = await within("the calls are answered", Promise.all(calls));
    for (const { error } of replies) expect(error?.code).toBe(103);
    proxy.become("kind");
    expect((await exec(node)).row_count).toBe(1);
  });
}

test("a connection that PostgreSQL ends under a statement is told about, and the next one works", async () => {
  await using node = await testNode({ database: "postgres" });
  const running = send(node, "SELECT pg_sleep(600)");
  await using admin = new SQL({ url: node.databaseUrl, max: 1 });
  await until("the statement was ended", async () => {
    const ended = await admin.unsafe(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()",
    );
    return ended.length === 1 ? true : undefined;
  });
  expect((await running).error).toMatchObject({ code: 103, data: { sqlstate: "57P01" } });
  expect((await exec(node)).row_count).toBe(1);
});

test("a statement goes over TLS as sslmode says, and is cancelled over TLS", async () => {
  await using cluster = await stoppablePostgres();
  await using admin = new SQL({ url: cluster.url, max: 1 });
  const [{ data_directory: path }] = await admin.unsafe("SHOW data_directory");
  if (!(await makeCertificate({ path }, "localhost", "server-"))) return;
  for (const name of ["cert", "key"]) {
    if (postgresUser !== undefined) await chown(join(path, `server-${name}.pem`), postgresUser, postgresUser);
    await chmod(join(path, `server-${name}.pem`), 0o600);
  }
  const run = async (mode: string, sql: string, timeoutMs = 0) => {
    const options = { connectTimeoutMs: 5000, clock: systemClock, tableSizes: async () => new Map() };
    const operator = new PostgresOperator(`${cluster.url}${mode}`, options);
    const request = { sql, params: null, timeoutMs, maxBytes: 10_000, limit: 10_000 };
    return operator.run(request).then(({ text }) => JSON.parse(text).data, failureOf);
  };
  const failureOf = ({ data }: Fault) => data.reason;
  const isEncrypted = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
  const all = async () => {
    const modes = ["", "?sslmode=disable", "?sslmode=require", "?sslmode=verify-full"];
    return Promise.all(modes.map((mode) => run(mode, isEncrypted)));
  };
  expect(await all()).toEqual([[{ ssl: false }], [{ ssl: false }], "unavailable", "unavailable"]);
  for (const [key, name] of Object.entries({ ssl_cert_file: "cert", ssl_key_file: "key" }))
    await admin.unsafe(`ALTER SYSTEM SET ${key} = 'server-${name}.pem'`);
  await admin.unsafe("ALTER SYSTEM SET ssl = on");
  await admin.unsafe("SELECT pg_reload_conf()");
  await until("TLS is offered", async () => Array.isArray(await run("?sslmode=require", isEncrypted)));
  // Nobody vouches for the certificate.
  expect(await all()).toEqual([[{ ssl: true }], [{ ssl: false }], [{ ssl: true }], "unavailable"]);
  expect(await run("?sslmode=require", "SELECT pg_sleep(600)", 500)).toBe("sql_timeout");
});

test("statements leave no connection to PostgreSQL behind", async () => {
  await using node = await testNode({ database: "postgres", top: "max_response_body_size = 2000" });
  // Counted by a connection of its own: one of a statement may still be ending when the next is counted.
  await using admin = new SQL({ url: node.databaseUrl, max: 1 });
  const count = async () => {
    const [{ n }] = (await admin.unsafe(
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'",
    )) as [{ n: number }];
    return n;
  };
  // Four of the pool, one that hears of changes, which is opened after the start, and the one that counts.
  const kept = 6;
  await until("the server has opened all that it keeps", async () => (await count()) >= kept);
  for (let turn = 0; turn < 5; turn += 1) {
    await exec(node);
    await send(node, "SELEC");
    await send(node, "BEGIN; LOCK TABLE kv");
    await send(node, "SELECT repeat('x', 1000) FROM generate_series(1, 10000)");
  }
  await until("as many connections as before", async () => (await count()) <= kept);
});
