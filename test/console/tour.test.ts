import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { wantedFiles } from "../support/deploys.ts";
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
  activity: {
    at: "/activity",
    arrive: (page) => page.getByText("Sign-in failed").waitFor(),
  },
  logs: {
    at: "/logs?filter=debug",
    arrive: (page) => page.getByText(warning).first().click(),
  },
  buckets: {
    at: "/buckets",
    // The server counts in the background.
    arrive: (page) => page.getByRole("row").filter({ hasText: "handbook" }).getByText(/kB/).waitFor(),
  },
  files: {
    at: "/buckets/site",
    arrive: (page) => page.getByText("index.html").waitFor(),
  },
  deploys: {
    at: "/buckets/site/deploys",
    arrive: (page) => page.getByText("winter prices").waitFor(),
  },
  links: {
    at: "/buckets/site/links",
    arrive: (page) => page.getByText("cover.svg").waitFor(),
  },
  sql: {
    at: "/sql",
    async arrive(page) {
      const editor = page.getByRole("textbox", { name: /SQL/ });
      await editor.click();
      await page.keyboard.insertText("SELECT id, name, path, cors, enable\nFROM static_file\nORDER BY name");
      await page.keyboard.press("ControlOrMeta+Enter");
      await page.getByText(/4 rows/).waitFor();
    },
  },
  config: {
    at: "/config",
    arrive: (page) => page.getByText("No problems found").waitFor(),
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
  // The last one, so that there is something in its charts.
  overview: {
    at: "/overview",
    async arrive(page) {
      // The chart begins with the second measurement: 20 s after the start of the server, and at most 10 s until the page asks.
      await page.locator("canvas").waitFor({ timeout: 40_000 });
      // A machine that was busy when the server started makes it look overloaded for a minute.
      if (process.env.TOUR !== undefined)
        await page.locator(".overview-status").getByText("Healthy").waitFor({ timeout: 120_000 });
      await page
        .getByRole("region", { name: "Buckets by size" })
        .getByText("site", { exact: true })
        .waitFor();
    },
  },
};

const svg = (colour: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><rect width="64" height="64" rx="12" fill="${colour}"/></svg>`;

/** Files by bucket. */
const contents: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  site: {
    "index.html": "<!doctype html>\n<h1>Welcome</h1>\n".repeat(30),
    "style.css": "body { margin: 0 }\n".repeat(80),
    "app.js": "console.log('hello');\n".repeat(400),
    "images/logo.svg": svg("#2457d6"),
    "blog/2026/hello.html": "<h1>Hello</h1>\n".repeat(50),
    "robots.txt": "User-agent: *\nAllow: /\n",
    "README.md": "# The site\n\nEdited by the marketing team.\n",
    "prices.csv": "Product,Price\nSmall,10\nLarge,25\n",
    "logo.svg": svg("#0a7d4f"),
    "cover.svg": svg("#c2410c"),
  },
  media: Object.fromEntries(
    Array.from({ length: 24 }, (_, at) => [`photos/${at}.svg`, svg("#7c3aed").repeat(at + 1)]),
  ),
  backups: { "2026-11-15.sql": "-- backup\n".repeat(40_000), "2026-11-16.sql": "-- backup\n".repeat(41_000) },
  handbook: { "index.html": "<h1>Handbook</h1>\n".repeat(200) },
};

/** Fills the server as if it had been used for a while. */
async function furnish(server: Server, token: string): Promise<void> {
  const call = (method: string, params: object) => server.call(method, { token, ...params });
  for (const [name, files] of Object.entries(contents)) {
    await call("static-bucket_create", { name, public: name !== "backups" });
    for (const [path, body] of Object.entries(files))
      await call("static-bucket-file_upload", { name, path, body });
  }
  for (const [note, text] of [
    ["autumn prices", "<h1>Autumn</h1>"],
    ["winter prices", "<h1>Winter</h1>"],
  ] as const)
    await deploy(server, token, note, text);
  await call("static-bucket-file_delete", { name: "site", path: "prices.csv" });
  const link = { name: "site", path: "cover.svg", expires_in: 7 * 86_400 };
  await call("static-bucket-file_link", link);
  await call("static-bucket-file_link", { ...link, path: "", upload: true, password: "open sesame" });
  const four = ["read", "write", "delete", "list"].map((action) => ({ static_bucket_file: action }));
  for (const [name, bucket] of [
    ["laptop of Ada", "site"],
    ["CI of the handbook", "handbook"],
  ])
    await server.call("token_create", {
      father_token: token,
      token_creation: { name, token_limit: [{ scopes: [{ static_bucket: bucket }], permissions: four }] },
    });
  await server.send("static-bucket_list", { token: "nobody:knows-this" });
}

/** Deploys the files of the site with another start page. */
async function deploy(server: Server, token: string, note: string, text: string): Promise<void> {
  const call = (method: string, params: object) =>
    server.call(`static-bucket_deploy_${method}`, { token, name: "site", ...params });
  const { deploy } = (await call("begin", { note })) as { deploy: string };
  const files = { ...contents.site, "index.html": text };
  const { missing } = (await call("add", { deploy, files: wantedFiles(files) })) as { missing: string[] };
  for (const path of missing)
    await fetch(`${server.url}/node/static-webdav/site@${deploy}/${path}`, {
      method: "PUT",
      headers: { authorization: `Basic ${btoa(token)}` },
      body: files[path as keyof typeof files],
    });
  await call("publish", { deploy });
}

/** Visitors of the site, for the charts. */
async function visit(url: string, times: number): Promise<void> {
  const paths = Object.keys(contents.site ?? {});
  for (let at = 0; at < times; at += 1)
    await (await fetch(`${url}/node/static/site/${paths[at % paths.length]}`)).arrayBuffer();
}

/** Visits the site for two minutes: the chart of the picture has a point every ten seconds. */
async function visitForAWhile(url: string): Promise<void> {
  for (const times of [60, 160, 110, 240, 300, 210, 420, 380, 450, 320, 350, 280]) {
    await visit(url, times);
    await Bun.sleep(9500);
  }
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
    for (const [index, [name, { at, arrive }]] of Object.entries(stops).entries()) {
      await visit(url, 20 * (index % 5) + 10);
      if (name === "overview" && process.env.TOUR !== undefined) await visitForAWhile(url);
      await using tab = await openConsole({ url, superToken }, { at });
      await arrive(tab.page);
      await shoot(tab.page, name, process.env.TOUR);
    }
  },
  // For a picture of the charts the site is visited for two minutes, and the overview waits until it is healthy again.
  400_000,
);
