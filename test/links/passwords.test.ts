import { expect } from "bun:test";
import { ManualClock } from "../support/manual-clock.ts";
import { eachDatabase, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";
import { linkSite } from "./link-site.ts";

const sharedNode = sharedNodes();

const browser = {
  "user-agent":
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
};
const basic = (pair: string) => ({ authorization: `Basic ${Buffer.from(pair).toString("base64")}` });
const form = (password: string, headers: Record<string, string> = {}) => ({
  method: "POST",
  headers,
  body: new URLSearchParams({ password }),
});

eachDatabase(
  "a link with a password opens with it alone: by a form, or as Basic without a name",
  async (database) => {
    await using node = await sharedNode({ database });
    const { make, ask, answer } = await linkSite(node, { "år (1).html": "secret" });
    const password = "blåbær & grød=1";
    const { address, id } = await make("år (1).html", { password });
    expect(address).not.toContain(id ?? "-");
    const challenge = await ask(address);
    expect([challenge.status, challenge.headers.get("www-authenticate")]).toEqual([
      401,
      'Basic realm="Node Link", charset="UTF-8"',
    ]);
    const page = await ask(address, { headers: browser });
    expect([page.status, page.headers.has("www-authenticate"), page.headers.get("content-type")]).toEqual([
      200,
      false,
      "text/html; charset=utf-8",
    ]);
    expect(await page.text()).toContain('<form method="post">');
    expect(page.headers.get("content-security-policy")).not.toContain("script-src");
    expect(await answer(address, { headers: basic(`:${password}`) })).toEqual([200, "secret"]);
    const sent = await ask(address, form(password, browser));
    expect([sent.status, await sent.text()]).toEqual([200, "secret"]);
    expect(Object.fromEntries(sent.headers)).toMatchObject({
      "content-disposition": "attachment; filename*=UTF-8''%C3%A5r%20%281%29.html",
      "content-security-policy": "sandbox",
      "cache-control": "private, no-store",
    });
    expect(sent.headers.has("set-cookie")).toBe(false);
    const wrong = await ask(address, form("wrong", browser));
    expect([wrong.status, await wrong.text()]).toEqual([
      403,
      expect.stringContaining('<form method="post">'),
    ]);
    expect((await ask(address, form("wrong"))).status).toBe(401);
    const refused = [":wrong", `x:${password}`, ":", password, node.superToken];
    for (const pair of refused)
      expect([pair, (await ask(address, { headers: basic(pair) })).status]).toEqual([pair, 401]);
    expect((await ask(address, form(""))).status).toBe(401);
    const large = await ask(address, form("x".repeat(5000)));
    expect(large.status).toBe(413);
    const json = {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ password }),
    };
    expect((await ask(address, json)).status).toBe(415);
  },
);

eachDatabase("a password is asked before a use is counted, and for uploads too", async (database) => {
  await using node = await sharedNode({ database });
  const { make, ask, answer, put } = await linkSite(node, { "a.txt": "a" });
  const once = await make("a.txt", { password: "open", max_downloads: 1 });
  for (const headers of [{}, browser, basic(":wrong")]) await answer(once.address, { headers });
  expect(await answer(once.address, form("open"))).toEqual([200, "a"]);
  expect((await answer(once.address, form("open")))[0]).toBe(410);
  const box = await make("in", { password: "open", upload: true });
  const page = await ask(box.address, { headers: browser });
  expect(await page.text()).toContain('id="password"');
  expect(await put(box.address, "a.txt", "a")).toBe(401);
  expect(await put(box.address, "a.txt", "a", { ...basic(":wrong"), ...browser })).toBe(403);
  expect(await put(box.address, "a.txt", "a", basic(":open"))).toBe(201);
});

test("guessing a link's password is slowed down, and the audit log says at which link", async () => {
  const clock = new ManualClock();
  await using node = await testNode({ clock });
  const { make, answer } = await linkSite(node, { "a.txt": "a" });
  const { address, id } = await make("a.txt", { password: "open" });
  const guess = async () => expect((await answer(address, form("wrong")))[0]).toBe(401);
  for (let guesses = 0; guesses < 20; guesses += 1) await guess();
  const begin = clock.monotonic();
  await clock.settle(guess(), 100);
  expect(clock.monotonic() - begin).toBeGreaterThanOrEqual(1000);
  expect((await answer(address, form("open")))[0]).toBe(200);
  const audit = (await node.call("audit_list", { token: node.superToken })) as Array<{ fields: object }>;
  const entries = JSON.stringify(audit);
  expect(entries).toContain(`"link":"${id}"`);
  expect(entries).toContain("sign_in.failed");
  expect(entries).toContain("link.made");
  expect(entries).toContain("link.used");
  expect(entries).not.toContain(address.split("/")[3]);
  expect(entries).not.toContain("wrong");
});
