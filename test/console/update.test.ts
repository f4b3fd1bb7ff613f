import { beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { z } from "zod";
import { anyone } from "../../src/auth/need.ts";
import type { LogEntry } from "../../src/client/index.ts";
import { progressIn, tagProblem } from "../../src/console/pages/update/model.ts";
import { method } from "../../src/methods/declare.ts";
import { parseTag } from "../../src/update/release.ts";
import { smokeTestVariable } from "../../src/update/smoke-test.ts";
import { bothBinaries, install, justTheBinary, token } from "../support/installed.ts";
import { findProgram } from "../support/tools.ts";
import {
  compileMs,
  compileVersions,
  digestOf,
  Releases,
  slowServer,
  type Versions,
} from "../support/update.ts";
import { inBrowser, lookAround, openConsole, shoot, signIn, Tab, testNode } from "./browser.ts";
import { becomes } from "./eventually.ts";
import "./texts.ts";

/** An update downloads, digests and starts a binary of 120 MB: seconds of work, and many times that beside other stories. */
const [patienceMs, storyMs] = [45_000, 90_000];

let versions: Versions | undefined;
beforeAll(async () => {
  if (findProgram("updates in a browser", "chromium") !== undefined) versions = await compileVersions();
}, compileMs);

function bothVersions(): Versions {
  if (versions === undefined) throw new Error("the versions were not compiled");
  return versions;
}

const latestRelease = method({
  effect: "reads",
  doc: "Tells of a newer version.",
  need: anyone,
  params: {},
  result: z.unknown(),
  run: () => ({ current: "1.2.3", latest: "v1.3.0", newer: true, checked_at: 1, problem: null }),
});

async function openUpdatePage(server: { readonly url: string }, expected: RegExp): Promise<Tab> {
  const tab = await Tab.open(server, { expected });
  await tab.page.goto(`${server.url}/node/console/#/update`);
  await signIn(tab.page, token);
  await tab.page.getByRole("heading", { name: "Version 1.0.0" }).waitFor();
  return tab;
}

async function updateTo(page: Page, tag: string): Promise<void> {
  await page.getByLabel("Tag of the release").fill(tag);
  await page.getByRole("button", { name: "Update", exact: true }).click();
  const question = page.getByRole("dialog", { name: `Update to ${tag}?` });
  await question.getByText("with the suffix .old").waitFor();
  await question.getByRole("button", { name: "Update" }).click();
}

// While the server is unreachable, the browser reports it.
const away = /Failed to load resource|WebSocket connection/;

inBrowser(
  "an update shows its progress, and the page comes back by itself on the new version, still signed in",
  async () => {
    const { one, two } = bothVersions();
    using releases = new Releases(bothVersions());
    const seen = Promise.withResolvers<void>();
    using slow = await slowServer(two.path, 2000, seen.promise);
    releases.answer = () => Response.redirect(slow.url);
    await using home = await install(bothVersions(), { releases });
    const server = await home.serve();
    await using tab = await openUpdatePage(server, away);
    const { page } = tab;
    await page.evaluate("window.isOldPage = true");
    await updateTo(page, "v2.0.0");
    const bar = page.getByRole("progressbar", { name: "Download" });
    await bar.waitFor();
    await page.getByText(/MB of \d+ MB, \d+%/).waitFor();
    await shoot(page, "update-progress");
    seen.resolve();
    await page.getByText("The server was updated from 1.0.0 to 2.0.0.").waitFor({ timeout: patienceMs });
    await page.getByRole("heading", { name: "Version 2.0.0" }).waitFor();
    expect(await page.evaluate("window.isOldPage")).toBeUndefined();
    await becomes(() => page.url(), `${server.url}/node/console/#/update`);
    expect(home.files().filter((name) => !name.startsWith("."))).toEqual(bothBinaries);
    expect(await digestOf(home.binary)).toBe(two.digest);
    expect(await digestOf(`${home.binary}.old`)).toBe(one.digest);
  },
  storyMs,
);

inBrowser(
  "a tag without a release is explained, and one that runs already changes nothing",
  async () => {
    using releases = new Releases(bothVersions());
    await using home = await install(bothVersions(), { releases });
    const server = await home.serve();
    await using tab = await openUpdatePage(server, /no such release for this system/);
    const { page } = tab;
    await page.getByLabel("Tag of the release").fill("3.0");
    await page.getByText("Enter a tag of the form vX.Y.Z").waitFor();
    expect(await page.getByRole("button", { name: "Update", exact: true }).isDisabled()).toBe(true);
    await updateTo(page, "v3.0.0");
    const problem = page.getByRole("alert");
    await problem.getByText("The server was not updated to v3.0.0.").waitFor();
    expect(await problem.textContent()).toMatch(
      /no such release for this system \(404\); nothing was changed\. Check/,
    );
    await updateTo(page, "v1.0.0");
    await page.getByText("The server already runs v1.0.0. Nothing was changed").waitFor();
    expect(home.files()).toEqual(justTheBinary);
    expect(await server.version()).toBe("1.0.0");
  },
  storyMs,
);

inBrowser(
  "an update goes on without the page, and tells who looks at another one when it is done",
  async () => {
    using releases = new Releases(bothVersions());
    const left = Promise.withResolvers<void>();
    using slow = await slowServer(bothVersions().two.path, 1000, left.promise);
    releases.answer = () => Response.redirect(slow.url);
    await using home = await install(bothVersions(), { releases });
    const server = await home.serve();
    await using tab = await openUpdatePage(server, away);
    const { page } = tab;
    await updateTo(page, "v2.0.0");
    await page.getByRole("heading", { name: "Updating to v2.0.0" }).waitFor();
    await page.getByRole("link", { name: "API" }).click();
    await page.getByRole("heading", { name: "API", level: 1 }).waitFor();
    left.resolve();
    await page.getByText("The server runs v2.0.0 now. Reload this page").waitFor({ timeout: patienceMs });
    await page.getByRole("link", { name: "Update", exact: true }).click();
    await page.getByText("it is still from the old version").waitFor();
    await page.getByRole("button", { name: "Reload" }).click();
    await page.getByRole("heading", { name: "Version 2.0.0" }).waitFor();
  },
  storyMs,
);

inBrowser(
  "a new version that does not start is told to be taken back",
  async () => {
    using releases = new Releases(bothVersions());
    const broken = await bothVersions().compileBroken(
      "4.0.0",
      "node.ts",
      `export function openNode(options) {
       if (process.env.${smokeTestVariable} !== undefined) return real.openNode(options);
       throw new Error("the story says no");
     }`,
    );
    releases.answer = () => new Response(Bun.file(broken));
    await using home = await install(bothVersions(), { releases });
    const server = await home.serve();
    await using tab = await openUpdatePage(server, new RegExp(`${away.source}|v4.0.0 did not start`));
    await updateTo(tab.page, "v4.0.0");
    const problem = tab.page.locator(".problem");
    await problem
      .getByText("v4.0.0 did not start, so version 1.0.0 runs again.")
      .waitFor({ timeout: patienceMs });
    expect(await problem.textContent()).toContain("an update was rolled back because it did not start");
    expect(await digestOf(home.binary)).toBe(bothVersions().one.digest);
  },
  storyMs,
);

inBrowser(
  "a server from source says that it has no binary, and the page is readable by everybody",
  async () => {
    await using node = await testNode({ top: 'release_url = "http://127.0.0.1:9/"\n' });
    const visit = { at: "/update", expected: /runs from source/ };
    await using tab = await openConsole(node, visit);
    await updateTo(tab.page, "v9.9.9");
    await tab.page
      .getByText("The server says: this server runs from source and has no binary to replace")
      .waitFor();
    expect(
      await lookAround(node, "update", visit, async (page) => {
        await updateTo(page, "v9.9.9");
        await page.getByRole("alert").waitFor();
      }),
    ).toEqual([]);
  },
);

inBrowser(
  "without release_url the page says that updates are off, and leads to the configuration",
  async () => {
    await using node = await testNode();
    await using tab = await openConsole(node, { at: "/update" });
    const { page } = tab;
    await page.getByText("Updates are off").waitFor();
    expect(await page.getByLabel("Tag of the release").count()).toBe(0);
    await page.getByRole("main").getByRole("link", { name: "Config", exact: true }).click();
    await page.getByRole("heading", { name: "Config", level: 1 }).waitFor();
  },
);

inBrowser("the update page offers the newest version, and says when it cannot know it", async () => {
  await using node = await testNode({ methods: { "node-server_latest_release": latestRelease } });
  await using tab = await openConsole(node, { at: "/update" });
  const { page } = tab;
  await page.getByText("v1.3.0 is available.").waitFor();
  await page.getByRole("button", { name: "Update to v1.3.0" }).click();
  await page
    .getByRole("dialog", { name: "Update to v1.3.0?" })
    .getByRole("button", { name: "Cancel" })
    .click();
  await using away = await testNode({ top: 'release_url = "http://127.0.0.1:9/"\n' });
  await using other = await openConsole(away, { at: "/update" });
  await other.page.getByText("The server cannot check for a newer version").waitFor();
  expect(await other.page.getByRole("button", { name: "Update to" }).count()).toBe(0);
});

test("the page takes the tags that the server takes", () => {
  for (const tag of ["v1.2.3", "v0.0.0", "v10.20.30"]) {
    expect(tagProblem(tag)).toBeUndefined();
    expect(parseTag(tag).text).toBe(tag);
  }
  for (const tag of ["", "1.2.3", "v1.2", "v1.2.3-rc1", "v1.2.3 ", "v1.2.1234567890"]) {
    expect(tagProblem(tag)).toBeString();
    expect(() => parseTag(tag)).toThrow();
  }
});

test("progress is read from the codes of this update's events, whatever the messages say", () => {
  const entry = (event: string, fields: Record<string, unknown>): LogEntry => ({
    timestamp: "",
    level: "INFO",
    target: "server",
    message: "in other words",
    fields: { event, ...fields },
    spans: [],
  });
  const tag = "v1.0.0";
  expect(progressIn(entry("update.downloading", { tag, bytes: 5, total: 10, percent: 50 }), tag)).toEqual({
    stage: "downloading",
    bytes: 5,
    total: 10,
  });
  expect(progressIn(entry("update.downloading", { tag: "v2.0.0", bytes: 5 }), tag)).toBeUndefined();
  const failed = { tag, reason: "no", code: "release_not_found" };
  expect(progressIn(entry("update.failed", failed), tag)).toEqual({
    stage: "failed",
    why: "no",
    code: "release_not_found",
  });
  expect(progressIn(entry("update.in_a_newer_server", { tag }), tag)).toBeUndefined();
  expect(progressIn(entry("listener.bound", { tag }), tag)).toBeUndefined();
});
