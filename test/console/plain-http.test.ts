import { expect } from "bun:test";
import { chosenFor } from "../support/tier.ts";
import { inBrowser, overPlainHttp } from "./browser.ts";
import { becomes } from "./eventually.ts";
import { hostilePages, sharedSieges, text } from "./hostile-site.ts";

const openSiege = sharedSieges();

/** Ways for a page to visit `resume`. Each returns all it can learn, as text. */
const visits = {
  fetch: `fetch("/node/console/resume", { credentials: "include" }).then(async (answer) =>
    JSON.stringify([answer.url, answer.redirected, [...answer.headers], await answer.text()]))`,
  "fetch that follows no redirect": `fetch("/node/console/resume", { redirect: "manual" }).then(async (answer) =>
    JSON.stringify([answer.type, answer.url, answer.status, [...answer.headers], await answer.text()]))`,
  "fetch that forbids redirects": `fetch("/node/console/resume", { redirect: "error" }).catch((error) => error.message + error.stack)`,
  "fetch with forged headers": `fetch("/node/console/resume", { headers: { "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document" } }).then(async (answer) =>
    JSON.stringify([answer.url, [...answer.headers], await answer.text()]))`,
  XMLHttpRequest: `new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.onloadend = () => resolve([request.responseURL, request.getAllResponseHeaders(), request.responseText].join("\\n"));
    request.open("GET", "/node/console/resume");
    request.send();
  })`,
  "a worker": `new Promise((resolve) => {
    const script = "fetch('/node/console/resume').then(async (answer) => postMessage(answer.url + await answer.text()), (error) => postMessage(String(error)))";
    const worker = new Worker(URL.createObjectURL(new Blob([script.replace("'/node", "'" + location.origin + "/node")])));
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = ({ message }) => resolve(message);
  })`,
  "a worker with its answer as the script": `new Promise((resolve) => {
    const worker = new Worker("/node/console/resume");
    worker.onerror = (event) => resolve([event.message, event.filename].join(" "));
  })`,
  "a module": `import("/node/console/resume").catch((error) => error.message + error.stack)`,
  "a style sheet": `new Promise((resolve) => {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: "/node/console/resume" });
    link.onload = link.onerror = () => resolve([...document.styleSheets].map(({ href }) => href).join(" "));
    document.head.append(link);
  })`,
  "a violation of its own policy": `new Promise((resolve) => {
    document.addEventListener("securitypolicyviolation", (event) => resolve(JSON.stringify([event.blockedURI, event.sample, event.documentURI])));
    const meta = Object.assign(document.createElement("meta"), { httpEquiv: "Content-Security-Policy", content: "img-src 'none'" });
    document.head.append(meta);
    new Image().src = "/node/console/resume";
  })`,
};

for (const address of chosenFor("the way back in", hostilePages)) {
  inBrowser(`over plain http ${address} learns nothing by asking for the way back in`, async () => {
    await using siege = await openSiege(overPlainHttp);
    const page = await siege.evil(address);
    expect(await page.evaluate("isSecureContext")).toBe(false);
    const sealed: string[] = [];
    for (const [way, script] of Object.entries(visits)) {
      const told = await text(page, script);
      expect([way, siege.holdsToken(told), told.includes("#")]).toEqual([way, false, false]);
      sealed.push(...(/name=\\?"handover\\?" content=\\?"([\w-]+)/.exec(told)?.slice(1) ?? []));
    }
    // They really got the page with the token, each time with another pad.
    expect(sealed.length).toBeGreaterThanOrEqual(4);
    expect(new Set(sealed).size).toBe(sealed.length);
    const loads = await text(page, "JSON.stringify(performance.getEntries().map((entry) => entry.toJSON()))");
    expect(loads).toContain("/node/console/resume");
    expect([siege.holdsToken(loads), loads.includes("handover=")]).toEqual([false, false]);
  });

  inBrowser(`over plain http ${address} learns nothing by framing the way back in`, async () => {
    await using siege = await openSiege(overPlainHttp);
    const page = await siege.evil(address);
    for (const kind of ["iframe", "object", "embed"]) {
      const told = await text(
        page,
        `new Promise((resolve) => {
        const frame = document.createElement("${kind}");
        frame[${JSON.stringify(kind)} === "object" ? "data" : "src"] = "/node/console/resume";
        frame.onload = frame.onerror = () => {
          const found = [];
          for (const look of [
            () => frame.contentWindow.location.href,
            () => frame.contentDocument.URL,
            () => frame.contentDocument.documentElement.outerHTML,
            () => JSON.stringify(frame.contentWindow.navigation.entries().map(({ url }) => url)),
            () => JSON.stringify(frame.contentWindow.performance.getEntries()),
          ]) {
            try { found.push(String(look())); } catch (error) { found.push(error.name); }
          }
          resolve(found.join("\\n"));
        };
        document.body.append(frame);
      })`,
      );
      expect([kind, siege.holdsToken(told), told.includes("handover=")]).toEqual([kind, false, false]);
    }
    // The history of a frame in which a page of its own takes the place of the refused one.
    const history = await text(
      page,
      `new Promise((resolve) => {
        const frame = document.createElement("iframe");
        frame.src = "/node/console/resume";
        frame.onload = () => {
          frame.onload = () => resolve(JSON.stringify([
            frame.contentWindow.navigation.entries().map(({ url }) => url),
            frame.contentWindow.performance.getEntries(),
            frame.contentDocument.referrer,
          ]));
          frame.src = ${JSON.stringify(address)};
        };
        document.body.append(frame);
      })`,
    );
    expect(history).toContain(address);
    expect(history).not.toContain("handover=");
  });
}

inBrowser("over plain http an address that led into the console leads in once", async () => {
  await using siege = await openSiege(overPlainHttp);
  const { page } = siege;
  const seen: string[] = [];
  page.on("framenavigated", (frame) => seen.push(frame.url()));
  await siege.console();
  await page.locator(".menu").waitFor({ state: "attached" });
  const used = seen.find((url) => url.includes("handover=")) ?? "";
  expect(used).toMatch(/\?handover=[\w-]{22}#[\w-]+$/);
  const again = await page.context().newPage();
  await again.goto(used);
  await again.getByRole("heading", { name: "Sign in" }).waitFor();
  await becomes(() => again.url(), `${siege.node.url}/node/console/`);
  // With the clean address it works as usual again.
  await again.reload();
  await again.locator(".menu").waitFor({ state: "attached" });
});

inBrowser("a made-up address of that kind leaves no token in the page of a secure origin", async () => {
  await using siege = await openSiege();
  const { page } = siege;
  await page.goto(`${siege.node.url}/node/console/?handover=made-up#bm90aGluZw`);
  await page.locator(".menu").waitFor({ state: "attached" });
  await becomes(() => page.url(), `${siege.node.url}/node/console/`);
  expect(siege.holdsToken(await text(page, "document.documentElement.outerHTML"))).toBe(false);
});
