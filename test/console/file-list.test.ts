import { expect } from "bun:test";
import { readFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Locator, type Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { inBrowser, openConsole, sharedNode, shoot, signIn, testNode } from "./browser.ts";
import { executablePath } from "./context-pool.ts";
import { becomes } from "./eventually.ts";

const list = (page: Page) => page.getByRole("grid", { name: "Files" });
const row = (page: Page, name: string) =>
  list(page)
    .getByRole("row")
    .filter({ has: page.getByTitle(name, { exact: true }) });
const chosen = (page: Page) =>
  page.evaluate("[...document.querySelectorAll('.files-row.chosen a')].map((link) => link.title)") as Promise<
    string[]
  >;

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

async function boxOf(locator: Locator): Promise<Box> {
  const box = await locator.boundingBox();
  if (box === null) throw new Error("the element is not shown");
  return box;
}

/** Point of the row outside its link and checkbox. */
async function emptyPartOf(page: Page, name: string) {
  const { x, y, width, height } = await boxOf(row(page, name));
  return { x: x + width - 6, y: y + height / 2 };
}

/** Waits for the list and for the totals above it, which may make the head of the page higher. */
async function isDrawn(page: Page): Promise<void> {
  await list(page).waitFor();
  await page.getByText("6 files, 6 B", { exact: true }).waitFor();
}

const files = Object.fromEntries(["a", "b", "c", "d", "e", "f"].map((name) => [`${name}.txt`, name]));
const sizes = {
  wide: { width: 1280, height: 800 },
  "at 200 % zoom": { width: 640, height: 400 },
  "on a phone": { width: 390, height: 844 },
};

for (const [way, size] of Object.entries(sizes)) {
  inBrowser(
    `a double click opens the file under the mouse, and selecting moves no row (${way})`,
    async () => {
      await using node = await sharedNode();
      await siteWith(node, files);
      await using tab = await openConsole(node, { at: "/buckets/site" });
      const { page } = tab;
      await page.setViewportSize(size);
      await isDrawn(page);
      await row(page, "c.txt").scrollIntoViewIfNeeded();
      const before = await boxOf(row(page, "a.txt"));
      const { x, y } = await emptyPartOf(page, "c.txt");
      await page.mouse.dblclick(x, y);
      await page.getByRole("dialog", { name: "c.txt" }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.getByText("1 selected").waitFor();
      expect(await boxOf(row(page, "a.txt"))).toEqual(before);
      await shoot(page, `files-selected-${size.width}`);
      await page.keyboard.press("Control+a");
      await page.getByText("6 selected").waitFor();
      expect(await boxOf(row(page, "a.txt"))).toEqual(before);
    },
  );

  inBrowser(`quick clicks with Ctrl select the rows under the mouse (${way})`, async () => {
    await using node = await sharedNode();
    await siteWith(node, files);
    await using tab = await openConsole(node, { at: "/buckets/site" });
    const { page } = tab;
    await page.setViewportSize(size);
    await isDrawn(page);
    await row(page, "c.txt").scrollIntoViewIfNeeded();
    const places = [await emptyPartOf(page, "a.txt"), await emptyPartOf(page, "c.txt")];
    await page.keyboard.down("Control");
    for (const { x, y } of places) await page.mouse.click(x, y);
    await page.keyboard.up("Control");
    await page.getByText("2 selected").waitFor();
    expect(await chosen(page)).toEqual(["a.txt", "c.txt"]);
  });
}

inBrowser(
  "a double click opens what its first click was on, also when the list moves in between",
  async () => {
    await using node = await sharedNode();
    await siteWith(node, files);
    await using tab = await openConsole(node, { at: "/buckets/site" });
    const { page } = tab;
    await isDrawn(page);
    const { x, y } = await emptyPartOf(page, "e.txt");
    await page.mouse.click(x, y);
    await page.evaluate("document.querySelector('.files-box').style.marginTop = '68px'");
    expect((await emptyPartOf(page, "c.txt")).y).toBe(y);
    await page.mouse.down({ clickCount: 2 });
    await page.mouse.up({ clickCount: 2 });
    await page.getByRole("dialog", { name: "e.txt" }).waitFor();
    await page.keyboard.press("Escape");
    expect(await chosen(page)).toEqual(["e.txt"]);
  },
);

inBrowser("every head of the list stands above its own column, at any width", async () => {
  await using node = await sharedNode();
  await siteWith(node, { ...files, "large.bin": "x".repeat(2000) });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  await list(page).waitFor();
  /** Left and right edges of heads and cells by column, if visible. */
  const columns = (within: string) =>
    page.evaluate(`["name", "size", "changed"].map((column) => {
      const cell = document.querySelector("${within} .files-" + column);
      const { left, right, width } = cell.getBoundingClientRect();
      return width === 0 ? undefined : [column, left, right];
    })`);
  for (const width of [1280, 800, 700, 390, 320]) {
    await page.setViewportSize({ width, height: 800 });
    const heads = await columns(".files-heads");
    expect(heads).toEqual(await columns(".files-rows .files-row"));
    expect(JSON.stringify(heads)).toContain('"size"');
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
  }
});

inBrowser("heads and rows end at the frame, with a scroll bar and without", async () => {
  await using node = await testNode();
  await siteWith(node, files);
  // Playwright hides scroll bars by default.
  await using browser = await chromium.launch({
    executablePath: executablePath ?? "",
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
    ignoreDefaultArgs: ["--hide-scrollbars"],
  });
  const page = await browser.newPage({ viewport: sizes.wide });
  await page.goto(`${node.url}/node/console/#/buckets/site`);
  await signIn(page, node.superToken);
  await list(page).waitFor();
  /** Right edges of the frame, of a row, and of the last column in rows and heads. */
  const edges = async () =>
    (await page.evaluate(`[".files-box", ".files-rows .files-row", ".files-rows .files-more", ".files-heads .files-more"]
      .map((part) => Math.round(document.querySelector(part).getBoundingClientRect().right))`)) as number[];
  const [frame = 0, ...inside] = await edges();
  expect(inside).toEqual([frame - 1, frame - 1, frame - 1]);
  await page.setViewportSize({ width: 1280, height: 400 });
  let [, row = 0, cell, head] = await edges();
  while (head === frame - 1) [, row = 0, cell, head] = await edges();
  expect(row).toBeLessThan(frame - 1);
  expect([cell, head]).toEqual([row, row]);
});

inBrowser("the ring of the focused list is drawn around its frame, where no row covers it", async () => {
  await using node = await sharedNode();
  await siteWith(node, files);
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  await list(page).waitFor();
  await page.getByRole("button", { name: "Sort by changed" }).focus();
  await page.keyboard.press("Tab");
  const ring = (part: string) =>
    page.evaluate(`(() => {
      const { outlineStyle, outlineWidth, outlineOffset } = getComputedStyle(document.querySelector("${part}"));
      return [outlineStyle, outlineWidth, outlineOffset];
    })()`);
  expect(await ring(".files-box")).toEqual(["solid", "2px", "0px"]);
  expect(await ring(".files-rows")).toContain("none");
  await shoot(page, "files-focused");
});

inBrowser("signs that nobody would see in a name are shown, and break neither row nor reading", async () => {
  await using node = await sharedNode();
  await siteWith(node, {
    "two\nlines\t.txt": "newline",
    "photo\u202Egnp.txt": "override",
    "\u2067mark\u2069.txt": "isolate",
    "שלום.txt": "hebrew",
  });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  for (const shown of ["two␊lines␉.txt", "photo⟨U+202E⟩gnp.txt", "⟨U+2067⟩mark⟨U+2069⟩.txt", "שלום.txt"]) {
    const link = row(page, shown).locator("a bdi");
    expect(await link.textContent()).toBe(shown);
    expect((await boxOf(link)).height).toBeLessThan(30);
    await link.click();
    await page.getByRole("dialog", { name: shown }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
  await shoot(page, "files-odd-names");
});

inBrowser("the list says what each file is, how much there is, and how old it is", async () => {
  await using node = await sharedNode();
  const { folder } = await siteWith(node, {
    "a.svg": '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>',
    "b.png": "no picture",
    "c.zip": "x",
    "d.ts": "x",
    "sub/e.txt": "x".repeat(5000),
  });
  utimesSync(join(folder, "c.zip"), new Date(), new Date(Date.now() - 3 * 86_400_000));
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  await row(page, "c.zip").getByText("3 days ago").waitFor();
  expect(await row(page, "c.zip").locator(".files-changed").getAttribute("title")).toMatch(/^\d{4}-\d\d-/);
  await page.getByText("1 folder, 4 files, 74 B", { exact: true }).waitFor();
  const kinds = () =>
    page.locator(".files-rows .files-kind").evaluateAll((all) => all.map((kind) => kind.className));
  await row(page, "a.svg").locator("img").waitFor();
  // What is no picture gets its icon as soon as the browser has found that out.
  await becomes(kinds, ["files-kind folder", "files-kind image", "files-kind archive", "files-kind code"]);
  await page.getByLabel("Filter by name").fill("zip");
  await page.getByText("1 file, 1 B", { exact: true }).waitFor();
  await shoot(page, "files-kinds");
});

inBrowser("the list is a grid in its own right, and all of the page lies in a landmark", async () => {
  await using node = await sharedNode();
  await siteWith(node, files);
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  await list(page).waitFor();
  await page.evaluate(readFileSync("node_modules/axe-core/axe.min.js", "utf8"));
  const rules = "{ runOnly: ['aria-allowed-role', 'region'] }";
  const found = await page.evaluate(
    `axe.run(document, ${rules}).then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + " " + html)))`,
  );
  expect(found).toEqual([]);
});

inBrowser(
  "a click on a name selects with Ctrl or Shift, opens without, and opens a tab by the wheel",
  async () => {
    await using node = await sharedNode();
    await siteWith(node, files);
    await using tab = await openConsole(node, { at: "/buckets/site" });
    const { page } = tab;
    const name = (text: string) => list(page).getByTitle(text, { exact: true });
    await name("a.txt").click({ modifiers: ["ControlOrMeta"] });
    await name("c.txt").click({ modifiers: ["ControlOrMeta"] });
    await page.getByText("2 selected").waitFor();
    expect(await chosen(page)).toEqual(["a.txt", "c.txt"]);
    await name("e.txt").click({ modifiers: ["Shift"] });
    await page.getByText("3 selected").waitFor();
    expect(await chosen(page)).toEqual(["c.txt", "d.txt", "e.txt"]);
    expect(tab.pages).toHaveLength(1);
    expect(await page.getByRole("dialog").count()).toBe(0);
    const [opened] = await Promise.all([
      page.context().waitForEvent("page"),
      name("b.txt").click({ button: "middle" }),
    ]);
    await opened.getByRole("dialog", { name: "b.txt" }).waitFor();
    await name("b.txt").click();
    await page.getByRole("dialog", { name: "b.txt" }).waitFor();
  },
);

inBrowser(
  "the path is the title, long ones are shortened in the middle, and no name fools in it",
  async () => {
    await using node = await sharedNode();
    const deep = "one/two/three/four/fi\u202Eve\n";
    await siteWith(node, { [`${deep}/x.txt`]: "12345", [`${deep}/sub/y.txt`]: "x" });
    await using tab = await openConsole(node, { at: "/buckets/site" });
    const { page } = tab;
    const path = page.getByRole("navigation", { name: "Folders" });
    const links = () => path.getByRole("link").allTextContents();
    const title = (name: string) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
    await title("site");
    await page.getByText("1 folder", { exact: true }).waitFor();
    expect(await links()).toEqual(["Buckets"]);
    for (const name of ["one", "two", "three"]) {
      await list(page).getByTitle(name, { exact: true }).click();
      await title(name);
    }
    await becomes(links, ["Buckets", "site", "one", "two"]);
    for (const name of ["four", "fi⟨U+202E⟩ve␊"]) {
      await list(page).getByTitle(name, { exact: true }).click();
      await title(name);
    }
    await page.getByText("1 folder, 1 file, 5 B", { exact: true }).waitFor();
    await becomes(links, ["Buckets", "site", "four"]);
    await becomes(() => page.title(), expect.stringMatching(/^fi⟨U\+202E⟩ve␊ ·/));
    await shoot(page, "files-path");
    await page.getByRole("button", { name: "Folders in between" }).click();
    expect(await page.getByRole("menuitem").allTextContents()).toEqual(["one", "two", "three"]);
    await page.getByRole("menuitem", { name: "two" }).click();
    await title("two");
    await path.getByRole("link", { name: "site" }).click();
    await title("site");
    await list(page).getByTitle("one", { exact: true }).waitFor();
    // The list has the focus, as after a step in it.
    await page.keyboard.press("ArrowDown");
    await page.getByText("1 selected").waitFor();
  },
);

inBrowser("a row that was selected by its checkbox is deleted and renamed by keys", async () => {
  await using node = await sharedNode();
  await siteWith(node, files);
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  await row(page, "b.txt").getByRole("checkbox").click();
  await page.keyboard.press("F2");
  await page.getByRole("dialog", { name: "Rename" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await row(page, "c.txt").getByRole("checkbox").click();
  await page.keyboard.press("Delete");
  await page.getByRole("dialog", { name: "Delete 2 items?" }).waitFor();
});

inBrowser("after Select all the keys work, and / ends a selection to filter by name", async () => {
  await using node = await sharedNode();
  await siteWith(node, files);
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  await row(page, "b.txt").waitFor();
  await page.getByRole("checkbox", { name: "Select all" }).click();
  await page.keyboard.press("Delete");
  await page.getByRole("dialog", { name: /^Delete \d+ items\?$/ }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.keyboard.press("/");
  await page.keyboard.type("b.t");
  await becomes(() => page.getByRole("searchbox", { name: "Filter by name" }).inputValue(), "b.t");
  await row(page, "c.txt").waitFor({ state: "detached" });
  expect(await chosen(page)).toEqual([]);
});

inBrowser("who goes back finds a long folder where it was, as a list and as a grid", async () => {
  await using node = await sharedNode();
  await siteWith(node, {
    ...Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`file ${at}.txt`, ""])),
    "zoo/inside.txt": "",
    "zoo 2/inside.txt": "",
  });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const top = () => page.locator(".files-rows").evaluate((element) => element.scrollTop);
  for (const shape of ["list", "grid"]) {
    await page.getByTitle("zoo", { exact: true }).waitFor();
    const before = await page.locator(".files-rows").evaluate((element) => {
      element.scrollTop = 2000;
      return element.scrollTop;
    });
    const name = shape === "list" ? "file 52.txt" : "file 110.txt";
    await page.getByTitle(name, { exact: true }).waitFor();
    await page.evaluate(`location.hash = "#/buckets/site?path=zoo"`);
    await page.getByTitle("inside.txt").waitFor();
    expect(await top()).toBe(0);
    await page.goBack();
    await page.getByTitle(name, { exact: true }).waitFor();
    await becomes(top, before);
    // A link to the same folder shows its beginning.
    await page.evaluate(`location.hash = "#/buckets/site?path=zoo"`);
    await page.getByTitle("inside.txt").waitFor();
    await page.getByRole("link", { name: "site", exact: true }).click();
    await page.getByTitle("zoo 2", { exact: true }).waitFor();
    expect(await top()).toBe(0);
    if (shape === "grid") continue;
    await page.getByRole("button", { name: "Show as a grid" }).click();
    await page.locator(".files-tiles").waitFor();
  }
});

inBrowser("the address of a selected file is copied on a phone, too", async () => {
  await using node = await sharedNode();
  await siteWith(node, files);
  await using tab = await openConsole(node, { at: "/buckets/site", phone: true });
  const { page } = tab;
  await row(page, "b.txt").getByRole("checkbox").click();
  for (const width of [390, 320]) {
    await page.setViewportSize({ width, height: 844 });
    const bar = page.getByRole("toolbar", { name: "Selection" });
    const copy = await boxOf(bar.getByRole("button", { name: "Copy URL" }));
    const last = await boxOf(bar.getByRole("button", { name: "Clear", exact: true }));
    expect([width, copy.width > 30, last.x + last.width <= width]).toEqual([width, true, true]);
    await shoot(page, `files-selected-${width}`);
  }
});
