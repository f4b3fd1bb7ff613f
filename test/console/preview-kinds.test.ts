import { expect, test } from "bun:test";
import { chromium, type Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { findProgram } from "../support/tools.ts";
import { axeFindings, inBrowser, openConsole, sharedNode, shoot, signIn, testNode } from "./browser.ts";
import { eventually } from "./eventually.ts";
import { open } from "./file-page.ts";

const content = (page: Page, path: string) => page.getByLabel(`Content of ${path}`, { exact: true });
const dialog = (page: Page) => page.getByRole("dialog");

const withViewer = findProgram("the PDF viewer", "chromium");

const pdf = `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]>>endobj
trailer<</Root 1 0 R>>
`;

/** Two seconds of silence. */
function wav(): Buffer {
  const rate = 8000;
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + 2 * rate, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write("data", 36);
  head.writeUInt32LE(2 * rate, 40);
  return Buffer.concat([head, Buffer.alloc(2 * rate, 0x80)]);
}

const markdown = `# Handbook

Some **bold** and [a page](https://example.org/x), [here](javascript:top.hacked=1) and ![a picture](pic.png).

<img src=x onerror="top.hacked=1"><script>top.hacked=1</script>

| Name | Size |
|------|------|
| one  | 1    |
`;

const files = {
  "1.md": markdown,
  "2.csv": `Name;Note\nAda;"first; of all"\n${"x;y\n".repeat(1200)}`,
  "3.txt": Buffer.from([0x66, 0xfc, 0x72]),
  "4.log": `beginning\n${"line\n".repeat(300_000)}`,
  "5.pdf": pdf,
  "6.pdf": "<!doctype html><h1>no PDF</h1><script>top.hacked = 1; parent.hacked = 1</script>",
  "7.wav": wav(),
  "8.mp4": "no video",
  "9.go": 'package main // a comment\nfunc main() { println("hi") }\n',
};

inBrowser("documents, tables, odd texts, sound and PDF are shown, one after the other", async () => {
  await using node = await sharedNode();
  await siteWith(node, files);
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  await open(page, "1.md");
  const document = content(page, "1.md");
  await document.getByRole("heading", { name: "Handbook" }).waitFor();
  expect(await document.locator("strong").textContent()).toBe("bold");
  const links = await document.getByRole("link").evaluateAll((all) => all.map((link) => link.outerHTML));
  expect(links).toEqual([
    '<a href="https://example.org/x" target="_blank" rel="noopener noreferrer">a page</a>',
  ]);
  await document.getByText("(https://example.org/x)").waitFor();
  await document.getByText("<script>").waitFor();
  expect(await document.locator("img, script").count()).toBe(0);
  await document.getByRole("cell", { name: "one" }).waitFor();
  await shoot(page, "preview-markdown");
  expect(await axeFindings(page)).toEqual([]);
  await page.getByRole("tab", { name: "Source" }).click();
  await page.getByRole("textbox", { name: "Content of 1.md" }).getByText("# Handbook").waitFor();
  // In the tabs and in a text the arrow keys have another meaning.
  await page.keyboard.press("ArrowRight");
  await document.getByRole("heading", { name: "Handbook" }).waitFor();
  await page.getByText("1 of 9").waitFor();

  await dialog(page).getByRole("heading", { name: "1.md" }).focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowRight");
  await content(page, "2.csv").getByRole("cell", { name: "first; of all" }).waitFor();
  await page.getByText("At most 1,000 rows").waitFor();
  expect(await content(page, "2.csv").locator("tbody tr").count()).toBe(999);
  await shoot(page, "preview-csv");
  expect(await axeFindings(page)).toEqual([]);
  const arrow = page.getByRole("button", { name: "Next file" });
  const place = await arrow.boundingBox();
  const next = async () => {
    await arrow.click();
    // The next click hits it again, whatever the height of the file.
    expect(await arrow.boundingBox()).toEqual(place);
  };
  await next();
  await page.getByText("Shown as Latin-1").waitFor();
  await content(page, "3.txt").getByText("für").waitFor();
  await next();
  await page.getByText("Only the first 1.05 MB are shown").waitFor();
  await content(page, "4.log").getByText("beginning").waitFor();
  expect(await page.getByRole("button", { name: "Edit" }).count()).toBe(0);
  await next();
  // The shell has no viewer for PDF.
  await page.getByText("This browser cannot show PDF files").waitFor();
  await next();
  await dialog(page).getByRole("heading", { name: "6.pdf" }).waitFor();
  await next();
  const seconds = "document.querySelector('audio')?.duration";
  await eventually("the sound is known", async () => Math.round(Number(await page.evaluate(seconds))) === 2);
  await next();
  await page.getByText("The browser cannot play this file").waitFor();
  await next();
  await content(page, "9.go").getByText("package").waitFor();
  // CodeMirror is in a shadow root; its highlighted words are spans of their own.
  await content(page, "9.go")
    .locator("span", { hasText: /^func$/ })
    .first()
    .waitFor();
  expect(await page.getByRole("button", { name: "Next file" }).isDisabled()).toBe(true);
  expect(await page.evaluate("window.hacked")).toBeUndefined();
  // All of these were one step of the history.
  await page.goBack();
  await dialog(page).waitFor({ state: "detached" });
});

test.if(withViewer !== undefined)(
  "a PDF is shown by the browser's viewer, and a false one runs nothing",
  async () => {
    await using node = await testNode();
    await siteWith(node, files);
    await using browser = await chromium.launch({
      executablePath: withViewer ?? "",
      args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
    });
    const page = await browser.newPage();
    await page.goto(`${node.url}/node/console/#/buckets/site?file=5.pdf`);
    await signIn(page, node.superToken);
    await eventually("the viewer shows the PDF", () =>
      page.frames().some((frame) => frame.url().startsWith("chrome-extension:")),
    );
    await page.keyboard.press("ArrowRight");
    await dialog(page).getByRole("heading", { name: "6.pdf" }).waitFor();
    await page.getByTitle("Content of 6.pdf").waitFor();
    await eventually("the viewer has the false PDF", () =>
      page.frames().some((frame) => frame.url().startsWith("chrome-extension:")),
    );
    expect(await page.evaluate("window.hacked")).toBeUndefined();
  },
);

inBrowser("sound of a private bucket is played, and no address holds a token", async () => {
  await using node = await sharedNode();
  await siteWith(node, { "a.wav": wav(), "b.md": "# 标题" });
  await node.call("static-bucket_update", { token: node.superToken, name: "site", public: false });
  await using tab = await openConsole(node, { at: "/buckets/site?file=a.wav" });
  const { page } = tab;
  await eventually(
    "the sound is known",
    async () => Math.round(Number(await page.evaluate("document.querySelector('audio')?.duration"))) === 2,
  );
  const address = String(await page.evaluate("document.querySelector('audio').src"));
  expect(address).toContain("/node/link/");
  const secret = node.superToken.split(":")[1] ?? "";
  expect(address).not.toContain(secret);
});
