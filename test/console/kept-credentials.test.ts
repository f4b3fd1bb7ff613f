import { expect } from "bun:test";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { type TestNode, testNode } from "../support/node.ts";
import { inBrowser, openConsole, originsFor, Tab } from "./browser.ts";

const secretWords = "words-that-are-not-for-pub";

/** Buckets `private` and `pub`; the page of `pub` is an attacker's. */
async function openBuckets(): Promise<TestNode> {
  const node = await testNode();
  const files = {
    "private/secret.txt": secretWords,
    "private/secret.html": `<!doctype html><title>${secretWords}</title>${secretWords}`,
    "private/secret.js": `globalThis.stolen = ${JSON.stringify(secretWords)}`,
    "private/secret.svg": `<svg xmlns="http://www.w3.org/2000/svg" width="7" height="7"><title>${secretWords}</title></svg>`,
    "pub/evil.html": "<!doctype html><title>evil</title><body></body>",
  };
  for (const name of ["private", "pub"])
    await node.call("static-bucket_create", { token: node.superToken, name });
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(node.folder, "static", path, ".."), { recursive: true });
    await writeFile(join(node.folder, "static", path), content);
  }
  return node;
}

const at = "/node/static-webdav/private";

/** Ways for a page of the same origin to use credentials of the browser. Each returns its result as text. */
const attacks: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      ["GET", "secret.txt"],
      ["PROPFIND", ""],
      ["PUT", "planted.txt"],
      ["DELETE", "secret.txt"],
      ["MKCOL", "planted"],
      ["LOCK", "secret.txt"],
    ].map(([method, path]) => [
      method,
      `fetch("${at}/${path}", { method: "${method}", credentials: "include", ${method === "PUT" ? 'body: "x"' : ""} })
        .then(async (answer) => answer.status + " " + await answer.text())`,
    ]),
  ),
  "GET from the cache": `fetch("${at}/secret.txt", { cache: "force-cache" }).then((answer) => answer.text())`,
  "GET under another name": `fetch("${at}/secret.txt", { headers: { "user-agent": "davfs2/1.6", "sec-fetch-site": "none" } }).then((answer) => answer.text())`,
  XMLHttpRequest: `new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.onloadend = () => resolve(request.status + request.responseText);
    request.open("GET", "${at}/secret.txt");
    request.withCredentials = true;
    request.send();
  })`,
  image: `new Promise((resolve) => {
    const image = new Image();
    image.onload = () => resolve("shown " + image.width);
    image.onerror = () => resolve("no image");
    image.src = "${at}/secret.svg";
  })`,
  script: `new Promise((resolve) => {
    const script = Object.assign(document.createElement("script"), { src: "${at}/secret.js" });
    script.onload = script.onerror = () => resolve(String(globalThis.stolen));
    document.head.append(script);
  })`,
  ...Object.fromEntries(
    ["secret.txt", "secret.html", "secret.svg", ""].flatMap((path) =>
      ["iframe", "object", "embed"].map((kind) => [
        `${kind} of ${path}`,
        `new Promise((resolve) => {
          const frame = document.createElement("${kind}");
          frame["${kind}" === "object" ? "data" : "src"] = "${at}/${path}";
          frame.onload = frame.onerror = () => {
            try { resolve(String(frame.contentDocument?.documentElement.outerHTML)); } catch (error) { resolve(error.name); }
          };
          document.body.append(frame);
        })`,
      ]),
    ),
  ),
  ...Object.fromEntries(
    ["secret.txt", "secret.html", ""].map((path) => [
      `window of ${path}`,
      `new Promise((resolve) => {
        const opened = window.open("${at}/${path}");
        const timer = setInterval(() => {
          try {
            const { document, location } = opened;
            if (location.href === "about:blank" || document.readyState !== "complete") return;
            resolve(document.documentElement.outerHTML);
          } catch (error) { resolve(error.name); }
          clearInterval(timer);
          opened.close();
        }, 20);
      })`,
    ]),
  ),
  form: `new Promise((resolve) => {
    const frame = Object.assign(document.createElement("iframe"), { name: "posted" });
    document.body.append(frame);
    const form = Object.assign(document.createElement("form"), { action: "${at}/planted.txt", method: "post", target: "posted" });
    document.body.append(form);
    frame.onload = () => {
      if (frame.contentWindow.location.href === "about:blank") return;
      try { resolve(frame.contentDocument.documentElement.outerHTML); } catch (error) { resolve(error.name); }
    };
    form.submit();
  })`,
  beacon: `Promise.resolve(String(navigator.sendBeacon("${at}/planted.txt", "x")))`,
  worker: `new Promise((resolve) => {
    const script = "fetch('" + location.origin + "${at}/secret.txt', { credentials: 'include' }).then(async (answer) => postMessage(answer.status + await answer.text()), (error) => postMessage(String(error)))";
    new Worker(URL.createObjectURL(new Blob([script]))).onmessage = ({ data }) => resolve(data);
  })`,
};

/** Expects every attack to fail and the bucket to be unchanged. `prepare` runs before each. */
async function expectHarmless(page: Page, node: TestNode, prepare = async () => {}): Promise<void> {
  for (const [way, script] of Object.entries(attacks)) {
    await prepare();
    const told = String(await page.evaluate(script));
    expect([way, told.includes(secretWords), /^(?:20\d|shown)/.test(told), told]).toEqual([
      way,
      false,
      false,
      told,
    ]);
  }
  const names = await readdir(join(node.folder, "static/private"));
  expect(names.sort()).toEqual(["secret.html", "secret.js", "secret.svg", "secret.txt"]);
}

/** Types the Super Token into every dialog that asks for a user name and password. */
async function answerDialogs(page: Page, node: TestNode): Promise<void> {
  const [username = "", password = ""] = node.superToken.split(":");
  await page.context().setHTTPCredentials({ username, password });
}

for (const [origin, seenAs] of originsFor("credentials")) {
  inBrowser(
    `over ${origin} a browser is not asked for WebDAV credentials, so pages of buckets have none to use`,
    async () => {
      await using opened = await openBuckets();
      const node = seenAs(opened);
      await using tab = await Tab.open(node, { ownContext: true, expected: /./ });
      const { page } = tab;
      await answerDialogs(page, node);
      const answer = await page.goto(`${node.url}${at}/`);
      expect([answer?.status(), answer?.headers()["www-authenticate"]]).toEqual([
        401,
        'Bearer realm="Node Static WebDAV"',
      ]);
      expect(await page.textContent("body")).toContain("/node/console/");
      // The same with credentials in the address.
      const withCredentials = new URL(`${node.url}${at}/`);
      [withCredentials.username = "", withCredentials.password = ""] = node.superToken.split(":");
      expect((await page.goto(withCredentials.href))?.status()).toBe(401);
      await page.goto(`${node.url}/node/static/pub/evil.html`);
      await expectHarmless(page, node);
    },
  );

  inBrowser(
    `over ${origin} credentials that a browser keeps for a proxy of this server are of no use to a page of a bucket`,
    async () => {
      await using opened = await openBuckets();
      const { url } = opened;
      let withBasic = 0;
      // A proxy that asks for a password at the top of WebDAV, and passes everything else on.
      await using proxy = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        async fetch(request) {
          const { pathname, search } = new URL(request.url);
          const basic = request.headers.get("authorization")?.startsWith("Basic ") ?? false;
          if (pathname === "/node/static-webdav/")
            return basic
              ? new Response("signed in")
              : new Response("", { status: 401, headers: { "www-authenticate": 'Basic realm="proxy"' } });
          if (basic) withBasic += 1;
          return fetch(url + pathname + search, {
            method: request.method,
            headers: request.headers,
            body: request.body,
            redirect: "manual",
            decompress: false,
          });
        },
      });
      const node = seenAs(Object.create(opened, { url: { value: proxy.url.origin } }) as TestNode);
      await using tab = await Tab.open(node, { ownContext: true, expected: /./ });
      const { page } = tab;
      await answerDialogs(page, node);
      await page.goto(`${node.url}/node/static/pub/evil.html`);
      // A refusal makes the browser forget the credentials.
      const signIn = async () => {
        const told = await page.evaluate(`fetch("/node/static-webdav/").then((answer) => answer.text())`);
        expect(told).toBe("signed in");
      };
      await expectHarmless(page, node, signIn);
      // The browser really added the credentials.
      expect(withBasic).toBeGreaterThan(10);
    },
  );

  inBrowser(
    `over ${origin} a file that the console showed is not in the cache for pages of buckets`,
    async () => {
      await using opened = await openBuckets();
      const node = seenAs(opened);
      await using tab = await openConsole(node, { at: "/buckets/private", expected: /./ });
      const { page } = tab;
      await page.getByText("secret.txt", { exact: true }).click();
      await page.getByText(secretWords).first().waitFor();
      const other = await page.context().newPage();
      await other.goto(`${node.url}/node/static/pub/evil.html`);
      for (const cache of ["force-cache", "only-if-cached", "default"]) {
        const told = await other.evaluate(
          `fetch("${at}/secret.txt", { cache: "${cache}", mode: "same-origin" }).then((answer) => answer.text(), String)`,
        );
        expect([cache, String(told).includes(secretWords)]).toEqual([cache, false]);
      }
    },
  );
}

inBrowser(
  "a page of another origin works with a bucket by credentials of its own, Bearer or Basic",
  async () => {
    await using node = await openBuckets();
    await using elsewhere = await openBuckets();
    await using tab = await Tab.open(elsewhere, { expected: /./ });
    const { page } = tab;
    await page.goto(`${elsewhere.url}/node/static/pub/evil.html`);
    for (const authorization of [`Bearer ${node.superToken}`, `Basic ${btoa(node.superToken)}`]) {
      const statuses = await page.evaluate(`(async () => {
      const ask = (method, path, body) => fetch("${node.url}${at}/" + path, { method, body, headers: { authorization: "${authorization}" } });
      return [(await ask("PUT", "mine.txt", "x")).status, (await ask("PROPFIND", "")).status, (await ask("DELETE", "mine.txt")).status, (await ask("GET", "secret.txt")).status];
    })()`);
      expect([authorization.slice(0, 6), statuses]).toEqual([
        authorization.slice(0, 6),
        [201, 207, 204, 200],
      ]);
    }
  },
);
