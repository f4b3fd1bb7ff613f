import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename } from "node:fs/promises";
import type { ClusterView } from "../../src/cluster/roster.ts";
import { LineMerger, MemberProcess } from "../../src/host/member-process.ts";
import { Supervisor } from "../../src/host/supervisor.ts";
import { TerminalOutput } from "../../src/log/terminal.ts";
import { newPostgresDatabase } from "../support/postgres.ts";
import { type Home, hello, helloAt, newHome, type Server, sendTo, wholeLines } from "../support/process.ts";
import { program } from "../support/program.ts";
import { until } from "../support/until.ts";

const count = 3;
let home: Home;
let server: Server;
let database: Awaited<ReturnType<typeof newPostgresDatabase>>;
let token: string;

const logging = 'json_log_file = "node.log"\naccess_log = "access.log"\naccess_log_format = "json"';
const top = 'enable_unix_socket = true\nunix_socket_path = "node.sock"\n';
const configure = (settings: Parameters<Home["configure"]>[0] = {}) =>
  home.configure({ top, logging, files: `url = "file://${home.file("blobs")}"`, ...settings }, database.url);
const serve = (...args: string[]) => ["serve", "--processes", String(count), ...args];

beforeAll(async () => {
  database = await newPostgresDatabase();
  home = await newHome();
  await mkdir(home.file("blobs"));
  await configure();
  server = await home.launch({}, serve()).ready();
  token = server.superToken;
});

afterAll(async () => {
  await home?.[Symbol.asyncDispose]();
  await database?.drop();
});

const pids = (of = server) => childrenOf(of.pid, "serve");

/** The processes that another one has started with a word in their command. */
async function childrenOf(parent: number, word: string): Promise<readonly number[]> {
  const children = await readFile(`/proc/${parent}/task/${parent}/children`, "utf8");
  const found = children.trim().split(" ").filter(Boolean);
  const commands = await Promise.all(
    found.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
  );
  return found.filter((_, at) => commands[at]?.split("\0").includes(word)).map(Number);
}

/** The numbers of the processes that answer. */
async function metrics(): Promise<string> {
  const response = await fetch(`${server.url}/node/metrics`, {
    headers: { authorization: `Bearer ${token}` },
    keepalive: false,
  });
  expect(response.status).toBe(200);
  return response.text();
}

const processesIn = (text: string) =>
  [...text.matchAll(/^process_start_time_seconds\{process="(\d)"\} /gm)].map(([, number]) => Number(number));

const whole = () => until("all processes answer", async () => processesIn(await metrics()).length === count);

interface Line {
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

async function logged(): Promise<Line[]> {
  const text = await readFile(home.file("node.log"), "utf8");
  return wholeLines(text).map((line) => JSON.parse(line) as Line);
}

test("several processes share an address: one line says that all listen, and metrics are of all of them", async () => {
  expect(await pids()).toHaveLength(count);
  expect(server.stderr.match(/listening on http/g)).toHaveLength(1);
  expect(server.stdout.match(/Super Token/g)).toHaveLength(1);
  const text = await until("all are in one answer", async () => {
    const text = await metrics();
    return processesIn(text).length === count && text;
  });
  expect(processesIn(text)).toEqual([1, 2, 3]);
  expect(text.match(/^# TYPE process_start_time_seconds gauge$/gm)).toHaveLength(1);
  expect(text).toMatch(/^node_server_http_request_duration_seconds_bucket\{.*le="\+Inf".*\} /m);
  // For the cluster they are one node.
  const result = await until("every process has its row", async () => {
    const view = (await sendTo(server.url, "cluster_nodes", { token })).result as ClusterView;
    return view.nodes[0]?.processes === count && view;
  });
  expect(result).toMatchObject({ nodes: [{ processes: count, alive: true }], warnings: [] });
  // The Unix socket belongs to one of them.
  expect(await helloAt("http://localhost", { unix: home.file("node.sock") })).toBe(hello);
});

test("every process has its entries in one file, and any of them answers for the log of all", async () => {
  const numbers = new Set((await logged()).map(({ fields }) => fields.process));
  expect([...numbers].sort()).toEqual([1, 2, 3]);
  const seen = async () => {
    const { result } = await sendTo(server.url, "node-server_log", { token });
    return new Set((result as Line[]).map(({ fields }) => fields.process));
  };
  await sendTo(server.url, "static-bucket_create", { token, name: "seen", path: "seen", index: null });
  await until("entries of several processes", async () => (await seen()).size > 1);
});

test("a process that is killed is started again, and the others go on", async () => {
  const before = await pids();
  const [first, victim] = before;
  process.kill(victim as number, "SIGKILL");
  await server.says(/process \d has ended and is started again .*event=process.ended/);
  // Its connections are divided among the others at once.
  expect(await helloAt(server.url)).toBe(hello);
  await server.says(/process \d serves again/);
  await whole();
  const after = await pids();
  expect(after).toContain(first as number);
  expect(after).not.toContain(victim as number);
  expect(after).toHaveLength(count);
});

test("SIGHUP reloads one process after the other, and a wrong file none of them", async () => {
  const from = server.stderr.length;
  await configure({ logging: `${logging}\njson_log_filter = "debug"` });
  server.signal("SIGHUP");
  await until(
    "all have reloaded",
    () => server.stderr.slice(from).match(/event=config\.applied parts=\["logging"\]/g)?.length === count,
  );
  await home.configure({ top, logging: `${logging}\njson_log_filter = "debug"` }, database.url);
  const refused = await server.reload();
  expect(refused).toMatchObject({ event: "config.refused", line: expect.stringContaining("files.url") });
  await configure();
  const next = server.stderr.length;
  server.signal("SIGHUP");
  await until(
    "all have reloaded",
    () => server.stderr.slice(next).match(/event=config\.applied parts=\["logging"\]/g)?.length === count,
  );
  expect(server.stderr.slice(from).match(/event=config\.refused/g)).toHaveLength(1);
});

test("a change of the configuration by one process reaches the others", async () => {
  const text = await readFile(home.configPath, "utf8");
  const from = server.stderr.length;
  const edited = text.replace("unix_socket_path", "static_cache_bytes = 1000000\nunix_socket_path");
  const { result } = await sendTo(server.url, "node-server_edit_config", { token, config_string: edited });
  expect(result).toBeDefined();
  await until(
    "all have reloaded",
    () => server.stderr.slice(from).match(/event=config\.applied parts=\["limits"\]/g)?.length === count,
  );
});

test("no line of the log files is damaged by several writers, also when a file is moved away", async () => {
  const requests = 1200;
  for (let done = 0; done < requests; done += 40) {
    await Promise.all(
      Array.from({ length: 40 }, (_, at) =>
        fetch(`${server.url}/nothing/at/${done + at}-of-this-story`, { keepalive: false }),
      ),
    );
    if (done % 400 === 0 && existsSync(home.file("access.log")))
      await rename(home.file("access.log"), home.file(`access.log.${done}`));
  }
  /** The paths of this story's requests; undefined if a file was moved while they were read. */
  const paths = async () => {
    const files = (await readdir(home.path)).filter((name) => name.startsWith("access.log"));
    const texts = await Promise.all(
      files.map((name) => readFile(home.file(name), "utf8").catch(() => undefined)),
    );
    if (texts.includes(undefined)) return undefined;
    const lines = texts.flatMap((text) => wholeLines(text ?? ""));
    const found = lines.map((line) => (JSON.parse(line) as { path: string }).path);
    return { files, found: found.filter((path) => path.endsWith("of-this-story")) };
  };
  // Once each has its line, nothing is written any more.
  await until("every request has its line", async () => new Set((await paths())?.found).size === requests);
  const last = await paths();
  expect(last?.found).toHaveLength(requests);
  expect(last?.files.length).toBeGreaterThan(1);
});

test("a process that is stopped alone is replaced; SIGTERM stops all, and nothing is left", async () => {
  const before = await pids();
  process.kill(before[0] as number, "SIGTERM");
  await until("another one is there", async () => {
    const now = await pids();
    return now.length === count && !now.includes(before[0] as number);
  });
  await whole();
  const all = await pids();
  const from = server.stderr.length;
  const { code, stderr } = await server.stop();
  expect(code).toBe(0);
  expect(stderr.slice(from).match(/stopping on SIGTERM/g)).toHaveLength(count);
  for (const pid of all) expect(() => process.kill(pid, 0)).toThrow();
  expect(await helloAt(server.url)).toBeUndefined();
  expect(await readdir(home.path)).not.toContain("node.sock");
});

test("a process that does not answer is killed, and another one takes its place", async () => {
  const printed: string[] = [];
  const output = new LineMerger(new TerminalOutput({ write: () => true, once() {} }, () => ""));
  const supervisor = new Supervisor({
    count: 1,
    pingMs: 500,
    rollBack: async () => {},
    onStopping() {},
    print: (line) => void printed.push(line),
    start: (place, onMessage) =>
      MemberProcess.start({
        command: [...program, "serve", "-c", home.configPath],
        env: { PATH: process.env.PATH },
        role: { ...place, count: 1, boot: crypto.randomUUID() },
        output,
        onMessage,
      }),
  });
  await supervisor.open();
  const { url } = supervisor;
  const [pid] = await childrenOf(process.pid, "serve");
  process.kill(pid as number, "SIGSTOP");
  await until("it is killed", () => printed.some((line) => line.includes("event=process.silent")));
  await until("another one serves", () => supervisor.url !== undefined && supervisor.url !== url);
  expect(printed.join("\n")).toMatch(/event=process\.ended of=1 pid=\d+ code=null signal=SIGKILL/);
  expect(await helloAt(supervisor.url ?? "")).toBe(hello);
  await supervisor.stop("the end of the story");
});

test("processes end with a supervisor that is killed", async () => {
  const next = await home.launch({}, serve()).ready();
  const all = await pids(next);
  next.signal("SIGKILL");
  for (const pid of all)
    await until(`${pid} has ended`, () => {
      try {
        return !process.kill(pid, 0);
      } catch {
        return true;
      }
    });
});

test("a server that cannot start ends with the error of its process, and what cannot be shared is refused", async () => {
  using taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const inUse = await home.run(serve("--listen", `127.0.0.1:${taken.port}`));
  expect(inUse.code).toBe(1);
  expect(inUse.stderr).toContain("another program listens there and does not share the port");
  expect(inUse.stderr.match(/cannot listen/g)).toHaveLength(1);
  await using plain = await newHome();
  const refused = await plain.run(serve());
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/database\.database_url: names a SQLite file/);
  expect(refused.stderr).toMatch(/files\.url: means plain files/);
  expect((await plain.run(["serve", "--processes", "0"])).code).toBe(2);
});
