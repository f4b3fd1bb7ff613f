import { expect } from "bun:test";
import { inBrowser, openConsole, shoot, testNode } from "./browser.ts";

inBrowser("a key that is probably misspelt is shown as a warning before and after it is saved", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/config" });
  const { page } = tab;
  await page.getByText("No problems found").waitFor();
  await page.getByRole("textbox", { name: "Configuration" }).click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.insertText("max_upload_sise = 5\n");
  const check = page.getByRole("region", { name: "Check" });
  await check.getByText("1 warning").waitFor();
  await check.getByText("did you mean max_upload_size?").waitFor();
  expect(await check.getByText("No problems found").count()).toBe(0);
  expect(await page.locator(".cm-lintRange-warning").textContent()).toBe("max_upload_sise = 5");
  await page.keyboard.press("Control+End");
  await check.getByRole("button", { name: /^Go to line 1, / }).click();
  await page.keyboard.press("Control+s");
  const dialog = page.getByRole("dialog", { name: "Save these changes?" });
  await dialog.getByText("1 warning").waitFor();
  await shoot(page, "config-warning-save");
  await dialog.getByRole("button", { name: "Save and apply" }).click();
  const saved = page.locator(".notice").filter({ hasText: "Saved. The settings in effect" });
  await saved.getByText(/Warning: .*max_upload_sise/).waitFor();
  expect(await saved.getAttribute("class")).toBe("notice");
  await shoot(page, "config-warning-saved");
});

inBrowser("that a text was not saved is not said any more once it has been corrected and saved", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/config" });
  const { page } = tab;
  const notSaved = page.getByText("Not saved: the text has problems");
  await page.getByRole("textbox", { name: "Configuration" }).click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.insertText("max_upload_size = -\n");
  await page.keyboard.press("Control+s");
  await notSaved.waitFor();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("End");
  await page.keyboard.press("Backspace");
  await page.keyboard.insertText("5");
  await page.getByText("No problems found").waitFor();
  await page.keyboard.press("Control+s");
  await page.getByRole("button", { name: "Save and apply" }).click();
  await page.getByText("Saved and in effect").waitFor();
  expect(await notSaved.count()).toBe(0);
});
