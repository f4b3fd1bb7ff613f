import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { LogEntry } from "../../src/log/entry.ts";
import { makeCertificate } from "../support/certificate.ts";
import { User } from "../support/cli.ts";
import { type TestCluster, testCluster } from "../support/cluster.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { type TestNode, tempFolder, testNode } from "../support/node.ts";
import { until, within } from "../support/until.ts";

const keepsInfo = { logging: 'memory_log_filter = "info"\n' };
const named = (name: string) => ({ ...keepsInfo, top: `node_name = "${name}"\n` });

/** One after another: they share the list of nodes. */
const story = (title: string, tell: () => Promise<void>) => test(title, tell);

let cluster: TestCluster;
let user: User;
beforeAll(async () => {
  cluster = await testCluster(named("alpha"), () => named("beta"));
  user = await User.open();
  await user.does(["login", cluster.nodes[0].url, "--name", "here"], { stdin: cluster.superToken });
});
afterAll(async () => {
  await user[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

const logOf = ({ node }: TestNode) => node.hub.logger("task");

interface ShownEntry extends LogEntry {
  readonly node: string;
}

function entriesIn(stdout: string): ShownEntry[] {
  const lines = stdout.slice(0, stdout.lastIndexOf("\n")).split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as ShownEntry);
}

story("logs --all shows what every node keeps, by time, with the names of the nodes", async () => {
  const [alpha, beta] = cluster.nodes;
  for (let at = 1; at <= 6; at += 1) {
    logOf(at % 2 === 1 ? alpha : beta).info(`kept ${at}`);
    // Entries of one millisecond have no order.
    await Bun.sleep(3);
  }
  const json = entriesIn(await user.does(["logs", "--all", "--json", "--filter", "task=info"]));
  const kept = json.filter(({ message }) => message.startsWith("kept"));
  expect(kept.map(({ node, message }) => `${node} ${message}`)).toEqual([
    "alpha kept 1",
    "beta kept 2",
    "alpha kept 3",
    "beta kept 4",
    "alpha kept 5",
    "beta kept 6",
  ]);
  const lines = await user.does(["logs", "--all", "--filter", "task=info"]);
  expect(lines).toMatch(/^alpha \| \S+ {2}INFO task: kept 1$/m);
  expect(lines).toMatch(/^beta {2}\| \S+ {2}INFO task: kept 2$/m);
  const coloured = await user.does(["logs", "--all", "--filter", "task=info"], { isTTY: true });
  expect(coloured).toMatch(/\x1b\[36malpha \|\x1b\[0m .*kept 1/);
  expect(coloured).toMatch(/\x1b\[32mbeta {2}\|\x1b\[0m .*kept 2/);
});

story(
  "logs --all -n shows the last entries of all nodes together, and --since those of the last minutes",
  async () => {
    const [alpha, beta] = cluster.nodes;
    for (let at = 1; at <= 6; at += 1) {
      logOf(at % 2 === 1 ? alpha : beta).info(`late ${at}`);
      // Entries of one millisecond have no order.
      await Bun.sleep(3);
    }
    const args = ["logs", "--all", "--json", "--filter", "task=info"];
    const messages = (stdout: string) => entriesIn(stdout).map(({ node, message }) => `${node} ${message}`);
    const last = ["beta late 4", "alpha late 5", "beta late 6"];
    expect(messages(await user.does([...args, "-n", "3"]))).toEqual(last);
    expect(messages(await user.does([...args, "--since", "5m"]))).toEqual(expect.arrayContaining(last));
    const clock = new ManualClock();
    clock.advance(6 * 60_000);
    expect(await user.does([...args, "--since", "5m"], { clock })).toBe("");
    const follow = user.launch([...args, "-f", "-n", "3"]);
    await until("it follows", () => entriesIn(follow.stdout).length >= 3);
    for (let at = 7; at <= 11; at += 1) logOf(alpha).info(`late ${at}`);
    await until("the new ones are shown", () => follow.stdout.includes("late 11"));
    follow.signal("SIGINT");
    const { stdout } = await within("it ends", follow.exited);
    expect(messages(stdout)).toEqual([...last, ...[7, 8, 9, 10, 11].map((at) => `alpha late ${at}`)]);
  },
);

story("logs -f --all follows nodes that come and go, and tells of one that cannot be reached", async () => {
  const [alpha, beta] = cluster.nodes;
  const clock = new ManualClock();
  const follow = user.launch(["logs", "-f", "--all", "--json", "--filter", "task=info"], { clock });
  /** Turns the clock until the list of nodes has been asked for again, and the command has said what came of it. */
  const comesToSay = (words: RegExp) =>
    clock.until(`it says ${words}`, 3000, () => words.test(follow.stderr));
  const shows = (node: string, message: string) =>
    until(`${node} shows ${message}`, () =>
      entriesIn(follow.stdout).some((entry) => entry.node === node && entry.message === message),
    );
  await follow.says(/alpha: following http:\S+\n/);
  await follow.says(/beta: following http:\S+\n/);
  logOf(alpha).info("live 1");
  logOf(beta).info("live 2");
  await shows("alpha", "live 1");
  await shows("beta", "live 2");
  const { databaseUrl, files } = alpha;
  const gamma = await testNode({ ...named("gamma"), store: "objects over postgres", databaseUrl, files });
  try {
    await comesToSay(/gamma: following http:\S+\n/);
    logOf(gamma).info("live 3");
    await shows("gamma", "live 3");
    // A node that ended without a notice, and whose port nobody has.
    await alpha.sql(
      `INSERT INTO kv (namespace, key, value) SELECT 'nodes', '00000000-0000-4000-8000-00000000dead/00000000-0000-4000-8000-0000000000b0', value || '{"name":"delta","boot":"00000000-0000-4000-8000-0000000000b0","url":"http://127.0.0.1:1","since":1}' FROM kv WHERE namespace = 'nodes' LIMIT 1`,
    );
    await comesToSay(/delta: \S+ cannot be reached.*; trying again\n/);
  } finally {
    await gamma[Symbol.asyncDispose]();
    await alpha.sql("DELETE FROM kv WHERE namespace = 'nodes' AND key LIKE '%dead%'");
  }
  await comesToSay(/gamma: left\n/);
  await comesToSay(/delta: left\n/);
  logOf(beta).info("live 4");
  await shows("beta", "live 4");
  follow.signal("SIGINT");
  const { code, stdout } = await within("it ends", follow.exited);
  expect(code).toBe(0);
  const live = entriesIn(stdout).filter(({ message }) => message.startsWith("live"));
  expect(live.map(({ message }) => message).sort()).toEqual(["live 1", "live 2", "live 3", "live 4"]);
});

story(
  "a node without an address of its own is named, with what to configure, and the others are shown",
  async () => {
    const [alpha, beta] = cluster.nodes;
    logOf(beta).info("beside");
    await alpha.sql(
      `INSERT INTO kv (namespace, key, value) SELECT 'nodes', '00000000-0000-4000-8000-00000000dead/00000000-0000-4000-8000-0000000000b0', value || '{"name":"delta","boot":"00000000-0000-4000-8000-0000000000b0","url":null,"since":1}' FROM kv WHERE namespace = 'nodes' LIMIT 1`,
    );
    try {
      const { code, stdout, stderr } = await user.run(["logs", "--all"]);
      expect({ code, stdout }).toEqual({ code: 4, stdout: expect.stringMatching(/^beta .*beside$/m) });
      expect(stderr).toMatch(/^node-server: delta: .*node_url/m);
    } finally {
      await alpha.sql("DELETE FROM kv WHERE namespace = 'nodes' AND key LIKE '%dead%'");
    }
  },
);

story("a token needs the right to list the nodes, and following ends with 3 when it is revoked", async () => {
  const [alpha] = cluster.nodes;
  const global = (...permissions: object[]) => [{ scopes: ["global"], permissions }];
  const reader = await alpha.newToken(global({ node: "read_logs" }));
  const env = { NODE_SERVER_URL: alpha.url, NODE_SERVER_TOKEN: reader };
  expect(await user.run(["logs", "--all"], { env })).toMatchObject({ code: 3, stdout: "" });
  const both = await alpha.newToken(global({ node: "read_logs" }, { node: "read_nodes" }));
  const follow = user.launch(["logs", "-f", "--all", "--json"], { env: { ...env, NODE_SERVER_TOKEN: both } });
  logOf(alpha).info("before");
  await until("it follows", () => follow.stdout.includes('"before"'));
  await alpha.call("token_delete", { token: cluster.superToken, target_token: both.split(":")[0] });
  expect((await within("it ends", follow.exited)).code).toBe(3);
});

story(
  "nodes with certificates are reached as the named one is, also if that is by its Unix socket",
  async () => {
    await using folder = await tempFolder();
    if (!(await makeCertificate(folder, "node"))) return;
    const ca = join(folder.path, "cert.pem");
    const tls = `tls_cert = "${ca}"\ntls_key = "${join(folder.path, "key.pem")}"\n`;
    const socket = join(folder.path, "node.sock");
    const secure = (name: string, more = "") => ({
      ...keepsInfo,
      top: `node_name = "${name}"\n${tls}${more}`,
    });
    const unix = `enable_unix_socket = true\nunix_socket_path = "${socket}"\n`;
    await using nodes = await testCluster(secure("one", unix), () => secure("two"));
    const [one, two] = nodes.nodes;
    logOf(one).info("of one");
    logOf(two).info("of two");
    const shown = /^one \| .*: of one\ntwo \| .*: of two$/m;
    const env = { NODE_SERVER_TOKEN: nodes.superToken };
    const args = ["logs", "--all", "--filter", "task=info"];
    const byHttps = { ...env, NODE_SERVER_URL: one.url };
    expect(await user.does([...args, "--ca", ca], { env: byHttps })).toMatch(shown);
    expect(await user.run(args, { env: byHttps })).toMatchObject({ code: 4, stdout: "" });
    const bySocket = { ...env, NODE_SERVER_URL: `unix:${socket}` };
    expect(await user.does([...args, "--ca", ca], { env: bySocket })).toMatch(shown);
    const untrusted = await user.run(args, { env: bySocket });
    expect(untrusted).toMatchObject({ code: 4, stdout: expect.stringMatching(/^one \| .*: of one\n$/) });
    expect(untrusted.stderr).toMatch(/^node-server: two: .*certificate is not trusted/m);
  },
);

story("a server that is alone is all there is", async () => {
  await using node = await testNode({ ...named("alone"), store: "disk" });
  logOf(node).info("only one");
  const env = { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: node.superToken };
  expect(await user.does(["logs", "--all"], { env })).toMatch(/^alone \| .*: only one$/m);
});
