import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { PasswordCost } from "../../src/auth/passwords.ts";
import { ensureSuperToken } from "../../src/auth/super-token.ts";
import { sourceProgram } from "../../src/build.ts";
import { type ConsoleFiles, packFastConsole, unpackConsole } from "../../src/bundle.ts";
import { openDatabase } from "../../src/db/database.ts";
import { LogHub } from "../../src/log/hub.ts";
import { type Node, openNode } from "../../src/node.ts";
import type { NodeOptions } from "../../src/node-options.ts";
import type { MethodTable } from "../../src/rpc/method.ts";
import type { Services } from "../../src/services.ts";
import { longTimeoutMs, settingsFor } from "./database-settings.ts";
import type { ManualClock } from "./manual-clock.ts";
import { databaseFor, postgresAt } from "./node-database.ts";
import { openSocket, type TestSocket } from "./socket.ts";
import { test } from "./test.ts";
import { madeOnce } from "./test-run.ts";
import { chosenFor, tier } from "./tier.ts";

export type DatabaseKind = "sqlite" | "postgres";
export const databaseKinds: readonly DatabaseKind[] = ["sqlite", "postgres"];

/** A server on PostgreSQL costs three times as much as one on SQLite, so the fast tier chooses it for one story of four. */
const fastDatabaseKinds: readonly DatabaseKind[] = ["sqlite", "sqlite", "sqlite", "postgres"];

/** eachDatabase declares a story on both databases; the fast tier runs it on the one that its title chooses. */
export function eachDatabase(
  title: string,
  story: (kind: DatabaseKind) => Promise<void>,
  timeoutMs?: number,
): void {
  for (const kind of tier === "fast" ? chosenFor(title, fastDatabaseKinds) : databaseKinds)
    test(`${title} (${kind})`, () => story(kind), timeoutMs);
}

/** bothDatabases declares a story of a contract suite: it runs on both databases in every tier. */
export function bothDatabases(
  title: string,
  story: (kind: DatabaseKind) => Promise<void>,
  timeoutMs?: number,
): void {
  for (const kind of databaseKinds) test(`${title} (${kind})`, () => story(kind), timeoutMs);
}

export type StoreKind = "disk" | "objects over sqlite" | "objects over postgres";
export const storeKinds: readonly StoreKind[] = ["disk", "objects over sqlite", "objects over postgres"];

/** Every store of files over every database. */
const combinations: readonly StoreOptions[] = [
  { store: "disk" },
  { store: "objects over postgres" },
  { store: "disk", database: "postgres" },
  { store: "objects over sqlite" },
];

/**
 * storesFor chooses the combinations of a story of files by its title. The fast tier takes one. `test:all` takes that one and another, so
 * that it meets both stores and both databases: the disk over SQLite and objects over PostgreSQL, or the disk over PostgreSQL and objects
 * over SQLite. `test:long` takes all four.
 */
export function storesFor(title: string): readonly StoreOptions[] {
  if (tier !== "all") return chosenFor(title, combinations);
  return Bun.hash.crc32(title) % 4 < 2 ? combinations.slice(0, 2) : combinations.slice(2);
}

/** eachStore declares a story of files on the combinations that `storesFor` chooses. */
export function eachStore(
  title: string,
  story: (options: StoreOptions) => Promise<void>,
  timeoutMs?: number,
): void {
  for (const options of storesFor(title)) test(titleOn(title, options), () => story(options), timeoutMs);
}

/** everyStore declares a story of a contract suite of files: it runs on every store over every database in every tier. */
export function everyStore(
  title: string,
  story: (options: StoreOptions) => Promise<void>,
  timeoutMs?: number,
): void {
  for (const options of combinations) test(titleOn(title, options), () => story(options), timeoutMs);
}

/**
 * clientStory declares a story of a program of others, which cannot tell the stores apart: contract suites prove that they behave alike.
 * It runs on the combination that its title chooses, in `test:long` on all four.
 */
export function clientStory(
  title: string,
  story: (options: StoreOptions) => Promise<void>,
  timeoutMs?: number,
): void {
  for (const options of chosenFor(title, combinations, ["fast", "all"]))
    test(titleOn(title, options), () => story(options), timeoutMs);
}

/** The title of a story on one of the stores. */
export function titleOn(title: string, { store, database }: StoreOptions): string {
  return `${title} (${database === undefined ? store : `${store}, ${database}`})`;
}

/** StoreOptions are the options of `testNode` that choose a store. */
export type StoreOptions = Required<Pick<TestNodeOptions, "store">> & Pick<TestNodeOptions, "database">;

export interface WireReply {
  readonly jsonrpc: "2.0";
  readonly result?: unknown;
  readonly error?: { code: number; message: string; data: Record<string, unknown> };
  readonly id: unknown;
}

export interface TestNodeOptions {
  /** Default: that of the store. */
  readonly database?: DatabaseKind;
  /** Where the files of buckets are; default: on the disk. */
  readonly store?: StoreKind;
  /** A database of the test's own, in place of a new one. */
  readonly databaseUrl?: string;
  /** A database without the schema, which the start makes. */
  readonly newDatabase?: boolean;
  /** TOML lines above the tables. */
  readonly top?: string;
  readonly logging?: string;
  readonly databaseKeys?: string;
  /** TOML lines of `[files]`; default: those of the store. */
  readonly files?: string;
  readonly env?: Record<string, string>;
  /** Default: the folder of the configuration. */
  readonly workingDirectory?: string;
  readonly methods?: MethodTable<Services>;
  /** Hash passwords at the product's cost, for tests that are about the time of a check. */
  readonly realPasswordCost?: boolean;
  /** A clock that the story turns; default: the system's. */
  readonly clock?: ManualClock;
  /** Where host names lead; default: where the DNS says. */
  readonly reach?: NodeOptions["reach"];
  /** What tells this node apart from others on the same database. */
  readonly cluster?: NodeOptions["cluster"];
  /** Called in place of a restart into another binary. */
  readonly restart?: () => void;
}

export interface TestNode extends AsyncDisposable {
  readonly node: Node;
  readonly store: StoreKind;
  /** The TOML lines of `[files]`. */
  readonly files: string;
  readonly url: string;
  readonly folder: string;
  readonly configPath: string;
  readonly databaseUrl: string;
  /** `<key>:<secret>` of the Super Token. */
  readonly superToken: string;
  readonly rootPassword: string;
  /** The name of the story's bucket, which the story makes; `site` where the server belongs to the story alone. */
  readonly bucket: string;
  /** A name that no other story on this server has; the same name where the server belongs to the story alone. */
  own(name: string): string;
  /** Sends any body to the JSON-RPC route. */
  post(body: string | Uint8Array, headers?: Record<string, string>): Promise<Response>;
  /** One call; the whole answer. */
  send(method: string, params?: unknown): Promise<WireReply>;
  /** One call that must succeed; its result. */
  call(method: string, params?: unknown): Promise<unknown>;
  /** One call that must fail; its error. */
  refused(method: string, params?: unknown): Promise<NonNullable<WireReply["error"]>>;
  /** A token with these limits, as text. */
  /** editConfig writes the configuration by its method, and waits for the reload that this begins. */
  editConfig(text: string): Promise<void>;
  newToken(limits: unknown, more?: Record<string, unknown>): Promise<string>;
  socket(): Promise<TestSocket>;
  /** Closes something that a test has opened beside the server, such as a connection to its database, before the server is closed. */
  beforeClose(close: () => Promise<void>): void;
  /** Straight to the database, past the server. */
  sql(statement: string): Promise<void>;
}

/** A folder that is gone at the end of its scope. */
export async function tempFolder(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), "node-server-test-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** The least that argon2 allows: most tests need a password that is checked, not one that is hard to guess. */
export const lowPasswordCost: PasswordCost = { memoryCost: 8, timeCost: 1 };

let unpacked: Promise<ConsoleFiles> | undefined;

/** The console, bundled once for a test run and read once for all servers of this process. */
export function sharedConsole(): Promise<ConsoleFiles> {
  unpacked ??= packedConsole().then(unpackConsole);
  return unpacked;
}

/** The console as it is put into a binary. */
export async function packedConsole(): Promise<Uint8Array<ArrayBuffer>> {
  const path = await madeOnce("console.pack", async (path) => writeFile(path, await packFastConsole()));
  return await Bun.file(path).bytes();
}

/** A whole server in this process: real database, real disk, real sockets; gone at the end of its scope. */
export async function testNode(options: TestNodeOptions = {}): Promise<TestNode> {
  await using starting = new AsyncDisposableStack();
  const folder = starting.use(await tempFolder());
  const database =
    options.databaseUrl === undefined
      ? await databaseFor(options, folder.path)
      : { ...postgresAt(options.databaseUrl), async drop() {} };
  starting.defer(() => database.drop());
  const configPath = join(folder.path, "config.toml");
  const storage = options.top?.includes("static_path")
    ? ""
    : `static_path = ${JSON.stringify(join(folder.path, "static"))}\n`;
  const files = options.files ?? (await filesFor(options.store ?? "disk", folder.path));
  await writeFile(
    configPath,
    configText(database.url, { ...options, files, top: storage + (options.top ?? "") }),
  );
  let credentials: { token: string; password: string } | undefined;
  const node = await openNode({
    configPath,
    workingDirectory: options.workingDirectory ?? folder.path,
    env: { RUST_LOG: "off", ...options.env },
    show: (made) => {
      credentials = made;
    },
    loadConsole: sharedConsole,
    ...(options.cluster === undefined ? {} : { cluster: options.cluster }),
    ...(options.clock === undefined ? {} : { clock: options.clock }),
    ...(options.reach === undefined ? {} : { reach: options.reach }),
    ...(options.restart === undefined
      ? {}
      : { program: { installed: sourceProgram, restart: options.restart } }),
    ...(options.realPasswordCost ? {} : { passwordCost: lowPasswordCost }),
    ...(options.methods === undefined ? {} : { extraMethods: options.methods }),
  });
  const post: TestNode["post"] = (body, headers) =>
    fetch(`${node.url}/jsonrpc`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
      // A certificate of a story is signed by nobody that this process trusts.
      tls: { rejectUnauthorized: false },
    });
  const send: TestNode["send"] = async (method, params) =>
    (await (await post(JSON.stringify({ jsonrpc: "2.0", method, params, id: 1 }))).json()) as WireReply;
  const call: TestNode["call"] = async (method, params) => {
    const reply = await send(method, params);
    if (reply.error !== undefined) throw new Error(`${method} failed: ${JSON.stringify(reply.error)}`);
    return reply.result;
  };
  const superToken = credentials?.token ?? "";
  starting.defer(async () => {
    using _running = options.clock?.run();
    await node.close();
  });
  const started = starting.move();
  return {
    node,
    store: options.store ?? "disk",
    files,
    get url() {
      return node.url;
    },
    folder: folder.path,
    configPath,
    databaseUrl: database.url,
    superToken,
    rootPassword: credentials?.password ?? "",
    bucket: "site",
    own: (name) => name,
    post,
    send,
    call,
    async refused(method, params) {
      const reply = await send(method, params);
      if (reply.error === undefined)
        throw new Error(`${method} did not fail: ${JSON.stringify(reply.result)}`);
      return reply.error;
    },
    async editConfig(config_string) {
      await call("node-server_edit_config", { token: superToken, config_string });
      // The method answers when its reload has begun; the next reload waits for it.
      await node.reload();
    },
    async newToken(token_limit, more) {
      const made = (await call("token_create", [superToken, { token_limit, ...more }])) as {
        key: string;
        secret: string;
      };
      return `${made.key}:${made.secret}`;
    },
    socket: () => openSocket(node.url),
    sql: database.run,
    beforeClose: (close) => started.defer(close),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/**
 * What a server on PostgreSQL gets unless its story sets the key: a limit that a busy machine does not reach, and few connections.
 * Every connection of a pool is opened at the start, and is a process of PostgreSQL: ten of them took half the time of a start.
 */
const postgresKeys = { timeout_ms: longTimeoutMs, max_connections: 4 };

function withPatience(databaseUrl: string, databaseKeys: string): string {
  if (databaseUrl.startsWith("sqlite")) return databaseKeys;
  const missing = Object.entries(postgresKeys).filter(
    ([key]) => !new RegExp(`^${key} =`, "m").test(databaseKeys),
  );
  return missing.map(([key, value]) => `${key} = ${value}\n`).join("") + databaseKeys;
}

export function configText(
  databaseUrl: string,
  options: Omit<TestNodeOptions, "database" | "databaseUrl" | "store" | "env" | "methods"> = {},
): string {
  const listener = options.top?.includes("ws_listener") ? "" : 'ws_listener = "127.0.0.1:0"\n';
  return `${listener}${options.top ?? ""}\n[logging]\n${options.logging ?? ""}\n[database]\ndatabase_url = ${JSON.stringify(databaseUrl)}\n${withPatience(databaseUrl, options.databaseKeys ?? "")}\n${options.files ? `[files]\n${options.files}\n` : ""}`;
}

/** Makes the schema and the Super Token of a database, as `node-server init` does. */
export async function initDatabase(database_url: string, superToken: string): Promise<void> {
  const database = await openDatabase(settingsFor(database_url), new LogHub(), { create: true });
  await ensureSuperToken(
    database,
    { NODE_SERVER_SUPER_TOKEN: superToken },
    { show() {}, log: { warn() {} }, passwordCost: lowPasswordCost },
  );
  await database.close();
}

/** The lines of `[files]` for a store; the blobs of objects are in the folder `blobs`. */
async function filesFor(store: StoreKind, folder: string): Promise<string> {
  if (store === "disk") return "";
  const blobs = join(folder, "blobs");
  await mkdir(blobs);
  return `url = ${JSON.stringify(pathToFileURL(blobs).href)}\n`;
}

export { migratedDatabase, newDatabase } from "./node-database.ts";
