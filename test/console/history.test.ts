import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { inBrowser, openConsole, sharedNode } from "./browser.ts";
import { becomes, eventually } from "./eventually.ts";
import { actOn } from "./token-row.ts";

const heading = (page: Page, name: string) => page.getByRole("heading", { name, level: 1 }).waitFor();
const question = (page: Page) => page.getByRole("dialog", { name: "Leave without saving?" });
const entries = (page: Page) => page.evaluate("history.length") as Promise<number>;

inBrowser(
  "a preview that is closed leaves no entry of its own, and one step back leaves the bucket",
  async () => {
    await using node = await sharedNode();
    await siteWith(node, { "a.txt": "first", "b.txt": "second" });
    await using tab = await openConsole(node, { at: "/buckets" });
    const { page } = tab;
    await page.getByRole("link", { name: "site", exact: true }).click();
    await page.getByLabel("Filter by name").fill(".txt");
    const before = await entries(page);
    for (const name of ["a.txt", "b.txt"]) {
      await page.getByRole("grid", { name: "Files" }).getByRole("link", { name }).click();
      await page.getByRole("dialog", { name }).waitFor();
      // However often it is pressed, it closes only the preview.
      await page.keyboard.press("Escape");
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      const filter = page.getByLabel("Filter by name");
      await eventually("the folder is shown as it was", async () => (await filter.inputValue()) === ".txt");
    }
    // Going forward leads to the preview.
    expect(await entries(page)).toBe(before + 1);
    await page.goBack();
    await heading(page, "Buckets");
  },
);

inBrowser("one step back closes the dialog about mounting, and the next leaves the page", async () => {
  await using node = await sharedNode();
  await siteWith(node, { "a.txt": "first" });
  await using tab = await openConsole(node, { at: "/buckets?sort=size" });
  const { page } = tab;
  const dialog = page.getByRole("dialog", { name: "Mount site" });
  const openFromFiles = () => page.getByRole("button", { name: "Mount" }).click();
  const openFromList = async () => {
    await page.getByRole("button", { name: "Actions for site" }).click();
    await page.getByRole("menuitem", { name: "Mount" }).click();
  };
  for (const [open, address] of [
    [openFromList, /#\/buckets\?sort=size$/],
    [openFromFiles, /#\/buckets\/site$/],
  ] as const) {
    await open();
    await dialog.waitFor();
    await page.goBack();
    await dialog.waitFor({ state: "detached" });
    expect(page.url()).toMatch(address);
    await open();
    await dialog.waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await becomes(() => page.url(), expect.stringMatching(address));
    if (open === openFromList) await page.getByRole("link", { name: "site", exact: true }).click();
  }
  await page.goBack();
  await heading(page, "Buckets");
});

inBrowser("a preview that was opened by its address is closed in its own entry", async () => {
  await using node = await sharedNode();
  await siteWith(node, { "a.txt": "first" });
  await using tab = await openConsole(node, { at: "/buckets/site?file=a.txt" });
  const { page } = tab;
  await page.getByRole("dialog", { name: "a.txt" }).waitFor();
  const before = await entries(page);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await entries(page)).toBe(before);
  await becomes(() => page.url(), expect.stringMatching(/#\/buckets\/site$/));
});

inBrowser(
  "a click beside a preview closes it, one that began inside does not, and dialogs with input stay",
  async () => {
    await using node = await sharedNode();
    await siteWith(node, { "a.txt": "first" });
    await using tab = await openConsole(node, { at: "/buckets/site?file=a.txt" });
    const { page } = tab;
    const dialog = page.getByRole("dialog");
    await dialog.getByText("first").waitFor();
    const box = await dialog.boundingBox();
    if (box === null) throw new Error("there is no dialog");
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(5, 5);
    await page.mouse.up();
    // The dialog's own padding is not the backdrop.
    await page.mouse.click(box.x + 4, box.y + 4);
    expect(await dialog.count()).toBe(1);
    await page.mouse.click(5, 5);
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "New folder" }).click();
    await page.getByLabel("Name", { exact: true }).fill("half typed");
    await page.mouse.click(5, 5);
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("half typed");
  },
);

inBrowser(
  "forms of tokens are places of their own: the way back closes them and stays at the tokens",
  async () => {
    await using node = await sharedNode();
    const token = await node.newToken([{ scopes: ["global"], permissions: [{ node: "exec_sql" }] }], {
      username: "alice",
    });
    await using tab = await openConsole(node, { at: "/overview" });
    const { page } = tab;
    await page.getByRole("link", { name: "Tokens", exact: true }).click();
    await page.getByRole("button", { name: "New token" }).click();
    await heading(page, "New token");
    await page.goBack();
    await heading(page, "Tokens");
    await actOn(page, "alice", "Edit");
    await heading(page, "Edit a token");
    await becomes(() => page.url(), expect.stringContaining(`edit=${token.split(":")[0]}`));
    await page.reload();
    await page.getByText("Limits of alice").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await heading(page, "Tokens");
    await page.goBack();
    await heading(page, "Overview");
  },
);

inBrowser(
  "a form that holds something asks before it is left, by whichever way, and stays as it was",
  async () => {
    await using node = await sharedNode();
    await using tab = await openConsole(node, { at: "/tokens" });
    const { page } = tab;
    await page.getByRole("button", { name: "New token" }).click();
    const name = page.getByLabel("User name", { exact: true });
    await name.fill("half typed");
    const ways = [
      () => page.goBack(),
      () => page.getByRole("link", { name: "Logs", exact: true }).click(),
      () => page.getByRole("button", { name: "Cancel" }).click(),
    ];
    for (const leave of ways) {
      await leave();
      await question(page).getByText("You will lose what you entered: the new token.").waitFor();
      await question(page).getByRole("button", { name: "Cancel" }).click();
      await question(page).waitFor({ state: "detached" });
      expect(await name.inputValue()).toBe("half typed");
      await eventually("the address is the form's again", () => page.url().includes("preset=webdav"));
    }
    await page.getByRole("button", { name: "Sign out" }).click();
    await page
      .getByRole("dialog", { name: "Sign out?" })
      .getByText("You will lose unfinished work: the new token.")
      .waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await page.goBack();
    await question(page).getByRole("button", { name: "Leave" }).click();
    await heading(page, "Tokens");
    await page.getByRole("button", { name: "New token" }).click();
    expect(await name.inputValue()).toBe("");
  },
);
