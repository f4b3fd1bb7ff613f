import { expect } from "bun:test";
import { siteWith } from "../support/bucket.ts";
import { axeFindings, inBrowser, openConsole, shoot, testNode } from "./browser.ts";
import { copiedBy } from "./clipboard.ts";

inBrowser("links are made, shown once, listed and revoked, alone and all at once", async () => {
  await using node = await testNode();
  await siteWith(node, { "a.txt": "words", "docs/b.txt": "b" }, { public: false });
  await using tab = await openConsole(node, {
    at: "/buckets/site/links",
    expected: /there is no such file|no file/i,
  });
  const { page } = tab;
  await page.getByText("No links with a limit").waitFor();
  const form = page.getByRole("dialog", { name: "New link" });
  const made = page.getByRole("dialog", { name: "Link created" });
  const takeAddress = async () => {
    const address = await copiedBy(page, () => made.getByRole("button", { name: "Copy link" }).click());
    await made.locator("footer").getByRole("button", { name: "Close" }).click();
    return address;
  };
  await page.getByRole("button", { name: "New link" }).click();
  await form.getByLabel("File", { exact: true }).fill("missing.txt");
  await form.getByRole("button", { name: "Create link" }).click();
  await form.getByRole("alert").waitFor();
  await form.getByLabel("File", { exact: true }).fill("a.txt");
  await form.getByRole("textbox", { name: "Maximum downloads" }).fill("0");
  await form.getByText("Enter a number from 1").waitFor();
  expect(await form.getByRole("button", { name: "Create link" }).isDisabled()).toBe(true);
  await form.getByRole("textbox", { name: "Maximum downloads" }).fill("2");
  expect(await axeFindings(page)).toEqual([]);
  await form.getByRole("button", { name: "Create link" }).click();
  await made.getByText("it is not shown again").waitFor();
  const limited = await takeAddress();
  expect(await (await fetch(limited)).text()).toBe("words");
  const row = page.getByRole("row", { name: /^a\.txt/ });
  await row.waitFor();

  // Without a limit and a password it is not stored, so only "Revoke all links" ends it.
  await page.getByRole("button", { name: "New link" }).click();
  await form.getByRole("radio", { name: "A folder as ZIP" }).check();
  await form.getByLabel("Folder", { exact: true }).fill("docs");
  await form.getByRole("button", { name: "Create link" }).click();
  await made.getByText("Only “Revoke all links” revokes it").waitFor();
  const zip = await takeAddress();
  expect((await fetch(zip)).headers.get("content-type")).toBe("application/zip");
  expect(await page.getByRole("row").count()).toBe(2);

  await row.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("No links with a limit").waitFor();
  expect((await fetch(limited)).status).not.toBe(200);
  expect((await fetch(zip)).status).toBe(200);
  await page.getByRole("button", { name: "Revoke all links" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke all links" }).click();
  await page.getByText("All links revoked.").waitFor();
  expect((await fetch(zip)).status).not.toBe(200);

  await page.getByRole("button", { name: "New link" }).click();
  await form.getByRole("radio", { name: "A drop box" }).check();
  await form.getByLabel("Folder", { exact: true }).fill("inbox");
  await form.getByLabel("Password").fill("open sesame");
  await form.getByRole("button", { name: "Create link" }).click();
  await made.getByText("Send the password separately").waitFor();
  await shoot(page, "bucket-link-created");
  await takeAddress();
  const box = page.getByRole("row", { name: /^inbox/ });
  await box.getByText("A drop box").waitFor();
  await box.getByText("Password").waitFor();
});
