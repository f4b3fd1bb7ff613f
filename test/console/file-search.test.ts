import { expect } from "bun:test";
import { siteWith } from "../support/bucket.ts";
import { axeFindings, inBrowser, openConsole, shoot, testNode } from "./browser.ts";
import { becomes } from "./eventually.ts";

inBrowser("files are found in the whole bucket, and opened from there", async () => {
  await using node = await testNode();
  await siteWith(node, {
    "index.html": "x",
    "docs/deep/Report 2026.txt": "the report",
    "docs/other.txt": "x",
    "reports/a.csv": "a,b",
  });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  await page.getByLabel("Filter by name").fill("report");
  await page.getByRole("button", { name: "Whole bucket" }).click();
  const found = page.getByRole("region", { name: "Found files" });
  await found.getByRole("link", { name: "docs/deep/Report 2026.txt" }).waitFor();
  await becomes(
    async () => (await found.getByRole("link").allTextContents()).sort(),
    ["docs/deep/Report 2026.txt", "reports (folder)", "reports/a.csv"],
  );
  for (const [width, height] of [
    [1440, 900],
    [820, 900],
    [390, 844],
  ] as const) {
    await page.setViewportSize({ width, height });
    expect(
      await page.evaluate(
        "document.querySelector('.files-tools').scrollWidth <= document.querySelector('.files-tools').clientWidth",
      ),
    ).toBe(true);
    await shoot(page, `files-search-${width}`);
    expect(await axeFindings(page)).toEqual([]);
  }
  await page.emulateMedia({ colorScheme: "dark" });
  await shoot(page, "files-search-dark");
  expect(await axeFindings(page, { coloursOnly: true })).toEqual([]);
  await page.getByLabel("Filter by name").fill("nowhere at all");
  await page.getByText("Nothing in this bucket has “nowhere at all” in its path.").waitFor();
  await page.getByLabel("Filter by name").fill("2026 report");
  await found.getByRole("link").click();
  await page.getByRole("dialog", { name: "Report 2026.txt" }).getByText("the report").waitFor();
  await becomes(() => new URL(page.url()).hash, expect.stringContaining("path=docs%2Fdeep"));
});
