import { inBrowser, openConsole, sharedNode } from "./browser.ts";
import { actOn, tokenRow } from "./token-row.ts";

inBrowser("a token shows who made it, and deleting the maker tells of what it leaves", async () => {
  await using node = await sharedNode();
  const may = [{ scopes: ["global"], permissions: [{ token: "create" }] }];
  const maker = await node.newToken(may, { username: "maker" });
  const [key = ""] = maker.split(":");
  await node.call("token_create", [maker, { token_limit: [], username: "made" }]);
  await using tab = await openConsole(node, { at: "/tokens" });
  await tokenRow(tab.page, "made").getByText(`by ${key}`).waitFor();
  await actOn(tab.page, "maker", "Delete");
  await tab.page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await tab.page.getByText(`1 token that it created still works. Search for ${key} to find it.`).waitFor();
  await tab.page.getByLabel("Find").fill(key);
  await tab.page.getByText("1 of 2 tokens").waitFor();
  await tokenRow(tab.page, "made").waitFor();
});
