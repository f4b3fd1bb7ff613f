import type { Locator, Page } from "playwright-core";

/** Row of a token in the table, by its user name or key. */
export const tokenRow = (page: Page, name: string): Locator => page.getByRole("row", { name, exact: true });

/** Opens the menu of a token's row and chooses an action. */
export async function actOn(page: Page, name: string, action: string): Promise<void> {
  await tokenRow(page, name)
    .getByRole("button", { name: `Actions for ${name}` })
    .click();
  await page.getByRole("menuitem", { name: action }).click();
}
