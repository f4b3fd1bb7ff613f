import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { makeFiles } from "./data.ts";
import { median, ms, type Pace, printTable, quantile, ratio } from "./figures.ts";
import { type Bench, call, hello, post, type Site, start, superToken } from "./servers/node-server.ts";
import type { Running } from "./servers/program.ts";

const entries = 50_000;
const files = 10_000;

/** consolePages shows how evenly long lists of the console scroll in Chromium, beside a plain list of 200 lines in the same browser. */
export async function consolePages(bench: Bench, pace: Pace): Promise<void> {
  const executablePath = Bun.which("chromium");
  if (executablePath === null) {
    console.log("LEFT OUT: the console, which needs chromium (apt install chromium)");
    return;
  }
  const site = await bench.site("console", {
    logging: `log_filter = "off"\nmemory_log_filter = "debug"\nmemory_log_capacity = ${entries}`,
  });
  await using server = await start(site.program);
  await furnish(site, server);
  const base = `http://127.0.0.1:${server.port}/node`;
  await using browser = await openBrowser(executablePath);
  const lists: Record<string, () => Promise<Page>> = {
    "plain list, 200 lines": () => plainList(browser.it, base),
    [`log, ${entries.toLocaleString("en-US")} entries`]: () =>
      consolePage(browser.it, `${base}/console/#/logs?filter=debug`),
    [`bucket, ${files.toLocaleString("en-US")} files`]: () =>
      consolePage(browser.it, `${base}/console/#/buckets/many`),
  };
  const pages = new Map<string, Page>();
  for (const [name, open] of Object.entries(lists)) pages.set(name, await open());
  const rounds = new Map<string, number[][]>();
  for (let round = 0; round < (pace.quick ? 2 : 7); round += 1)
    for (const [name, page] of pages) {
      await page.bringToFront();
      rounds.set(name, [...(rounds.get(name) ?? []), await scroll(page)]);
    }
  const worst = (name: string) => median((rounds.get(name) ?? []).map((gaps) => quantile(gaps, 0.95)));
  const [plain = ""] = Object.keys(lists);
  printTable("Scrolling a screen a frame", {
    head: ["list", "frame, median", "frame, 95 %", "ratio"],
    rows: [...rounds].map(([name, all]) => [
      name,
      ms(median(all.map(median))),
      ms(worst(name)),
      ratio(worst(name) / worst(plain)),
    ]),
  });
}

async function furnish({ buckets }: Site, { port }: Running): Promise<void> {
  await call(port, "static-bucket_create", [superToken, "many"]);
  makeFiles(join(buckets, "many"), files);
  const batch = `[${Array(1000).fill(hello).join()}]`;
  for (let sent = 0; sent < entries; sent += 1000) await post(port, batch);
}

async function openBrowser(executablePath: string) {
  const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
  const it = await chromium.launch({ executablePath, args });
  return { it, [Symbol.asyncDispose]: () => it.close() };
}

async function plainList(browser: Browser, base: string): Promise<Page> {
  const page = await browser.newPage();
  await page.goto(base);
  await page.evaluate(`
    const box = document.createElement("section");
    box.className = "virtual-rows";
    Object.assign(box.style, { height: "600px", overflow: "auto" });
    for (let n = 0; n < 200; n += 1) {
      const row = document.createElement("div");
      row.textContent = "line " + n;
      row.style.height = "26px";
      box.append(row);
    }
    document.body.replaceChildren(box);
  `);
  return page;
}

async function consolePage(browser: Browser, url: string): Promise<Page> {
  const page = await browser.newPage();
  await page.goto(url);
  await page.getByLabel("Token", { exact: true }).fill(superToken);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.locator(".virtual-rows > div > div > *").nth(5).waitFor({ timeout: 60_000 });
  return page;
}

/** The time between frames, in milliseconds, while the list moves a screen with every frame. */
async function scroll(page: Page): Promise<number[]> {
  return (await page.evaluate(`new Promise((resolve) => {
    const box = document.querySelector(".virtual-rows");
    const gaps = [];
    let last;
    let down = true;
    const step = (now) => {
      if (last !== undefined) gaps.push(now - last);
      last = now;
      if (gaps.length === 120) return resolve(gaps);
      const before = box.scrollTop;
      box.scrollTop += down ? 600 : -600;
      if (box.scrollTop === before) down = !down;
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  })`)) as number[];
}
