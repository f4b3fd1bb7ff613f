import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { openMetricsText, prometheusText } from "../../src/metrics/text-format.ts";
import { sectionOf } from "../support/documented.ts";
import { metricsText } from "../support/metrics.ts";
import { type TestNode, tempFolder, testNode } from "../support/node.ts";
import { findProgram, findTool } from "../support/tools.ts";
import { until } from "../support/until.ts";
import { webdavSite } from "../support/webdav.ts";

const alerts = resolve("deploy/prometheus-alerts.yml");
const dashboard = resolve("deploy/grafana-dashboard.json");

/** A server that has done a little of everything, so that every metric has a value. */
async function usedNode(): Promise<TestNode> {
  const node = await testNode({ logging: 'memory_log_filter = "info"' });
  const { dav } = await webdavSite(node);
  await dav("PUT", "/a.txt", {}, "hello");
  await (await fetch(`${node.url}/node/static/site/a.txt`)).text();
  await node.refused("token_get", { token: "wrongwrongwrong1:wrong" });
  await until("everything is measured", async () => {
    // Looks at the folder of the buckets, which did not exist at the start.
    await fetch(`${node.url}/node/ready`);
    const text = await metricsText(node);
    return ["node_server_bucket_files{", "node_server_open_sockets ", 'disk="static"'].every((part) =>
      text.includes(part),
    );
  });
  return node;
}

/** Every name of a metric in a text. */
function namesIn(text: string): string[] {
  return [...new Set(text.match(/\b(?:node_server|process)_[a-z_]+\b/g))].sort();
}

test("promtool finds nothing to criticise in the metrics", async () => {
  await using promtool = await findTool("a check of the metrics", "promtool", "prometheus");
  if (promtool === undefined) return;
  await using node = await usedNode();
  const { code, stdout, stderr } = await promtool.run(["check", "metrics"], {
    stdin: await metricsText(node),
  });
  expect([code, stdout, stderr]).toEqual([0, "", ""]);
});

test("the alert rules are valid", async () => {
  await using promtool = await findTool("a check of the alert rules", "promtool", "prometheus");
  if (promtool === undefined) return;
  expect(await promtool.does(["check", "rules", alerts])).toMatch(/SUCCESS: \d+ rules found/);
});

test("alerts, dashboard and the table in docs/monitor.md name metrics that exist, and the table names all", async () => {
  await using node = await usedNode();
  const text = await metricsText(node);
  const families = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name ?? "");
  const existing = new Set(namesIn(text));
  const chapter = sectionOf("monitor.md", "Metrics and alerts");
  for (const source of [readFileSync(alerts, "utf8"), readFileSync(dashboard, "utf8"), chapter]) {
    const named = namesIn(source);
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !existing.has(name))).toEqual([]);
  }
  expect(families.filter((name) => !namesIn(chapter).includes(name))).toEqual([]);
  const { panels } = JSON.parse(readFileSync(dashboard, "utf8")) as { panels: Array<{ title: string }> };
  expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
});

test("a client gets OpenMetrics if it prefers that", async () => {
  await using node = await usedNode();
  const ask = async (accept: string) => {
    const response = await fetch(`${node.url}/node/metrics`, {
      headers: { authorization: `Bearer ${node.superToken}`, accept },
    });
    return { type: response.headers.get("content-type"), text: await response.text() };
  };
  for (const accept of [
    "*/*",
    "text/plain",
    "text/html",
    "application/openmetrics-text;q=0.2,text/plain;q=0.5",
  ])
    expect((await ask(accept)).type).toBe(prometheusText.contentType);
  const { type, text } = await ask(
    "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
  );
  expect(type).toBe(openMetricsText.contentType);
  expect(text.endsWith("\n# EOF\n")).toBe(true);
  expect(text).toContain("# TYPE node_server_http_requests counter\n");
  expect(text).toContain("\nnode_server_http_requests_total{");
  expect(text).toContain('le="1.0"}');
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  return typeof address === "object" ? (address?.port ?? 0) : 0;
}

test("a real Prometheus scrapes the server with a token that can do nothing else, and evaluates the alerts", async () => {
  const program = findProgram("a real Prometheus", "prometheus");
  if (program === undefined) return;
  await using node = await usedNode();
  await using folder = await tempFolder();
  const token = await node.newToken([{ scopes: ["global"], permissions: [{ node: "metrics" }] }]);
  writeFileSync(join(folder.path, "token"), token);
  // As in docs/monitor.md, but impatient.
  writeFileSync(
    join(folder.path, "prometheus.yml"),
    `global: { scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms }
scrape_configs:
  - job_name: node-server
    metrics_path: /node/metrics
    authorization:
      credentials_file: ${join(folder.path, "token")}
    static_configs:
      - targets: ["${new URL(node.url).host}"]
rule_files:
  - ${alerts}
`,
  );
  const at = `127.0.0.1:${await freePort()}`;
  const prometheus = Bun.spawn(
    [
      program,
      `--config.file=${join(folder.path, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(folder.path, "data")}`,
      `--web.listen-address=${at}`,
      "--log.level=warn",
    ],
    { stdout: "ignore", stderr: "pipe" },
  );
  try {
    const api = async (path: string) => {
      const response = await fetch(`http://${at}/api/v1/${path}`).catch(() => undefined);
      return response?.ok ? ((await response.json()) as { data: Record<string, unknown> }).data : undefined;
    };
    const ask = async (query: string) =>
      ((await api(`query?query=${encodeURIComponent(query)}`))?.result ?? []) as Array<{
        value: [number, string];
      }>;
    await until("Prometheus has scraped the server", async () => (await ask("up == 1")).length === 1);
    await until("a counter is there", async () => (await ask("node_server_http_requests_total")).length > 0);
    const targets = (await api("targets?state=active"))?.activeTargets as Array<{
      health: string;
      lastError: string;
    }>;
    expect(targets.map(({ health, lastError }) => [health, lastError])).toEqual([["up", ""]]);
    await until("every alert is evaluated, and none fails", async () => {
      const groups = ((await api("rules"))?.groups ?? []) as Array<{ rules: Array<{ health: string }> }>;
      return groups.length > 0 && groups.every(({ rules }) => rules.every(({ health }) => health === "ok"));
    });
  } finally {
    prometheus.kill("SIGKILL");
    await prometheus.exited;
  }
  // Two scrapes and an evaluation of another program, each with a wait of its own.
}, 45_000);
