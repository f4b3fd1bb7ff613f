import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ManualClock } from "../support/manual-clock.ts";
import { configText, type TestNode, testNode } from "../support/node.ts";

const call = JSON.stringify({
  jsonrpc: "2.0",
  method: "token_list_all_tokens",
  params: ["AAAAAAAAAAAAAAAA:wrong"],
  id: 1,
});
const logging = 'memory_log_filter = "info"';
const trusting = (networks: readonly string[], header = "x-forwarded-for") =>
  `trusted_proxies = ${JSON.stringify(networks)}\nproxy_header = "${header}"\n`;

/** The address in the newest log entry about refused credentials. */
function loggedAddress(node: TestNode): unknown {
  return node.node.ring.entries().findLast(({ target }) => target === "token")?.fields.address;
}

async function addressFor(node: TestNode, headers: Record<string, string>): Promise<unknown> {
  const refused = await node.post(call, headers);
  expect(await refused.json()).toMatchObject({ error: { code: 102 } });
  return loggedAddress(node);
}

test("without trusted proxies no header changes the address of a client", async () => {
  await using node = await testNode({ logging });
  for (const header of ["x-forwarded-for", "forwarded", "x-real-ip", "client-ip", "true-client-ip"])
    expect(await addressFor(node, { [header]: "203.0.113.9" })).toBe("127.0.0.1");
});

test("a header of a client that is not a trusted proxy is not read", async () => {
  await using node = await testNode({ logging, top: trusting(["10.0.0.0/8", "unix"]) });
  expect(await addressFor(node, { "x-forwarded-for": "203.0.113.9" })).toBe("127.0.0.1");
});

const own = "127.0.0.1";
const long = Array<string>(1000).fill("10.0.0.1").join(",");
const forwardedFor: ReadonlyArray<[value: string, address: string]> = [
  ["203.0.113.9", "203.0.113.9"],
  ["203.0.113.9:4711", "203.0.113.9"],
  [" 203.0.113.9 ", "203.0.113.9"],
  ["6.6.6.6, 203.0.113.9", "203.0.113.9"],
  ["rubbish, <script>, 203.0.113.9", "203.0.113.9"],
  ["6.6.6.6, 203.0.113.9, 10.1.2.3, 127.0.0.1", "203.0.113.9"],
  ["10.0.0.7, 10.0.0.8", "10.0.0.7"],
  ["2001:0DB8::0009", "2001:db8::9"],
  ["[2001:db8::9]:4711", "2001:db8::9"],
  ["fe80::1%eth0", "fe80::1"],
  ["::ffff:203.0.113.9", "203.0.113.9"],
  ["6.6.6.6, ::ffff:10.0.0.1", "6.6.6.6"],
  [",203.0.113.9", "203.0.113.9"],
  ["", own],
  [",", own],
  ["203.0.113.9,", own],
  ["203.0.113.9, unknown", own],
  ["203.0.113.9, 999.1.1.1", own],
  ["203.0.113.9, 1.2.3", own],
  ["203.0.113.9, [1.2.3.4]", own],
  ["203.0.113.9, [::1", own],
  ['"203.0.113.9"', own],
  ["203.0.113.9 10.0.0.1", own],
  [long, own],
];

test("the nearest untrusted hop of X-Forwarded-For is the client", async () => {
  await using node = await testNode({ logging, top: trusting(["127.0.0.1", "10.0.0.0/8"]) });
  for (const [value, address] of forwardedFor)
    expect([value, await addressFor(node, { "x-forwarded-for": value })]).toEqual([value, address]);
  expect(await addressFor(node, { forwarded: "for=203.0.113.9" })).toBe(own);
});

const forwarded: ReadonlyArray<[value: string, address: string]> = [
  ["for=203.0.113.9", "203.0.113.9"],
  ['For="[2001:db8::9]:4711"', "2001:db8::9"],
  ['proto=https;FOR="203.0.113.9:4711";by=10.0.0.1', "203.0.113.9"],
  ["for=203.0.113.9:4711", "203.0.113.9"],
  ['for="203.0.113.9:_port"', "203.0.113.9"],
  ["for=6.6.6.6, for=203.0.113.9;proto=https, for=10.0.0.1", "203.0.113.9"],
  ['for=" , for=203.0.113.9', "203.0.113.9"],
  ["for=6.6.6.6, for=unknown", own],
  ["for=6.6.6.6, for=_hidden", own],
  ["for=6.6.6.6, proto=https", own],
  ["for=6.6.6.6;for=203.0.113.9", own],
  ['for=203.0.113.9;host="a, for=6.6.6.6"', own],
  ['for=203.0.113.9;host="a, for=6.6.6.6;b=\\""', own],
  ["203.0.113.9", own],
  ["for=", own],
  ["for", own],
  ['for="203.0.113.9', own],
];

test("with proxy_header = forwarded the parameter `for` names the client, and X-Forwarded-For is not read", async () => {
  const top = trusting(["127.0.0.1", "10.0.0.0/8"], "forwarded");
  await using node = await testNode({ logging, top });
  for (const [value, address] of forwarded)
    expect([value, await addressFor(node, { forwarded: value })]).toEqual([value, address]);
  expect(await addressFor(node, { "x-forwarded-for": "6.6.6.6" })).toBe(own);
});

test("several lines of the header are one list", async () => {
  await using node = await testNode({ logging, top: trusting(["127.0.0.1"]) });
  const headers = new Headers({ "content-type": "application/json" });
  headers.append("x-forwarded-for", "6.6.6.6");
  headers.append("x-forwarded-for", "203.0.113.9");
  await fetch(`${node.url}/jsonrpc`, { method: "POST", headers, body: call });
  expect(loggedAddress(node)).toBe("203.0.113.9");
});

test("WebSockets and WebDAV know the client's address too", async () => {
  await using node = await testNode({ logging, top: trusting(["127.0.0.0/8"]) });
  const url = `${node.url}/node/static-webdav/site/`;
  const authorization = `Basic ${btoa("nobody:wrong")}`;
  const refused = await fetch(url, { headers: { authorization, "x-forwarded-for": "203.0.113.9" } });
  expect(refused.status).toBe(401);
  expect(loggedAddress(node)).toBe("203.0.113.9");
  const socket = new WebSocket(`${node.url.replace("http", "ws")}/jsonrpc`, {
    headers: { "x-forwarded-for": "203.0.113.10" },
  });
  await new Promise((resolve) => {
    socket.onopen = () => socket.send(call);
    socket.onmessage = resolve;
  });
  socket.close();
  expect(loggedAddress(node)).toBe("203.0.113.10");
});

test("clients of the Unix socket are trusted by the word unix alone", async () => {
  await using node = await testNode({ logging, top: "enable_unix_socket = true" });
  const unix = join(node.folder, "data/node.sock");
  const ask = async () => {
    const headers = { "content-type": "application/json", "x-forwarded-for": "203.0.113.9" };
    await fetch("http://localhost/jsonrpc", { method: "POST", headers, body: call, unix });
    return loggedAddress(node);
  };
  expect(await ask()).toBe("local");
  const text = await Bun.file(node.configPath).text();
  writeFileSync(node.configPath, trusting(["unix"]) + text);
  expect(await node.node.reload()).toBe("applied");
  expect(await ask()).toBe("203.0.113.9");
});

test("a reload applies another list of proxies", async () => {
  await using node = await testNode({ logging });
  const spoofed = { "x-forwarded-for": "203.0.113.9" };
  expect(await addressFor(node, spoofed)).toBe(own);
  writeFileSync(node.configPath, configText(node.databaseUrl, { logging, top: trusting(["127.0.0.1"]) }));
  expect(await node.node.reload()).toBe("applied");
  expect(await addressFor(node, spoofed)).toBe("203.0.113.9");
});

test.each([
  ['trusted_proxies = "127.0.0.1"', /trusted_proxies: must be a list in brackets/],
  [
    'trusted_proxies = ["127.0.0.1", "localhost"]',
    /trusted_proxies: has an invalid item 2: write an address/,
  ],
  ["trusted_proxies = [127]", /trusted_proxies: has an invalid item 1: write an address/],
  ['trusted_proxies = ["0.0.0.0/0"]', /trusted_proxies: has an item 1 that trusts every client/],
  ['trusted_proxies = ["::/0"]', /trusted_proxies: has an item 1 that trusts every client/],
  ['proxy_header = "x-real-ip"', /proxy_header: must be "x-forwarded-for" or "forwarded"/],
])("%s is refused with what to write", async (top, message) => {
  await expect(testNode({ top })).rejects.toThrow(message);
});

test("the delay of guesses is counted by the client's address, not by the proxy's", async () => {
  const clock = new ManualClock();
  await using node = await testNode({ logging, top: trusting(["127.0.0.1"]), clock });
  const guess = () => addressFor(node, { "x-forwarded-for": "203.0.113.9" });
  for (let undelayed = 0; undelayed < 20; undelayed++) await guess();
  await clock.settle(Promise.all(Array.from({ length: 40 }, guess)), 1000);
  const entries = () => node.node.ring.entries().filter(({ target }) => target === "token");
  const before = entries().length;
  expect(before).toBeLessThan(60);
  await addressFor(node, { "x-forwarded-for": "203.0.113.10" });
  expect(entries()).toHaveLength(before + 1);
  expect(loggedAddress(node)).toBe("203.0.113.10");
});
