import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { Home, type Server } from "../support/process.ts";
import { inBrowser, openConsole, shoot } from "./browser.ts";

const tour = readFileSync("docs/console.md", "utf8");
const pictures = [...tour.matchAll(/\(console\/([\w-]+)\.png\)/g)].map(([, name]) => name ?? "");

const warning = "refused credentials";
const heading = (page: Page, name: string) => page.getByRole("heading", { name, level: 1 }).waitFor();

/** One stop of the tour: its route, and what is done there before the screenshot. */
interface Stop {
  readonly at: string;
  readonly arrive: (page: Page) => Promise<unknown>;
}

const stops: Record<string, Stop> = {
  overview: {
    at: "/overview",
    async arrive(page) {
      await page.getByText(warning).waitFor();
      await page.getByText("static_file", { exact: true }).waitFor();
    },
  },
  logs: {
    at: "/logs?filter=debug",
    arrive: (page) => page.getByText(warning).first().click(),
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
    arrive: (page) => page.getByText("The server finds nothing wrong").waitFor(),
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

/** Fills the server as if it had been used for a while. */
async function furnish(server: Server, token: string): Promise<void> {
  const call = (method: string, params: object) => server.call(method, { token, ...params });
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
  await server.send("static-bucket_list", { token: "nobody:knows-this" });
}

inBrowser(
  "docs/console.md shows every page as it is",
  async () => {
    await using home = await Home.open();
    // The default configuration, on any free port.
    const { stdout } = await home.run(["init"]);
    const starter = await Bun.file(home.configPath).text();
    const filter = 'memory_log_filter = "debug"';
    await Bun.write(
      home.configPath,
      starter.replace("127.0.0.1:2211", "127.0.0.1:0").replace(/^# memory_log_filter = .*$/m, filter),
    );
    const superToken = /^Super Token: (\S+)$/m.exec(stdout)?.[1] ?? "";
    const server = await home.serve();
    await furnish(server, superToken);
    const { url } = server;
    expect(pictures.toSorted()).toEqual(["sign-in", ...Object.keys(stops)].toSorted());
    {
      await using tab = await openConsole({ url, superToken }, { token: undefined });
      await heading(tab.page, "Sign in");
      await shoot(tab.page, "sign-in", process.env.TOUR);
    }
    for (const [name, { at, arrive }] of Object.entries(stops)) {
      await using tab = await openConsole({ url, superToken }, { at });
      await arrive(tab.page);
      await shoot(tab.page, name, process.env.TOUR);
    }
  },
  180_000,
);
