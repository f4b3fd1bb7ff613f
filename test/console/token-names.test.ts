import { expect, test } from "bun:test";
import { nameProblem } from "../../src/console/pages/tokens/draft.ts";
import type { TestNode } from "../support/node.ts";
import { inBrowser, openConsole, sharedNode, shoot } from "./browser.ts";
import { actOn, tokenRow } from "./token-row.ts";
import "./texts.ts";

interface Listed {
  readonly token_key: string;
  readonly name: string | null;
  readonly token_limit: unknown;
}

/** The newest token of the server. */
async function newestOf(node: TestNode): Promise<Listed | undefined> {
  const { tokens } = (await node.call("token_list_all_tokens", [node.superToken])) as { tokens: Listed[] };
  return tokens.at(-1);
}

inBrowser("a token for watching gets a name, shows its use, and is renamed", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node, { at: "/tokens?preset=webdav" });
  const { page } = tab;
  await page.getByRole("button", { name: "Logs and metrics" }).click();
  await page.getByText("Server: read the log, see the sizes of tables, read the metrics").waitFor();
  const name = page.getByLabel("Name", { exact: true });
  await name.fill("on call ");
  await page.getByText("Remove the space at the start or end.").first().waitFor();
  expect(await page.getByRole("button", { name: "Create token" }).isDisabled()).toBe(true);
  await name.fill("on call");
  await page.getByRole("button", { name: "Create token" }).click();
  const dialog = page.getByRole("dialog", { name: "The new token" });
  const token = (await dialog.locator("dd code").first().textContent()) ?? "";
  await dialog.getByRole("button", { name: "I have copied it" }).click();
  const made = await newestOf(node);
  expect(made).toMatchObject({
    name: "on call",
    token_limit: [
      {
        scopes: ["global"],
        permissions: [{ node: "read_logs" }, { node: "metrics" }, { node: "read_storage" }],
      },
    ],
  });

  const key = made?.token_key ?? "";
  const card = tokenRow(page, key);
  await card.getByText("on call", { exact: true }).waitFor();
  await card.locator(".col-used").getByText("never").waitFor();
  await node.call("log_list", { token });
  await page.reload();
  await card.locator(".col-used").getByText("just now").waitFor();
  await page.getByLabel("Find").fill("on call");
  await page.getByText("1 of 2 tokens").waitFor();
  await shoot(page, "tokens-named");

  await actOn(page, key, "Edit");
  expect(await name.inputValue()).toBe("on call");
  await shoot(page, "tokens-edit-name");
  await name.fill("night shift");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved. The limits apply from the next call.").waitFor();
  expect((await newestOf(node))?.name).toBe("night shift");
  expect((await newestOf(node))?.token_limit).toEqual(made?.token_limit);
});

test("the name of a token is checked as the server does, for common mistakes", () => {
  for (const name of ["", "x".repeat(100), "Резервная копия NAS"]) expect(nameProblem(name)).toBeUndefined();
  for (const name of ["x".repeat(101), "a\nb", "r\u200Boot", " a", "a "])
    expect([name, nameProblem(name)]).toEqual([name, expect.any(String)]);
});
