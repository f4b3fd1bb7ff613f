import { expect, test } from "bun:test";
import { type TestNode, testNode } from "../support/node.ts";
import { newHome, story } from "../support/process.ts";
import { findProgram } from "../support/tools.ts";

const json = { "content-type": "application/json" };
const own = { "sec-fetch-site": "same-origin", ...json };
const arriving = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };

const change = (node: { readonly url: string }, init: BunFetchRequestInit) =>
  fetch(`${node.url}/node/console/remember`, { method: "POST", headers: own, ...init });
const remember = (
  node: { readonly url: string },
  token: unknown,
  headers = {},
  init: BunFetchRequestInit = {},
) => change(node, { body: JSON.stringify({ token }), headers: { ...own, ...headers }, ...init });
const cookieOf = (answer: Response) => answer.headers.get("set-cookie") ?? "";

/** Page returned to a request with the cookie. */
async function pageFor(node: TestNode, cookie: string, headers: Record<string, string> = {}, query = "") {
  const answer = await fetch(`${node.url}/node/console/${query}`, { headers: { cookie, ...headers } });
  return answer.text();
}

/** Token that the page contains for a request with the cookie. */
async function handedOver(node: TestNode, cookie: string, headers: Record<string, string> = arriving) {
  return /<meta name="remembered" content="([^"]*)"(?: data-persistent)?>/.exec(
    await pageFor(node, cookie, headers),
  )?.[1];
}

test("a remembered token is a cookie for the console's address, which no script and no other site gets", async () => {
  await using node = await testNode();
  const { port } = new URL(node.url);
  const answer = await remember(node, "key:secret");
  expect([answer.status, await answer.text()]).toEqual([204, ""]);
  const value = Buffer.from("key:secret").toString("base64url");
  const attributes = "Path=/node/console/; HttpOnly; SameSite=Strict";
  // Browsers store cookies by host without the port, so the port is part of the cookie's name.
  expect(cookieOf(answer)).toBe(`node_server_console_${port}=${value}; ${attributes}`);
  const persistent = await change(node, { body: JSON.stringify({ token: "key:secret", persistent: true }) });
  expect(cookieOf(persistent)).toBe(`node_server_console_${port}=${value}.p; ${attributes}; Max-Age=2592000`);
  const gone = await change(node, { method: "DELETE" });
  expect([gone.status, cookieOf(gone)]).toEqual([
    204,
    `node_server_console_${port}=; ${attributes}; Max-Age=0`,
  ]);
  const proxied = await remember(node, "key:secret", { "x-forwarded-proto": "https", host: "example.org" });
  expect(cookieOf(proxied)).toBe(`node_server_console=${value}; ${attributes}; Secure`);
});

test("only who fills a tab with the console is handed the token", async () => {
  await using node = await testNode();
  const token = `o"p<e>r'a&tor|grüße 🐘`;
  const [cookie = ""] = cookieOf(await remember(node, token)).split(";");
  expect(await handedOver(node, `a=b; ${cookie}; c=d`)).toBe(Bun.escapeHTML(token));
  expect(await handedOver(node, `${cookie}.p`)).toBe(Bun.escapeHTML(token));
  const others: Record<string, string>[] = [
    {},
    { "sec-fetch-mode": "navigate" },
    { "sec-fetch-dest": "document" },
    { "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" },
    { "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" },
    { "sec-fetch-mode": "same-origin", "sec-fetch-dest": "document" },
  ];
  for (const headers of others) expect(await handedOver(node, cookie, headers)).toBeUndefined();
  const { port } = new URL(node.url);
  for (const foreign of [
    "",
    `node_server_console_${port}=`,
    `node_server_console_${port}=AAAA`,
    "node_server_console_1=a2V5OnNlY3JldA",
  ])
    expect(await handedOver(node, foreign)).toBeUndefined();
});

test("the token is found among hostile cookies, and in no other spelling of its own", async () => {
  await using node = await testNode();
  const [cookie = ""] = cookieOf(await remember(node, "key:secret")).split(";");
  const [name = "", value = ""] = cookie.split("=");
  const among = [
    `${name}=; ${name}=nonsense; ${cookie}`,
    `${cookie}; ${name}=${Buffer.from("other:token").toString("base64url")}`,
    `bad=%zz; quoted="a; __proto__=b; =; ${cookie}; ${name}`,
    `a=${"x".repeat(12_000)}; ${cookie}`,
    `${";".repeat(12_000)}${cookie}`,
  ];
  for (const cookies of among) expect(await handedOver(node, cookies)).toBe("key:secret");
  const percent = `%${value.charCodeAt(0).toString(16)}${value.slice(1)}`;
  const others = [name, `${name}=%zz`, `${name}=${percent}`, `${name}x=${value}`, `x${name}=${value}`];
  others.push(`${name.toUpperCase()}=${value}`, `${name}=${"x".repeat(12_000)}`);
  for (const cookies of others) expect(await handedOver(node, cookies)).toBeUndefined();
});

test("a load in advance gets no page of the console, so that the one that is shown later is a new one with the token", async () => {
  await using node = await testNode();
  const [cookie = ""] = cookieOf(await remember(node, "key:secret")).split(";");
  for (const purpose of [
    { "sec-purpose": "prefetch" },
    { "sec-purpose": "prefetch;prerender" },
    { purpose: "prefetch" },
    { "x-moz": "prefetch" },
  ]) {
    const headers = { ...arriving, cookie, ...purpose };
    const answer = await fetch(`${node.url}/node/console/`, { headers });
    expect([answer.status, answer.headers.get("cache-control")]).toEqual([503, "no-store"]);
    expect(await answer.text()).not.toContain("<meta");
  }
  expect(await handedOver(node, cookie)).toBe("key:secret");
});

test("only the console itself may have a token remembered or forgotten, and only what is a token", async () => {
  await using node = await testNode();
  const refused = async (answer: Response) => [answer.status, answer.headers.get("set-cookie")];
  const { host } = new URL(node.url);
  const strangers: Record<string, string>[] = [
    ...["cross-site", "same-site", "none", ""].map((site) => ({ "sec-fetch-site": site })),
    // `Sec-Fetch-Site` outweighs `Origin`.
    { "sec-fetch-site": "same-site", origin: node.url },
    // Over plain http to another machine browsers send no `Sec-Fetch-Site`.
    {},
    ...["null", "", "http://elsewhere", `http://${host}.elsewhere`, "http://127.0.0.1"].map((origin) => ({
      origin,
    })),
  ];
  for (const headers of strangers) {
    const post = await change(node, { body: '{"token":"a:b"}', headers: { ...json, ...headers } });
    expect([headers, await refused(post)]).toEqual([headers, [403, null]]);
    expect(await refused(await change(node, { method: "DELETE", headers }))).toEqual([403, null]);
  }
  for (const type of ["text/plain", "application/x-www-form-urlencoded", ""])
    expect(await refused(await remember(node, "a:b", { "content-type": type }))).toEqual([415, null]);
  for (const body of [
    "",
    "{",
    "null",
    "5",
    "[]",
    '"a:b"',
    '{"token":5}',
    '{"other":"a:b"}',
    '{"token":"a:b","persistent":1}',
  ])
    expect([body, ...(await refused(await change(node, { body })))]).toEqual([body, 400, null]);
  for (const token of ["", "none", ":b", "a:", "a:\n", "a:\0", "a:\ud800", `a:${"x".repeat(3000)}`])
    expect([token, ...(await refused(await remember(node, token)))]).toEqual([token, 400, null]);
  expect(await refused(await remember(node, `a:${"x".repeat(4096)}`))).toEqual([413, null]);
  const endless = new ReadableStream({ pull: (controller) => controller.enqueue(Buffer.alloc(1000, "x")) });
  expect(await refused(await change(node, { body: endless }))).toEqual([411, null]);
  for (const method of ["GET", "HEAD", "PUT", "OPTIONS"]) {
    const answer = await change(node, { method });
    expect([method, answer.status, answer.headers.get("allow")]).toEqual([method, 405, "POST, DELETE"]);
  }
});

test("over plain http the token is handed over under a pad that only a navigation sees, once", async () => {
  await using node = await testNode();
  const token = "grüße|secret 🐘";
  const headers = { ...json, origin: node.url };
  const body = JSON.stringify({ token, persistent: true });
  const [cookie = ""] = cookieOf(await change(node, { body, headers })).split(";");
  // A proxy may ask for another host than the browser did.
  const proxied = { ...json, origin: "http://nas.test", "x-forwarded-host": "nas.test" };
  expect((await change(node, { body, headers: proxied })).status).toBe(204);
  const page = await pageFor(node, cookie);
  expect([page.includes('<meta name="resumable">'), page.includes("handover")]).toEqual([true, false]);
  const resume = async (more: Record<string, string> = {}) => {
    const init = { redirect: "manual", headers: { cookie, ...more } } as const;
    const answer = await fetch(`${node.url}/node/console/resume`, init);
    expect([answer.status, answer.headers.get("cache-control")]).toEqual([303, "no-store"]);
    return answer.headers.get("location") ?? "";
  };
  const [, query = "", pad = ""] = /^\.\/(\?handover=[\w-]{22})#([\w-]+)$/.exec(await resume()) ?? [];
  const sealed = /<meta name="handover" content="([\w-]+)" data-persistent>/;
  const [, text = ""] = sealed.exec(await pageFor(node, cookie, {}, query)) ?? [];
  const padBytes = Buffer.from(pad, "base64url");
  const opened = Buffer.from(text, "base64url").map((byte, at) => byte ^ (padBytes[at] ?? 0));
  expect(Buffer.from(opened).toString()).toBe(token);
  // The same address a second time, an invented one, and one without the cookie.
  expect(sealed.test(await pageFor(node, cookie, {}, query))).toBe(false);
  expect(sealed.test(await pageFor(node, cookie, {}, `?handover=${"a".repeat(22)}`))).toBe(false);
  const [, fresh = ""] = /(\?handover=[\w-]+)#/.exec(await resume()) ?? [];
  expect(await pageFor(node, "a=b", {}, fresh)).not.toMatch(/handover|resumable/);
  // Where the browser says what it asks for, that way is closed.
  expect(await resume({ "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" })).toBe("./");
  expect(await resume(arriving)).toBe("./");
  expect((await fetch(`${node.url}/node/console/resume`, { method: "POST" })).status).toBe(405);
});

test("no call is allowed because of the cookie, and no log holds it", async () => {
  await using node = await testNode({ logging: 'memory_log_filter = "trace"\nmemory_log_capacity = 1000\n' });
  const [cookie = ""] = cookieOf(await remember(node, node.superToken)).split(";");
  expect(await handedOver(node, cookie)).toBe(node.superToken);
  const body = JSON.stringify({ jsonrpc: "2.0", method: "static-bucket_list", params: {}, id: 1 });
  expect(await (await node.post(body, { cookie })).json()).toHaveProperty("error");
  await fetch(`${node.url}/jsonrpc?${cookie}`, { headers: { cookie } });
  const log = JSON.stringify(await node.call("node-server_log", { token: node.superToken }));
  expect(log.length).toBeGreaterThan(100);
  expect([node.superToken, cookie.split("=")[1] ?? ""].filter((secret) => log.includes(secret))).toEqual([]);
});

const openssl = findProgram("a cookie over TLS", "openssl");
if (openssl !== undefined)
  story("over TLS the cookie is for TLS alone", async () => {
    await using home = await newHome({ top: 'tls_cert = "cert.pem"\ntls_key = "key.pem"\n' });
    const args =
      "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -keyout key.pem -out cert.pem";
    expect(await Bun.spawn([openssl, ...args.split(" ")], { cwd: home.path, stderr: "ignore" }).exited).toBe(
      0,
    );
    const server = await home.serve();
    const answer = await remember(server, "key:secret", {}, { tls: { rejectUnauthorized: false } });
    expect(cookieOf(answer)).toEndWith("; Secure");
  });
