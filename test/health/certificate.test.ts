import { expect } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  certificateCheck,
  certificateState,
  endOfFile,
  endOfOrdered,
  readTls,
} from "../../src/http/listen/tls.ts";
import type { LogEntry } from "../../src/log/entry.ts";
import { parseFilter } from "../../src/log/filter.ts";
import { LogHub } from "../../src/log/hub.ts";
import { makeCertificate } from "../support/certificate.ts";
import { User } from "../support/cli.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { type TestNode, tempFolder, testNode } from "../support/node.ts";
import { test } from "../support/test.ts";

const dayMs = 24 * 60 * 60 * 1000;

const tlsKeys = ({ path }: { readonly path: string }) =>
  `tls_cert = ${JSON.stringify(join(path, "cert.pem"))}\ntls_key = ${JSON.stringify(join(path, "key.pem"))}\n`;
/** The events about certificates, the oldest first. */
const eventsOf = ({ node }: TestNode) =>
  node.ring
    .entries()
    .flatMap(({ fields }) => (/^certificate\./.test(String(fields.event)) ? [fields.event] : []));
const metricOf = ({ node }: TestNode) => {
  const family = node.families.find(({ name }) => name === "node_server_tls_certificate_expiry_seconds");
  return family === undefined || family.type === "histogram" ? undefined : [...family.samples()][0]?.value;
};

test("a certificate is reported from 14 days before its end", () => {
  const end = Date.parse("2026-11-30T12:00:00Z");
  const at = (nowMs: number) => certificateState(endOfFile(end), nowMs);
  expect(at(end - 14 * dayMs - 1)).toBeUndefined();
  expect(at(end - 14 * dayMs)).toMatchObject({ hasExpired: false });
  expect(at(end)).toMatchObject({ hasExpired: true, expires: "2026-11-30T12:00:00.000Z" });
});

test("one that the server orders is reported once its renewal is late, whatever its life", () => {
  const until = Date.parse("2026-11-30T12:00:00Z");
  const warnedAfter = (lifeMs: number) => until - endOfOrdered({ from: until - lifeMs, until }).warnFromMs;
  expect(warnedAfter(90 * dayMs)).toBe(14 * dayMs);
  expect(warnedAfter(6 * dayMs)).toBe(dayMs);
  expect(warnedAfter(dayMs)).toBe(dayMs / 6);
});

test("of a chain, the certificate that ends first counts", async () => {
  await using folder = await tempFolder();
  if (!(await makeCertificate(folder, "node", "", 30))) return;
  await makeCertificate(folder, "authority", "short-", 3);
  const at = (name: string) => join(folder.path, name);
  const alone = readTls(at("cert.pem"), at("key.pem")).expiresAtMs;
  await writeFile(
    at("chain.pem"),
    (await readFile(at("cert.pem"), "utf8")) + (await readFile(at("short-cert.pem"), "utf8")),
  );
  const chain = readTls(at("chain.pem"), at("key.pem")).expiresAtMs;
  expect(Math.round((alone - chain) / dayMs)).toBe(27);
});

test("a server reports its certificate once a day while it runs", async () => {
  const clock = new ManualClock();
  const hub = new LogHub();
  const entries: LogEntry[] = [];
  hub.attach({ filter: parseFilter("info"), write: (entry) => void entries.push(entry) });
  let end: number | undefined = clock.now() + 16 * dayMs;
  const check = certificateCheck({
    end: () => (end === undefined ? undefined : endOfFile(end)),
    log: hub.logger("server"),
    clock,
  }).start();
  const reported = async (days: number) => {
    await clock.advance(days * dayMs);
    return entries.splice(0).map(({ level, fields }) => [level, fields.event]);
  };
  expect(await reported(1)).toEqual([]);
  expect(await reported(2)).toEqual([
    ["WARN", "certificate.expiring"],
    ["WARN", "certificate.expiring"],
  ]);
  await reported(12);
  expect(await reported(1)).toEqual([["ERROR", "certificate.expired"]]);
  end = undefined;
  expect(await reported(1)).toEqual([]);
  await check.close();
});

test("a start and a reload report a certificate that ends soon, and a metric says when it ends", async () => {
  await using folder = await tempFolder();
  if (!(await makeCertificate(folder, "node", "", 3))) return;
  await using node = await testNode({ top: tlsKeys(folder), logging: 'memory_log_filter = "info"' });
  const daysLeft = () => Math.round(((metricOf(node) ?? 0) * 1000 - Date.now()) / dayMs);
  expect([eventsOf(node), daysLeft()]).toEqual([["certificate.expiring"], 3]);
  await makeCertificate(folder, "node", "", -1);
  await node.node.reload();
  expect([eventsOf(node), daysLeft()]).toEqual([["certificate.expiring", "certificate.expired"], -1]);
  await makeCertificate(folder, "node", "", 30);
  await node.node.reload();
  expect([eventsOf(node).length, daysLeft()]).toEqual([2, 30]);
});

test("a certificate that nobody renews is in the log, the metric and the verdict as the days pass", async () => {
  await using folder = await tempFolder();
  if (!(await makeCertificate(folder, "node", "", 20))) return;
  const clock = new ManualClock();
  const top = `${tlsKeys(folder)}enable_unix_socket = true\nunix_socket_path = ${JSON.stringify(join(folder.path, "s"))}\n`;
  await using node = await testNode({ top, clock, logging: 'memory_log_filter = "info"' });
  const reasons = async () => {
    const answer = await fetch("http://localhost/jsonrpc", {
      unix: join(folder.path, "s"),
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "node-server_status",
        params: { token: node.superToken },
      }),
    } as RequestInit);
    const { result } = (await answer.json()) as {
      result: { reasons: ReadonlyArray<{ code: string; level: string }> };
    };
    return result.reasons.flatMap(({ code, level }) => (code === "certificate" ? [level] : []));
  };
  expect([eventsOf(node), await reasons()]).toEqual([[], []]);
  await clock.jump(7 * dayMs);
  expect([eventsOf(node), await reasons()]).toEqual([["certificate.expiring"], ["attention"]]);
  await clock.jump(14 * dayMs);
  expect([eventsOf(node), await reasons()]).toEqual([
    ["certificate.expiring", "certificate.expired"],
    ["trouble"],
  ]);
  expect((metricOf(node) ?? 0) * 1000).toBeLessThan(clock.now());
});

test("check warns of a certificate that ends soon or has expired, and ends with 0", async () => {
  await using user = await User.open();
  await using folder = await tempFolder();
  const config = join(folder.path, "config.toml");
  await writeFile(
    config,
    `ws_listener = "127.0.0.1:2211"\n${tlsKeys(folder)}[database]\ndatabase_url = "sqlite://data/node.db?mode=rwc"\n`,
  );
  for (const [days, warning] of [
    [30, undefined],
    [3, "tls_cert: expires on "],
    [-1, "tls_cert: expired on "],
  ] as const) {
    if (!(await makeCertificate(folder, "node", "", days))) return;
    const { code, stderr } = await user.run(["check", "-c", config], { cwd: folder.path });
    expect([days, code]).toEqual([days, 0]);
    if (warning === undefined) expect(stderr).not.toContain("tls_cert");
    else expect(stderr).toContain(warning);
  }
});

test("a client says when the certificate of a server expired, instead of advising to trust it", async () => {
  await using user = await User.open();
  await using folder = await tempFolder();
  if (!(await makeCertificate(folder, "node", "", -1))) return;
  const [cert, key] = await Promise.all(
    ["cert.pem", "key.pem"].map((name) => readFile(join(folder.path, name), "utf8")),
  );
  await using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    tls: { cert, key },
    fetch: () => new Response(),
  });
  const { code, stderr } = await user.run([
    ...["call", "node-server_hello", "-s", `https://127.0.0.1:${server.port}`],
    ...["--ca", join(folder.path, "cert.pem")],
  ]);
  expect(code).toBe(4);
  expect(stderr).toMatch(/its certificate has expired; it expired on \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/);
  expect(stderr).not.toContain("--ca");
});

/** Whether a server takes a handshake of TLS 1.2 with this suite alone. */
async function takesSuite(url: string, suite: string): Promise<boolean> {
  const client = Bun.spawn(
    ["openssl", "s_client", "-connect", new URL(url).host, "-tls1_2", "-cipher", suite],
    { stdin: "ignore", stdout: "pipe", stderr: "ignore" },
  );
  return (await new Response(client.stdout).text()).includes(`Cipher is ${suite}`);
}

test("TLS 1.2 is taken with forward secrecy and authenticated encryption alone", async () => {
  await using folder = await tempFolder();
  if (!(await makeCertificate(folder, "node", "", 30))) return;
  await using node = await testNode({ top: tlsKeys(folder) });
  expect(await takesSuite(node.node.url, "ECDHE-ECDSA-AES128-GCM-SHA256")).toBe(true);
  expect(await takesSuite(node.node.url, "ECDHE-ECDSA-CHACHA20-POLY1305")).toBe(true);
  expect(await takesSuite(node.node.url, "ECDHE-ECDSA-AES128-SHA")).toBe(false);
});
