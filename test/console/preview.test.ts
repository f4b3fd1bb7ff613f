import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { axeFindings, inBrowser, lookAround, openConsole, sharedNode, shoot, testNode } from "./browser.ts";
import { becomes, eventually } from "./eventually.ts";

/** Reports of the browser and the page when the server refuses a save. */
const refused = /Failed to load resource.*412/;
const refusedOrTold = /Failed to load resource.*412|Someone else changed or deleted this file/;
const list = (page: Page) => page.getByRole("grid", { name: "Files" });
const open = (page: Page, name: string) => list(page).getByTitle(name, { exact: true }).click();
const close = (page: Page) => page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
const content = (page: Page, path: string) => page.getByRole("textbox", { name: `Content of ${path}` });

const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="120" height="80"><rect width="120" height="80" fill="teal"/><script>parent.hacked = 1; top.hacked = 1;</script></svg>`;
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVR4nGP8z8DAwMDAxMDAwMDAAAANHQEDasKb6QAAAABJRU5ErkJggg==",
  "base64",
);

inBrowser("pictures and texts are shown, and what a file holds is never run", async () => {
  await using node = await sharedNode();
  await siteWith(node, {
    "pic.svg": svg,
    "dot.png": png,
    "broken.png": "no picture",
    "page.html": "<h1>Title</h1><script>top.hacked = 1</script>",
    LICENSE: "free to use",
    "pack.zip": "PK",
  });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  for (const [name, width] of [
    ["pic.svg", 120],
    ["dot.png", 2],
  ] as const) {
    await open(page, name);
    await page.getByRole("img", { name }).waitFor();
    const isDrawn = `document.querySelector(".files-image img").naturalWidth === ${width}`;
    await eventually(`${name} is drawn`, () => page.evaluate(isDrawn));
    await close(page);
  }
  await open(page, "page.html");
  await content(page, "page.html").getByText("Title").waitFor();
  expect(await page.getByRole("heading", { name: "Title" }).count()).toBe(0);
  await close(page);
  await open(page, "LICENSE");
  await content(page, "LICENSE").getByText("free to use").waitFor();
  await close(page);
  for (const [name, words] of [
    ["broken.png", "The browser cannot show this file as an image"],
    ["pack.zip", "There is no preview for this type of file"],
  ] as const) {
    await open(page, name);
    await page.getByText(words).waitFor();
    expect(await page.getByRole("button", { name: "Edit" }).count()).toBe(0);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("dialog").getByRole("button", { name: "Download" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(name);
    await close(page);
  }
  expect(await page.evaluate("window.hacked")).toBeUndefined();
});

inBrowser("a text is edited and saved, in the form that it has", async () => {
  await using node = await sharedNode();
  const { folder } = await siteWith(node, { "notes.txt": "\uFEFFone\r\ntwo\r\n" });
  await using tab = await openConsole(node, { at: "/buckets/site?file=notes.txt" });
  const { page } = tab;
  const editor = content(page, "notes.txt");
  await editor.getByText("two").waitFor();
  await page.keyboard.press("x");
  await page.getByRole("button", { name: "Edit" }).click();
  await editor.click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("three");
  await page.getByText("Not saved").waitFor();
  await close(page);
  await page.getByText("Leave without saving?").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await editor.click();
  await page.keyboard.press("Control+s");
  await page.getByText("Saved.").waitFor();
  expect(await readFile(join(folder, "notes.txt"), "utf8")).toBe("\uFEFFone\r\ntwo\r\nthree");
  await page.keyboard.press("Control+End");
  await page.keyboard.type("!");
  await page.getByText("Not saved").waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Not saved").waitFor({ state: "detached" });
  expect(await readFile(join(folder, "notes.txt"), "utf8")).toBe("\uFEFFone\r\ntwo\r\nthree!");
});

inBrowser("somebody else's change is not overwritten unasked", async () => {
  await using node = await testNode();
  const { folder } = await siteWith(node, { "a.txt": "first" });
  const path = join(folder, "a.txt");
  await using tab = await openConsole(node, { at: "/buckets/site?file=a.txt", expected: refusedOrTold });
  const { page } = tab;
  const editor = content(page, "a.txt");
  const edit = async (text: string) => {
    await editor.click();
    await page.keyboard.press("Control+a");
    await page.keyboard.type(text);
    await page.getByRole("button", { name: "Save" }).click();
  };
  await page.getByRole("button", { name: "Edit" }).click();
  await editor.getByText("first").waitFor();
  await edit("saved first");
  await page.getByText("Saved.").waitFor();
  // The folder was listed after the save, so the next write is not in that list.
  await page.getByText("11 B, changed").waitFor();
  await writeFile(path, "theirs");
  await edit("mine");
  await page.getByText("Someone else changed or deleted this file").waitFor();
  // The toast of the previous save is gone.
  await becomes(() => page.locator(".toast").allTextContents(), []);
  await shoot(page, "preview-conflict");
  expect(await axeFindings(page)).toEqual([]);
  expect(await readFile(path, "utf8")).toBe("theirs");
  await page.getByRole("button", { name: "Load theirs" }).click();
  await editor.getByText("theirs").waitFor();
  await page.getByText("6 B, changed").waitFor();
  await edit("mine after theirs");
  await page.getByText("Saved.").waitFor();
  expect(await readFile(path, "utf8")).toBe("mine after theirs");
  await page.getByText("17 B, changed").waitFor();
  await writeFile(path, "theirs again");
  await edit("mine at last");
  await page.getByRole("button", { name: "Overwrite" }).click();
  await page.getByText("Someone else changed").waitFor({ state: "detached" });
  expect(await readFile(path, "utf8")).toBe("mine at last");
});

inBrowser("a step back in the history loses no text that was not saved", async () => {
  await using node = await sharedNode();
  await siteWith(node, { "a.txt": "first" });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  await open(page, "a.txt");
  await page.getByRole("button", { name: "Edit" }).click();
  await content(page, "a.txt").click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("unsaved ");
  await page.getByText("Not saved").waitFor();
  await page.goBack();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  const badge = list(page).getByText("unsaved changes");
  await badge.waitFor();
  await shoot(page, "files-unsaved");
  await open(page, "a.txt");
  await page.getByText("This is your unsaved draft.").waitFor();
  await content(page, "a.txt").getByText("unsaved first").waitFor();
  await page.getByRole("button", { name: "Discard changes" }).click();
  await content(page, "a.txt").getByText("first", { exact: true }).waitFor();
  await close(page);
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await badge.waitFor({ state: "detached" });
});

inBrowser("what is typed while a text is saved is neither lost nor taken for somebody else's", async () => {
  await using node = await sharedNode();
  const { folder } = await siteWith(node, { "a.txt": "" });
  await using tab = await openConsole(node, { at: "/buckets/site?file=a.txt" });
  const { page } = tab;
  await page.getByRole("button", { name: "Edit" }).click();
  await content(page, "a.txt").click();
  let held = Promise.withResolvers<void>();
  await page.route("**/a.txt", async (route) => {
    if (route.request().method() === "PUT") await held.promise;
    await route.continue();
  });
  await page.keyboard.type("one");
  await Promise.all([page.waitForRequest("**/a.txt"), page.keyboard.press("Control+s")]);
  await page.keyboard.type(" two");
  held.resolve();
  await page.getByText("Saved.").waitFor();
  expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("one");
  await close(page);
  await page.getByText("Leave without saving?").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  held = Promise.withResolvers();
  await content(page, "a.txt").click();
  const puts: number[] = [];
  const all = page.waitForEvent("response", (response) => {
    if (response.request().method() === "PUT") puts.push(response.status());
    return puts.length === 3;
  });
  for (let times = 0; times < 3; times += 1) await page.keyboard.press("Control+s");
  held.resolve();
  await all;
  expect(puts).toEqual([204, 204, 204]);
  expect(await page.getByText("Someone else changed").count()).toBe(0);
  expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("one two");
});

inBrowser(
  "however often Escape is pressed, a text that is not saved stays open until one says so",
  async () => {
    await using node = await sharedNode();
    await siteWith(node, { "a.txt": "first" });
    await using tab = await openConsole(node, { at: "/buckets/site?file=a.txt" });
    const { page } = tab;
    const question = page.getByText("Leave without saving?");
    await page.getByRole("button", { name: "Edit" }).click();
    await content(page, "a.txt").click();
    await page.keyboard.type("un");
    await page.getByText("Not saved").waitFor();
    for (let round = 0; round < 3; round += 1) {
      await page.getByRole("button", { name: "Discard changes" }).focus();
      await page.keyboard.press("Escape");
      await question.waitFor();
      await page.keyboard.press("Escape");
      await question.waitFor({ state: "detached" });
      await page.getByText("Not saved").waitFor();
    }
    await page.getByRole("button", { name: "Discard changes" }).click();
  },
);

inBrowser("a new text file is made empty, opened, and never over another", async () => {
  await using node = await testNode();
  const { folder } = await siteWith(node, { "sub/there.txt": "x" });
  await using tab = await openConsole(node, { at: "/buckets/site?path=sub", expected: refused });
  const { page } = tab;
  const make = async (name: string) => {
    await page.getByLabel("Name", { exact: true }).fill(name);
    await page.getByRole("button", { name: "Create" }).click();
  };
  await page.getByRole("button", { name: "New file" }).click();
  await make("there.txt");
  await page.getByText("A file or folder named there.txt already exists here").waitFor();
  await writeFile(join(folder, "sub/meanwhile.txt"), "theirs");
  await make("meanwhile.txt");
  await page.getByText("A file or folder named meanwhile.txt already exists here").waitFor();
  expect(await readFile(join(folder, "sub/meanwhile.txt"), "utf8")).toBe("theirs");
  await make("new & 100%.md");
  await page.getByRole("heading", { name: "new & 100%.md" }).waitFor();
  expect(existsSync(join(folder, "sub/new & 100%.md"))).toBe(true);
  await page.getByRole("button", { name: "Edit" }).click();
  await content(page, "sub/new & 100%.md").click();
  await page.keyboard.type("# Hello");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  expect(await readFile(join(folder, "sub/new & 100%.md"), "utf8")).toBe("# Hello");
});

inBrowser("an open file is readable by everybody", async () => {
  await using node = await sharedNode();
  await siteWith(node, {
    "app.ts": 'const greeting: string = "hello"; // a comment\nconsole.log(greeting, 42);\n',
  });
  expect(
    await lookAround(node, "preview", "/buckets/site?file=app.ts", (page) =>
      content(page, "app.ts").getByText("greeting").first().waitFor(),
    ),
  ).toEqual([]);
});
