import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import type { TestNode } from "../support/node.ts";
import { inBrowser, openConsole, shoot, testNode } from "./browser.ts";

const tour = readFileSync("docs/console.md", "utf8");
const pictures = [...tour.matchAll(/\(console\/([\w-]+)\.png\)/g)].map(([, name]) => name ?? "");

const heading = (page: Page, name: string) => page.getByRole("heading", { name, level: 1 }).waitFor();

/** One stop of the tour: where it is, and what is done there before the picture is taken. */
interface Stop {
  readonly at: string;
  readonly arrive: (page: Page) => Promise<unknown>;
}

const stops: Record<string, Stop> = {
  overview: {
    at: "/overview",
    arrive: (page) => page.getByText("the disk is almost full").waitFor(),
  },
  logs: {
    at: "/logs?filter=debug",
    arrive: (page) => page.getByText("the disk is almost full").click(),
  },
  files: {
    at: "/buckets/site",
    arrive: (page) => page.getByText("index.html").waitFor(),
  },
  sql: {
    at: "/sql",
    async arrive(page) {
      const editor = page.getByRole("textbox", { name: /SQL/ });
      await editor.click();
      await page.keyboard.insertText("SELECT id, name, path, cors, enable\nFROM static_file\nORDER BY name");
      await page.keyboard.press("ControlOrMeta+Enter");
      await page.getByText(/3 rows/).waitFor();
    },
  },
  config: {
    at: "/config",
    arrive: (page) => page.getByText("database_url").first().waitFor(),
  },
  tokens: {
    at: "/tokens?preset=webdav&bucket=site",
    arrive: (page) => heading(page, "New token"),
  },
  update: {
    at: "/update",
    arrive: (page) => heading(page, "Update"),
  },
  api: {
    at: "/api/static-bucket_create",
    arrive: (page) => page.getByRole("button", { name: "Send" }).waitFor(),
  },
};

async function furnish(node: TestNode): Promise<void> {
  const call = (method: string, params: object) => node.call(method, { token: node.superToken, ...params });
  for (const name of ["site", "media", "backups"]) await call("static-bucket_create", { name });
  const files = [
    "index.html",
    "style.css",
    "app.js",
    "images/logo.svg",
    "blog/2026/hello.html",
    "robots.txt",
  ];
  for (const path of files)
    await call("static-bucket-file_upload", {
      name: "site",
      path,
      body: `${path}\n`.repeat(path.length * 40),
    });
  const log = node.node.hub.logger("backup");
  log.info("the nightly backup is done", { took_ms: 5123, bytes: 48_211_004 });
  log.warn("the disk is almost full", { path: "/var/backups", free_percent: 3 });
}

inBrowser(
  "docs/console.md shows every page as it is",
  async () => {
    await using node = await testNode({ logging: 'memory_log_filter = "debug"' });
    await furnish(node);
    expect(pictures.toSorted()).toEqual(["sign-in", ...Object.keys(stops)].toSorted());
    {
      await using tab = await openConsole(node, { token: undefined });
      await heading(tab.page, "Sign in");
      await shoot(tab.page, "sign-in", process.env.TOUR);
    }
    for (const [name, { at, arrive }] of Object.entries(stops)) {
      await using tab = await openConsole(node, { at });
      await arrive(tab.page);
      await shoot(tab.page, name, process.env.TOUR);
    }
  },
  120_000,
);
