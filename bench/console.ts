import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { type Line, median, ms, type Pace, printTable, ratio } from "./figures.ts";
import {
  type Bench,
  call,
  firstAnswer,
  launch,
  type Program,
  type Running,
  request,
  superToken,
} from "./servers.ts";

const entries = 50_000;
const files = 10_000;

/** How evenly long lists of the console scroll in Chromium, beside a plain list of 200 lines in the same browser. */
export async function consolePages(bench: Bench, pace: Pace): Promise<Line[]> {
  const executablePath = Bun.which("chromium");
  if (executablePath === null) {
    console.log("LEFT OUT: the console, which needs chromium (apt install chromium)");
    return [];
  }
  await using server = launch(await furnishedProgram(bench));
  await firstAnswer(server);
  await fillLog(server);
  const base = server.url.replace("/jsonrpc", "/node");
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
  for (let round = 0; round < pace.rounds; round += 1)
    for (const [name, page] of pages) {
      await page.bringToFront();
      rounds.set(name, [...(rounds.get(name) ?? []), await scroll(page)]);
    }
  const worst = (name: string) => median((rounds.get(name) ?? []).map((gaps) => quantile(gaps, 0.95)));
  const [plain = ""] = Object.keys(lists);
  printTable(
    "Scrolling a screen a frame",
    ["list", "frame, median", "frame, 95 %", "ratio"],
    [...rounds].map(([name, all]) => [
      name,
      ms(median(all.map(median))),
      ms(worst(name)),
      ratio(worst(name) / worst(plain)),
    ]),
  );
  return [];
}

async function furnishedProgram({ folder, ours }: Bench): Promise<Program> {
  const many = join(folder, "static", "many");
  await mkdir(many, { recursive: true });
  for (let n = 0; n < files; n += 1) await writeFile(join(many, `file ${n}.txt`), "x");
  const config = join(folder, "console.toml");
  await writeFile(
    config,
    `ws_listener = "127.0.0.1:${ours.port}"\nstatic_path = "${join(folder, "static")}"\n[logging]\nlog_filter = "off"\nmemory_log_filter = "debug"\nmemory_log_capacity = ${entries}\n[database]\ndatabase_url = "sqlite://${join(folder, "node.db")}?mode=rwc"\n`,
  );
  return { ...ours, command: ours.command.map((word) => (word.endsWith(".toml") ? config : word)) };
}

async function fillLog({ url }: Running): Promise<void> {
  await call(url, request("static-bucket_create", [superToken, "many"]));
  const batch = `[${Array(1000).fill(request("node-server_hello", [])).join()}]`;
  for (let sent = 0; sent < entries; sent += 1000) await call(url, batch);
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

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;
}
