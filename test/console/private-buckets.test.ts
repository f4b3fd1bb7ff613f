import { expect } from "bun:test";
import { readFile } from "node:fs/promises";
import { siteWith } from "../support/bucket.ts";
import { storedFiles } from "../support/stored-site.ts";
import { inSite } from "../webdav/auth-requests.ts";
import { axeFindings, inBrowser, openConsole, shoot, Tab, testNode } from "./browser.ts";

const secretWords = "words-of-a-private-bucket";
const secretScript = `globalThis.stolen = ${JSON.stringify(secretWords)}; document.title = "ran"`;

inBrowser("a bucket is made private, and the form says who can read the files of either kind", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/buckets" });
  const { page } = tab;
  const record = () => node.call("static-bucket_read", { token: node.superToken, name: "site" });
  await page.getByRole("button", { name: "New bucket" }).click();
  await page.getByLabel("Name", { exact: true }).fill("site");
  await page.getByText("Anyone can read its files without a token").waitFor();
  expect(await page.getByRole("radio", { name: "Public" }).isChecked()).toBe(true);
  await page.getByRole("radio", { name: "Private" }).check();
  await page.getByText("More settings").click();
  await page.getByLabel("Host names").fill("docs.example.org, www.example.org");
  await page.getByRole("checkbox", { name: "Pages without .html" }).check();
  expect(await axeFindings(page)).toEqual([]);
  await shoot(page, "buckets-form-private");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { name: "site", level: 1 }).waitFor();
  expect(await record()).toMatchObject({
    public: false,
    hosts: ["docs.example.org", "www.example.org"],
    clean_urls: true,
  });
  await page.locator(".badge", { hasText: "Private" }).waitFor();
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByRole("radio", { name: "Public" }).check();
  await page.getByLabel("Host names").fill("");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".badge", { hasText: "Public" }).waitFor();
  const changed = await record();
  expect([changed]).toEqual([expect.not.objectContaining({ public: false })]);
  expect([changed]).toEqual([expect.not.objectContaining({ hosts: expect.anything() })]);
});

inBrowser(
  "the console downloads files of a private bucket, with and without the right to read its record",
  async () => {
    await using node = await testNode();
    await siteWith(node, { "a.txt": secretWords }, { public: false });
    const webdav = await node.newToken(inSite(["read", "write", "delete", "list"]));
    for (const token of [node.superToken, webdav]) {
      // A token that may not read the record learns of the 401 that the bucket is private.
      await using tab = await openConsole(node, { at: "/buckets/site", token, expected: /401/ });
      const { page } = tab;
      await page.getByRole("checkbox", { name: "a.txt" }).check();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Download" }).click(),
      ]);
      expect(download.suggestedFilename()).toBe("a.txt");
      expect(await readFile(await download.path(), "utf8")).toBe(secretWords);
      expect(await page.getByRole("button", { name: "Copy URL" }).count()).toBe(0);
    }
  },
);

inBrowser(
  "a browser signs in at a private bucket's host name, and no other page can use what it keeps",
  async () => {
    await using node = await testNode();
    const token = node.superToken;
    await siteWith(node, { "evil.html": "<!doctype html><title>evil</title><body></body>" });
    await node.call("static-bucket_create", {
      token,
      name: "docs",
      public: false,
      hosts: ["docs.localhost"],
    });
    await storedFiles(node, "docs").write({
      "index.html":
        '<!doctype html><title>docs</title><body>a private page<script src="/secret.js"></script></body>',
      "secret.js": secretScript,
      "secret.txt": secretWords,
    });
    const { port } = new URL(node.url);
    const [docs, server] = [`http://docs.localhost:${port}`, `http://localhost:${port}`];
    await using tab = await Tab.open(node, { ownContext: true, expected: /./ });
    const { page } = tab;
    const [username = "", password = ""] = token.split(":");
    await page.context().setHTTPCredentials({ username, password });
    const told = (script: string) =>
      page.evaluate(`${script}.then(async (answer) => answer.status + " " + await answer.text(), String)`);

    // The page and its script, by credentials that the browser was asked for and keeps.
    expect((await page.goto(`${docs}/`))?.status()).toBe(200);
    await page.waitForFunction("document.title === 'ran'");
    expect(await told('fetch("/secret.txt")')).toBe(`200 ${secretWords}`);
    for (const path of ["/node/static-webdav/docs/secret.txt", "/node/metrics"])
      expect([path, await told(`fetch("${path}", { credentials: "include" })`)]).toEqual([
        path,
        expect.stringMatching(/^401 /),
      ]);
    expect((await page.goto(`${docs}/node/static/site/evil.html`))?.status()).toBe(421);

    // A page of another bucket, at the server's own address.
    expect((await page.goto(`${server}/node/static/docs/secret.txt`))?.status()).toBe(401);
    expect((await page.goto(`${server}/node/static/site/evil.html`))?.status()).toBe(200);
    for (const url of ["/node/static/docs/secret.txt", `${docs}/secret.txt`])
      for (const init of ['credentials: "include"', 'credentials: "include", cache: "force-cache"'])
        expect([url, init, await told(`fetch("${url}", { ${init} })`)]).toEqual([
          url,
          init,
          expect.not.stringContaining(secretWords),
        ]);
    for (const url of ["/node/static/docs/secret.js", `${docs}/secret.js`]) {
      const ran = await page.evaluate(`new Promise((resolve) => {
      const script = Object.assign(document.createElement("script"), { src: ${JSON.stringify(url)} });
      script.onload = script.onerror = () => resolve(String(globalThis.stolen));
      document.head.append(script);
    })`);
      expect([url, ran]).toEqual([url, "undefined"]);
    }
  },
);
