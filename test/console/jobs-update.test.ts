import { beforeAll, expect } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { newKeyPair, publicKeyOf, readSecretKey, signFile } from "../../scripts/minisign.ts";
import { install, token } from "../support/installed.ts";
import {
  compileMs,
  compileVersions,
  digestOf,
  Releases,
  rawServer,
  slowServer,
  type Versions,
} from "../support/update.ts";
import { inBrowser, openConsole } from "./browser.ts";
import { executablePath } from "./context-pool.ts";
import { Hand, menuLink } from "./hand.ts";

/** An update downloads, digests and starts a binary of 120 MB: seconds of work, and many times that beside other stories. */
const [patienceMs, storyMs] = [45_000, 90_000];

let versions: Versions;
beforeAll(async () => {
  if (executablePath !== undefined) versions = await compileVersions();
}, compileMs);

// While the server is unreachable, the browser reports it.
const away = /Failed to load resource|WebSocket connection/;

inBrowser(
  "job: update to the signed release that the overview announces, and go on with the new version",
  async () => {
    const { one, two, name, folder } = versions;
    const keyFile = join(folder, "jobs.key");
    await writeFile(keyFile, newKeyPair().secret);
    const key = readSecretKey(keyFile);
    const signature = await signFile(two.path, name, two.tag, key);
    using releases = new Releases(versions);
    // The last piece waits until the progress is seen.
    const seen = Promise.withResolvers<void>();
    using slow = await slowServer(two.path, 0, seen.promise);
    releases.answer = ({ url }) => {
      if (url.includes(".minisig")) return new Response(signature);
      return url.includes(two.tag) ? Response.redirect(slow.url) : undefined;
    };
    const top = `release_public_key = "${publicKeyOf(key)}"\n`;
    await using home = await install(versions, { releases, top });
    const server = await home.serve();
    await using tab = await openConsole({ url: server.url, superToken: token }, { expected: away });
    const { page } = tab;
    const hand = new Hand(page);
    const notice = page.locator(".overview-release").filter({ hasText: two.tag });
    await hand.click(notice.getByRole("link", { name: "Update" }));
    await page.getByRole("heading", { name: "Version 1.0.0" }).waitFor();
    await hand.click(page.getByRole("button", { name: "Update to v2.0.0" }));
    await hand.click(
      page.getByRole("dialog", { name: "Update to v2.0.0?" }).getByRole("button", { name: "Update" }),
    );
    await page.getByRole("progressbar", { name: "Download" }).waitFor();
    seen.resolve();
    await page.getByText("The server was updated from 1.0.0 to 2.0.0.").waitFor({ timeout: patienceMs });
    await page.getByRole("heading", { name: "Version 2.0.0" }).waitFor();
    expect(hand.effort()).toEqual({ clicks: 3 });
    expect(await digestOf(home.binary)).toBe(two.digest);
    expect(await digestOf(`${home.binary}.old`)).toBe(one.digest);
    // The page is that of the new version, and the session goes on.
    await hand.click(menuLink(page, "Overview"));
    await page.locator(".overview-status").waitFor();
    await page.locator(".brand").getByText("2.0.0").waitFor();
    expect(await notice.count()).toBe(0);
    expect(hand.effort()).toEqual({ clicks: 1 });
  },
  storyMs,
);

inBrowser("job: mistype the tag of a release, learn it, and correct it", async () => {
  using releases = new Releases(versions);
  // The job before this one goes to the end of an update.
  using endless = await rawServer((socket) =>
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nthe beginning"),
  );
  releases.answer = ({ url }) =>
    url.includes(versions.two.tag) ? Response.redirect(endless.url) : undefined;
  await using home = await install(versions, { releases });
  const server = await home.serve();
  const expected = new RegExp(`${away.source}|no such release for this system`);
  await using tab = await openConsole({ url: server.url, superToken: token }, { expected });
  const { page } = tab;
  const hand = new Hand(page);
  const field = page.getByLabel("Tag of the release");
  const agree = page.getByRole("dialog").getByRole("button", { name: "Update" });
  await hand.click(menuLink(page, "Update"));
  await hand.click(field);
  await hand.type(field, "v2.0.1");
  await hand.press("Enter");
  await hand.click(agree);
  await page.getByRole("alert").getByText("no such release for this system").waitFor();
  expect(hand.effort()).toEqual({ clicks: 3, texts: 1, keys: 1 });
  // The field still has the tag, so that one character is changed.
  expect(await field.inputValue()).toBe("v2.0.1");
  await hand.click(field);
  await hand.press("End", "Backspace");
  await hand.type(field, "0");
  await hand.press("Enter");
  await hand.click(agree);
  await page.getByRole("progressbar", { name: "Download" }).waitFor();
  expect(hand.effort()).toEqual({ clicks: 2, texts: 1, keys: 3 });
});
