import { expect } from "bun:test";
import { siteWith } from "../support/bucket.ts";
import { axeFindings, inBrowser, openConsole, shoot, testNode } from "./browser.ts";
import { copiedBy } from "./clipboard.ts";

inBrowser(
  "links are made, copied at once, listed with their uses and revoked, alone and all at once",
  async () => {
    await using node = await testNode();
    await siteWith(node, { "a.txt": "words", "docs/b.txt": "b" }, { public: false });
    await using tab = await openConsole(node, { at: "/buckets/site/links" });
    const { page } = tab;
    await page.getByText("No links yet").waitFor();
    const form = page.getByRole("dialog", { name: "New link" });
    const create = form.getByRole("button", { name: "Create and copy link" });
    const made = page.getByRole("dialog", { name: "Link copied" });
    const takeAddress = async () => {
      const address = await copiedBy(page, () => create.click());
      await made.getByText("It is not shown again").waitFor();
      await made.locator("footer").getByRole("button", { name: "Close" }).click();
      return address;
    };
    await page.getByRole("button", { name: "New link" }).click();
    expect(await create.isDisabled()).toBe(true);
    // A file is chosen, by keys or by the mouse.
    const picker = form.getByRole("listbox", { name: "Files in site" });
    await picker.getByText("docs").waitFor();
    await picker.focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await picker.locator(".chosen", { hasText: "a.txt" }).waitFor();
    await form.getByRole("textbox", { name: "Maximum downloads" }).fill("0");
    await form.getByText("Enter a number from 1").waitFor();
    expect(await create.isDisabled()).toBe(true);
    await form.getByRole("textbox", { name: "Maximum downloads" }).fill("2");
    await shoot(page, "bucket-link-form");
    expect(await axeFindings(page)).toEqual([]);
    const limited = await takeAddress();
    expect(await (await fetch(limited)).text()).toBe("words");
    const row = page.getByRole("row", { name: /^a\.txt/ });
    await row.waitFor();

    await page.getByRole("button", { name: "New link" }).click();
    await form.getByRole("radio", { name: "A folder as ZIP" }).check();
    await form.getByText("docs").click();
    await form.getByText("No folders in here").waitFor();
    const zip = await takeAddress();
    expect((await fetch(zip)).headers.get("content-type")).toBe("application/zip");
    const archive = page.getByRole("row", { name: /^docs/ });
    await archive.getByText("Valid", { exact: true }).waitFor();
    await page.reload();
    for (const [of, uses] of [
      [row, "1 of 2"],
      [archive, "1"],
    ] as const)
      await of.getByRole("cell", { name: uses, exact: true }).waitFor();

    await archive.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await archive.waitFor({ state: "detached" });
    expect((await fetch(zip)).status).toBe(410);
    expect((await fetch(limited)).status).toBe(200);
    await page.reload();
    await row.getByText("Used up").waitFor();
    await page.getByRole("button", { name: "Revoke all links" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke all links" }).click();
    await page.getByText("All links revoked.").waitFor();
    await page.getByText("No links yet").waitFor();

    await page.getByRole("button", { name: "New link" }).click();
    await form.getByRole("radio", { name: "A drop box" }).check();
    await form.getByLabel("New folder").fill("inbox");
    await form.getByLabel("Password").fill("open sesame");
    await copiedBy(page, () => create.click());
    await made.getByText("Send the password separately").waitFor();
    await shoot(page, "bucket-link-created");
    await made.locator("footer").getByRole("button", { name: "Close" }).click();
    const box = page.getByRole("row", { name: /^inbox/ });
    await box.getByText("A drop box").waitFor();
    await box.getByText("Password").waitFor();
  },
);

inBrowser("in a public bucket sharing says who can read the file, and makes the bucket private", async () => {
  await using node = await testNode();
  await siteWith(node, { "a.txt": "words" });
  await using tab = await openConsole(node, { at: "/buckets/site?file=a.txt" });
  const { page } = tab;
  await page.getByRole("dialog", { name: "a.txt" }).getByRole("button", { name: "Share" }).click();
  const form = page.getByRole("dialog", { name: "Link to a.txt" });
  await form.getByText("everybody can read its files without a link").waitFor();
  await form.getByText(`${node.url}/node/static/site/a.txt`).waitFor();
  expect(await form.getByLabel("Password").count()).toBe(0);
  await shoot(page, "bucket-link-public");
  expect(await axeFindings(page)).toEqual([]);
  await form.getByRole("button", { name: "Make the bucket private" }).click();
  const question = page.getByRole("dialog", { name: "Make site private?" });
  await question.getByRole("button", { name: "Make the bucket private" }).click();
  await form.getByLabel("Password").fill("open sesame");
  const address = await copiedBy(page, () =>
    form.getByRole("button", { name: "Create and copy link" }).click(),
  );
  expect((await fetch(address)).status).toBe(401);
  expect((await fetch(`${node.url}/node/static/site/a.txt`)).status).toBe(401);
});
