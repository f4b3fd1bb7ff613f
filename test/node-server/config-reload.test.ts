import { Database as SqliteFile } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SQL } from "bun";
import type { LogEntry } from "../../src/log/entry.ts";
import { makeCertificate } from "../support/certificate.ts";
import {
  configText,
  eachDatabase,
  initDatabase,
  type TestNode,
  type TestNodeOptions,
  tempFolder,
  testNode,
  type WireReply,
} from "../support/node.ts";
import { freePort, newPostgresDatabase } from "../support/postgres.ts";
import { cpuSeconds } from "../support/proc.ts";
import { hello, helloAt } from "../support/process.ts";
import { series, sqlChildrenOf } from "../support/sql.ts";
import { until } from "../support/until.ts";

/** The same on every database, so that calls go on after a move. */
const token = "sameEverywhere00:sameEverywhere00sameEverywhere00";

/** So that the outcome of a reload can be heard. */
const logging = 'memory_log_filter = "info"';

const openNode = (options: TestNodeOptions = {}) =>
  testNode({ logging, ...options, env: { NODE_SERVER_SUPER_TOKEN: token } });

async function newToken(node: TestNode): Promise<string> {
  const limit = { scopes: ["global"], permissions: [{ node: "get_database_type" }] };
  const made = (await node.call("token_create", [token, { token_limit: [limit] }])) as Record<string, string>;
  return `${made.key}:${made.secret}`;
}

type Settings = Pick<TestNodeOptions, "top" | "logging" | "databaseKeys">;

/** The node's own configuration with other settings, and maybe another database. */
function configOf(node: TestNode, settings: Settings, databaseUrl = node.databaseUrl): string {
  const storage = `static_path = ${JSON.stringify(join(node.folder, "static"))}\n`;
  return configText(databaseUrl, {
    logging,
    ...settings,
    top: storage + (settings.top ?? ""),
  });
}

const edit = (node: TestNode, config_string: string) =>
  node.call("node-server_edit_config", { token, config_string });
const entries = async (node: TestNode) => (await node.call("node-server_log", { token })) as LogEntry[];

/** The events that say how a reload ended. */
const outcomes: readonly unknown[] = ["config.applied", "config.unchanged", "config.refused"];

/** Fields of the entry about a reload that changed one part. */
const applied = (part: string) => ({ event: "config.applied", parts: [part] });

/** Edits, and waits for the entry that says how the reload ended. */
async function editAndHear(node: TestNode, config: string): Promise<LogEntry> {
  const about = (entry: LogEntry) => (outcomes.includes(entry.fields.event) ? [entry] : []);
  const before = node.node.ring.entries().flatMap(about).at(-1);
  expect(await edit(node, config)).toBe(true);
  return until("the reload is told", () => {
    const last = node.node.ring.entries().flatMap(about).at(-1);
    return last === before ? undefined : last;
  });
}

eachDatabase("an edit changes what the log in memory keeps, and how much", async (kind) => {
  await using node = await openNode({ database: kind });
  const config = (capacity: number, filter: string) =>
    configOf(node, {
      logging: `memory_log_capacity = ${capacity}\nmemory_log_filter = "${filter}"`,
    });
  const told = await editAndHear(node, config(50, "info,task=trace,audit=off"));
  expect(told).toMatchObject({ level: "INFO", target: "server", fields: applied("logging") });
  const log = node.node.hub.logger("task");
  for (let n = 0; n < 100; n += 1) log.trace(`event ${n}`);
  expect((await entries(node)).map(({ message }) => message)).toEqual(
    Array.from({ length: 50 }, (_, n) => `event ${50 + n}`),
  );
  await edit(node, config(3, "task=info"));
  await until("three entries are left", async () => ((await entries(node)).length === 3 ? true : undefined));
  log.debug("too small");
  log.info("heard");
  expect((await entries(node)).map(({ message }) => message)).toEqual(["event 98", "event 99", "heard"]);
  await edit(node, config(0, "trace"));
  await until("nothing is kept", async () => ((await entries(node)).length === 0 ? true : undefined));
});

test("an edit changes the limits of the next call, on open sockets too", async () => {
  await using node = await openNode();
  await using socket = await node.socket();
  const big = "x".repeat(5000);
  expect(await socket.call("node-server_hello", [big])).toMatchObject({ result: hello });
  await editAndHear(node, configOf(node, { top: "max_response_body_size = 1000" }));
  expect(await socket.call("rpc.discover")).toMatchObject({ error: { code: -32008 } });
  const top = "max_request_body_size = 65536\njsonrpc_max_connections = 1";
  await editAndHear(node, configOf(node, { top }));
  // The open socket is the one connection that is allowed.
  expect((await node.post("[]")).status).toBe(429);
  expect(await socket.call("node-server_hello")).toMatchObject({ result: hello });
});

eachDatabase(
  "an edit moves the listener: the answer still comes, then the new place counts",
  async (kind) => {
    await using node = await openNode({ database: kind });
    const old = node.url;
    const port = await freePort();
    const socket = await node.socket();
    const config = configOf(node, { top: `ws_listener = "127.0.0.1:${port}"` });
    expect(await socket.call("node-server_edit_config", { token, config_string: config })).toMatchObject({
      result: true,
    });
    expect(await socket.closed).toMatchObject({ code: 1001 });
    await until("the new place answers", async () =>
      (await helloAt(`http://127.0.0.1:${port}`)) === hello ? true : undefined,
    );
    expect(node.url).toBe(`http://127.0.0.1:${port}`);
    await until("the old place is left", async () => ((await helloAt(old)) === undefined ? true : undefined));
    expect(await node.call("node-server_read_config", { token })).toBe(config);
  },
);

eachDatabase(
  "an edit moves to another database, where the server finds everything it needs",
  async (kind) => {
    await using node = await openNode({ database: kind });
    const other = kind === "postgres" ? await newPostgresDatabase() : undefined;
    const url = other?.url ?? `sqlite://${join(node.folder, "other", "node.db")}?mode=rwc`;
    const made = await newToken(node);
    const known = () => node.send("node-server_get_database_type", { token: made });
    expect(await known()).toHaveProperty("result");
    await initDatabase(url, token);
    const told = await editAndHear(node, configOf(node, {}, url));
    expect(told.fields).toMatchObject(applied("database"));
    expect((await known()).error?.code).toBe(102);
    expect(await node.call("node-server_database_storage", { token })).toHaveProperty("tables.token");
    await node.call("node-server_exec_sql", { token, sql: "CREATE TABLE only_here (a INT)" });
    await editAndHear(node, configOf(node, {}));
    expect(await known()).toHaveProperty("result");
    expect(await node.call("node-server_database_storage", { token })).not.toHaveProperty("tables.only_here");
    await other?.drop();
  },
);

eachDatabase(
  "an edit cannot move to a database without a Super Token, whatever the environment says",
  async (kind) => {
    await using node = await openNode({ database: kind });
    const other = kind === "postgres" ? await newPostgresDatabase() : undefined;
    const url = other?.url ?? `sqlite://${join(node.folder, "other", "node.db")}?mode=rwc`;
    await initDatabase(url, token);
    if (other === undefined) {
      using file = new SqliteFile(join(node.folder, "other", "node.db"));
      file.run("DELETE FROM token");
    } else {
      await using sql = new SQL({ url, max: 1 });
      await sql`DELETE FROM token`;
    }
    const told = await editAndHear(node, configOf(node, {}, url));
    expect(told).toMatchObject({ level: "ERROR", message: expect.stringContaining("has no Super Token") });
    expect(await node.call("token_get", [token])).toMatchObject({ username: "root" });
    await other?.drop();
  },
);

test("an edit may spell the same SQLite file in another way", async () => {
  await using node = await openNode();
  const url = node.databaseUrl.replace("/data/", "/data/../data/");
  expect((await editAndHear(node, configOf(node, {}, url))).fields).toMatchObject(applied("database"));
  await newToken(node);
});

/** A statement that is under way until the test lets it go on; it answers one row with `n = 8000000`. */
interface HeldStatement {
  readonly reply: Promise<WireReply>;
  isRunning(): boolean;
  goOn(): Promise<void>;
}

function begin(node: TestNode, sql: string): Omit<HeldStatement, "goOn"> {
  let running = true;
  const reply = node.send("node-server_exec_sql", { token, sql }).finally(() => {
    running = false;
  });
  return { reply, isRunning: () => running };
}

/** One of PostgreSQL, which waits for a lock. */
async function lockedStatement(node: TestNode): Promise<HeldStatement> {
  const client = new SQL({ url: node.databaseUrl, max: 1 });
  node.beforeClose(() => client.close());
  await client`SELECT pg_advisory_lock(1)`;
  const begun = begin(node, "SELECT pg_advisory_xact_lock(1)::text, 8000000 AS n");
  await until("it waits for the lock", async () => {
    const waiting =
      await client`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`;
    return waiting.length === 1;
  });
  return {
    ...begun,
    async goOn() {
      await client`SELECT pg_advisory_unlock(1)`;
    },
  };
}

/** One of SQLite, whose process is suspended. */
async function suspendedStatement(node: TestNode, attempts = 10): Promise<HeldStatement> {
  const begun = begin(node, `SELECT count(*) AS n FROM ${series("sqlite", 8_000_000)}`);
  const child = await until("it computes", async () => {
    const [pid] = await sqlChildrenOf(process.pid);
    const seconds = pid === undefined ? 0 : await cpuSeconds({ pid }).catch(() => 0);
    return (seconds > 0.2 || !begun.isRunning()) && pid;
  });
  process.kill(child, "SIGSTOP");
  // An answer that was on its way arrives before this one.
  expect(await helloAt(node.url)).toBe(hello);
  if (begun.isRunning() || attempts === 1)
    return {
      ...begun,
      async goOn() {
        process.kill(child, "SIGCONT");
      },
    };
  // A busy machine may have noticed it too late.
  process.kill(child, "SIGKILL");
  await until("its process is gone", async () => !(await sqlChildrenOf(process.pid)).includes(child));
  return suspendedStatement(node, attempts - 1);
}

eachDatabase("a statement that runs goes on while the database's settings change", async (kind) => {
  await using node = await openNode({ database: kind });
  const held = await (kind === "sqlite" ? suspendedStatement(node) : lockedStatement(node));
  const databaseKeys = "timeout_ms = 2999";
  const told = await editAndHear(node, configOf(node, { databaseKeys }));
  expect(told.fields).toMatchObject(applied("database"));
  expect(held.isRunning()).toBe(true);
  await held.goOn();
  expect((await held.reply).result).toMatchObject({ data: [{ n: 8_000_000 }] });
});

test("an edit moves from SQLite to PostgreSQL and back", async () => {
  await using node = await openNode();
  const other = await newPostgresDatabase();
  const kind = async () =>
    ((await node.call("node-server_get_database_type", { token })) as { data: string }).data;
  await initDatabase(other.url, token);
  await editAndHear(node, configOf(node, {}, other.url));
  expect(await kind()).toBe("postgres");
  await editAndHear(node, configOf(node, {}));
  expect(await kind()).toBe("sqlite");
  await other.drop();
});

test("an edit opens, moves and closes the Unix socket", async () => {
  await using node = await openNode();
  const [one, two] = [join(node.folder, "one.sock"), join(node.folder, "two.sock")];
  const at = (unix: string) => helloAt("http://unix", { unix });
  const config = (top: string) => configOf(node, { top });
  for (const path of [one, two]) {
    await editAndHear(node, config(`enable_unix_socket = true\nunix_socket_path = "${path}"`));
    expect(await at(path)).toBe(hello);
  }
  await until("the first is gone", async () => ((await at(one)) === undefined ? true : undefined));
  expect((await editAndHear(node, config(""))).fields).toMatchObject(applied("unix socket"));
  await until("the second is gone", async () => ((await at(two)) === undefined ? true : undefined));
});

test("an edit that changes nothing says so, and one with unknown keys names them", async () => {
  await using node = await openNode();
  const text = await readFile(node.configPath, "utf8");
  expect((await editAndHear(node, `# only a comment\n${text}`)).fields.event).toBe("config.unchanged");
  await editAndHear(node, `colour = 1\n${text}`);
  expect(await entries(node)).toContainEqual(
    expect.objectContaining({ level: "WARN", message: expect.stringContaining("colour") }),
  );
});

eachDatabase("what cannot be applied leaves the server as it was, and the log says why", async (kind) => {
  await using node = await openNode({ database: kind });
  await using socket = await node.socket();
  using taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { url } = node;
  const silent = "memory_log_capacity = 0";
  const nowhere = await freePort();
  const port = new URL(url).port;
  for (const [config, why] of [
    [
      configOf(node, { top: `ws_listener = "127.0.0.1:${taken.port}"`, logging: silent }),
      { kind: "IoError", reason: expect.stringContaining(`127.0.0.1:${taken.port}`) },
    ],
    [
      configOf(node, { logging: silent }, `postgres://root:hidden-word@127.0.0.1:${nowhere}/x`),
      { kind: "DatabaseError", reason: expect.stringContaining(`127.0.0.1:${nowhere}/x`) },
    ],
    [
      configOf(node, { logging: silent }, "sqlite:///proc/nowhere/node.db?mode=rwc"),
      { reason: expect.stringContaining("/proc/nowhere") },
    ],
    [
      configOf(node, {
        top: `ws_listener = "127.0.0.1:${port}"\ntls_cert = "no.pem"\ntls_key = "no.key"`,
        logging: silent,
      }),
      { problems: [{ field: "tls_cert" }] },
    ],
  ] as const) {
    const told = await editAndHear(node, config);
    expect(told).toMatchObject({ level: "ERROR", target: "server" });
    expect(told.fields).toMatchObject({ event: "config.refused", ...why });
    expect(JSON.stringify(told)).not.toContain("hidden-word");
    expect(node.url).toBe(url);
    expect(await socket.call("node-server_hello")).toMatchObject({ result: hello });
    // The log in memory is still on, so no part of the refused text is in force; the text itself is on the disk.
    expect((await entries(node)).length).toBeGreaterThan(0);
    expect(await node.call("node-server_read_config", { token })).toBe(config);
    await newToken(node);
  }
  const repaired = await editAndHear(node, configOf(node, {}));
  expect(repaired.fields.event).toBe("config.unchanged");
});

test("a reload that is refused after its listener was bound drops no connection", async () => {
  await using folder = await tempFolder();
  if (!(await makeCertificate(folder, "node"))) return;
  using taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const port = await freePort();
  const pair = `tls_cert = "${folder.path}/cert.pem"\ntls_key = "${folder.path}/key.pem"\n`;
  const top = `ws_listener = "127.0.0.1:${port}"\n${pair}`;
  await using node = await openNode({ top });
  let [isOver, answered] = [false, 0];
  const visits = Array.from({ length: 6 }, async () => {
    while (!isOver) {
      const tls = { rejectUnauthorized: false };
      const { status } = await fetch(`${node.url}/node/health`, { keepalive: false, tls });
      expect(status).toBe(200);
      answered += 1;
    }
  });
  const refused = configOf(node, { top: `${top}[s3]\nlistener = "127.0.0.1:${taken.port}"\n` });
  for (let turn = 0; turn < 3; turn += 1) {
    await makeCertificate(folder, `other${turn}`);
    await writeFile(node.configPath, refused);
    expect(await node.node.reload()).toBe("refused");
    const before = answered;
    await until("visits go on", () => answered > before + 20);
  }
  isOver = true;
  await Promise.all(visits);
}, 60_000);
