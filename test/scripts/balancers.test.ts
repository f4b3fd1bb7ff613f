import { expect, test } from "bun:test";
import { join } from "node:path";
import { otherVariables, variableOf } from "../../src/config/environment.ts";
import { settings } from "../../src/config/schema.ts";
import { blockOf, pageText, replaced } from "../support/documented.ts";
import { tempFolder, testNode } from "../support/node.ts";
import { freePort } from "../support/postgres.ts";
import { sendTo } from "../support/process.ts";
import { findProgram } from "../support/tools.ts";
import { until } from "../support/until.ts";

const page = pageText("cluster.md");

const programs = [
  {
    name: "caddy",
    package: "caddy",
    args: (path: string) => ["validate", "--adapter", "caddyfile", "--config", path],
    text: (block: string) => block,
  },
  {
    name: "haproxy",
    package: "haproxy",
    args: (path: string) => ["-c", "-f", path],
    text: (block: string) => block,
  },
  {
    name: "nginx",
    package: "nginx-light",
    args: (path: string, folder: string) => ["-t", "-p", folder, "-e", "stderr", "-c", path],
    text: (block: string) => `pid nginx.pid; events {}\nhttp {\naccess_log off;\n${block}}\n`,
  },
] as const;

for (const { name, package: source, args, text } of programs)
  test(`${name} accepts the example of a load balancer`, async () => {
    const program = findProgram(`the example of ${name}`, name, source);
    if (program === undefined) return;
    await using folder = await tempFolder();
    const path = join(folder.path, "balancer.conf");
    const block = blockOf(page, name);
    await Bun.write(path, text(block));
    // nginx notices a node only by its connections.
    if (name !== "nginx") expect(block).toContain("/node/ready");
    const run = Bun.spawn([program, ...args(path, folder.path)], {
      env: { HOME: folder.path },
      stdout: "pipe",
      stderr: "pipe",
    });
    const output = (await Promise.all([run.stdout.text(), run.stderr.text()])).join("");
    expect((await run.exited) === 0 || output).toBe(true);
  });

test("behind the documented HAProxy a node that drains gets no more requests, and none fails", async () => {
  const program = findProgram("draining behind HAProxy", "haproxy");
  if (program === undefined) return;
  await using one = await testNode({ store: "objects over postgres" });
  await using two = await testNode({ databaseUrl: one.databaseUrl, files: one.files });
  await using folder = await tempFolder();
  const port = await freePort();
  const path = join(folder.path, "haproxy.cfg");
  const text = replaced(blockOf(page, "haproxy"), [
    ["bind :8080", `bind 127.0.0.1:${port}`],
    ["127.0.0.1:2211", new URL(one.url).host],
    ["127.0.0.1:2212", new URL(two.url).host],
    ["    server n3 127.0.0.1:2213\n", ""],
    ["inter 2s", "inter 100ms"],
    // Otherwise a node that takes 100 ms for an answer twice is taken for dead.
    ["timeout connect 2s", "timeout connect 2s\n    timeout check 30s"],
  ]);
  await Bun.write(path, text);
  const haproxy = Bun.spawn([program, "-db", "-f", path], { stdout: "ignore", stderr: "ignore" });
  try {
    const url = `http://127.0.0.1:${port}`;
    const who = async () => (await sendTo(url, "node-server_uuid")).result;
    await until("HAProxy accepts", () =>
      fetch(url).then(
        ({ ok }) => ok || undefined,
        () => undefined,
      ),
    );
    const [first, second] = [await one.call("node-server_uuid"), await two.call("node-server_uuid")];
    const answered = async () => [await who(), await who(), await who(), await who()];
    expect(new Set(await answered())).toEqual(new Set([first, second]));
    one.node.startDraining();
    await until("only the other one is asked", async () => {
      const by = await answered();
      expect(by).not.toContain(undefined);
      return by.every((uuid) => uuid === second);
    });
    expect(await one.call("node-server_uuid")).toBe(first);
  } finally {
    haproxy.kill();
    await haproxy.exited;
  }
});

test("the lines for Kubernetes set variables of the server, and leave it the time to drain", () => {
  const { terminationGracePeriodSeconds: grace, containers } = Bun.YAML.parse(blockOf(page, "yaml")) as {
    terminationGracePeriodSeconds: number;
    containers: [{ env: Array<{ name: string; value?: string }> }];
  };
  const [{ env }] = containers;
  const known = new Set([...settings.map(variableOf), ...Object.keys(otherVariables)]);
  const own = env.filter(({ name }) => name.startsWith("NODE_SERVER_"));
  expect(own.filter(({ name }) => !known.has(name))).toEqual([]);
  const drain = Number(own.find(({ name }) => name === "NODE_SERVER_DRAIN_SECONDS")?.value);
  expect(grace).toBe(drain + 30);
});
