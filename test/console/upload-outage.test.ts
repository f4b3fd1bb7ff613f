import { expect } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { type TestNode, tempFolder } from "../support/node.ts";
import { openRelay, type RequestFault } from "../support/relay.ts";
import { distinctBytes, sha256Of } from "../support/resumable.ts";
import { inBrowser, openConsole, shoot, testNode } from "./browser.ts";
import { eventually } from "./eventually.ts";

/** Failed requests that the browser reports and the page explains. */
const expected = /Failed to load|ERR_|WebSocket/;
const panel = (page: Page) => page.getByRole("region", { name: "Uploads" });
const choose = (page: Page, what: "Upload files" | "Upload folder", paths: string | string[]) =>
  page.locator(`input[aria-label="${what}"]`).setInputFiles(paths);

/** The server behind a relay that is asked about each request. */
async function behindRelay(node: TestNode, onRequest: (line: string) => RequestFault | undefined) {
  const relay = await openRelay(Number(new URL(node.url).port), { onRequest });
  return { relay, seen: { url: relay.url, superToken: node.superToken } };
}

const lost: RequestFault = { kind: "cut", at: { of: "request", after: 10 } };

inBrowser("uploads wait for a server that went away, and go on by themselves when it is back", async () => {
  await using node = await testNode();
  await using own = await tempFolder();
  const { folder } = await siteWith(node, { "old.txt": "old" });
  await mkdir(join(own.path, "pages/deep"), { recursive: true });
  const names = ["a.txt", "b.txt", "deep/c.txt", "deep/d.txt"];
  for (const name of names) await writeFile(join(own.path, "pages", name), name);
  let puts = 0;
  const { relay, seen } = await behindRelay(node, (line) => {
    if (!line.startsWith("PUT ") || ++puts > 1) return undefined;
    void relay.refuse();
    return lost;
  });
  await using _ = relay;
  for (const phone of [false, true]) {
    puts = 0;
    await using tab = await openConsole(seen, { at: "/buckets/site", phone, expected });
    const { page } = tab;
    await page.getByRole("grid", { name: "Files" }).waitFor();
    await choose(page, "Upload folder", join(own.path, "pages"));
    await page.getByRole("button", { name: "Upload the folder" }).click();
    if (phone) await page.getByRole("button", { name: "Replace" }).click();
    const waits = panel(page).getByText(/waiting for the server, (next try in \d+ sec|trying again)/);
    await waits.first().waitFor();
    await shoot(page, `uploads-waiting-${phone ? "phone" : "wide"}`);
    expect(await page.locator(".toast").count()).toBe(0);
    await relay.mend();
    await panel(page).getByText("4 files uploaded").waitFor();
    expect(await waits.count()).toBe(0);
    for (const name of names) expect(readFileSync(join(folder, "pages", name), "utf8")).toBe(name);
  }
});

inBrowser("an upload whose answer was lost is not reported as a conflict with itself", async () => {
  await using node = await testNode();
  await using own = await tempFolder();
  const { folder } = await siteWith(node, {});
  await writeFile(join(own.path, "new.txt"), "new");
  let puts = 0;
  const { relay, seen } = await behindRelay(node, (line) => {
    if (!line.startsWith("PUT ")) return undefined;
    puts += 1;
    return puts > 1 ? undefined : { kind: "cut", at: { of: "answer", after: 0 } };
  });
  await using _ = relay;
  await using tab = await openConsole(seen, { at: "/buckets/site", expected });
  const { page } = tab;
  await page.getByText("This folder is empty").waitFor();
  await choose(page, "Upload files", join(own.path, "new.txt"));
  await panel(page).getByText("1 file uploaded").waitFor();
  expect([puts, readdirSync(folder)]).toEqual([2, ["new.txt"]]);
});

inBrowser("a large file that was cancelled goes on where it stopped, also after a reload", async () => {
  await using node = await testNode();
  await using own = await tempFolder();
  const { folder } = await siteWith(node, {});
  const bytes = distinctBytes(60_000_000, 5);
  await writeFile(join(own.path, "film.bin"), bytes);
  let patches = 0;
  const { relay, seen } = await behindRelay(node, (line) => {
    if (!line.startsWith("PATCH ")) return undefined;
    patches += 1;
    // The second part of each visit gets stuck.
    return patches === 2 ? { kind: "silence", at: { of: "request", after: 0 } } : undefined;
  });
  await using _ = relay;
  await using tab = await openConsole(seen, { at: "/buckets/site", expected });
  const { page } = tab;
  const offsets: number[] = [];
  page.on("request", (request) => {
    if (request.method() === "PATCH") offsets.push(Number(request.headers()["upload-offset"]));
  });
  const stuck = () => eventually("the second part is on its way", () => patches === 2);
  await page.getByText("This folder is empty").waitFor();
  await choose(page, "Upload files", join(own.path, "film.bin"));
  await stuck();
  await panel(page).getByRole("button", { name: "Cancel film.bin" }).click();
  patches = 0;
  await panel(page).getByRole("button", { name: "Retry film.bin" }).click();
  await stuck();
  page.once("dialog", (dialog) => void dialog.accept());
  await page.reload();
  await page.getByText("This folder is empty").waitFor();
  await choose(page, "Upload files", join(own.path, "film.bin"));
  await panel(page).getByText("1 file uploaded").waitFor();
  const part = 16 * 1024 * 1024;
  expect(offsets).toEqual([0, part, part, 2 * part, 2 * part, 3 * part]);
  expect(sha256Of(readFileSync(join(folder, "film.bin")))).toBe(sha256Of(bytes));
});
