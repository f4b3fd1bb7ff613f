import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { inBrowser, lookAround, openConsole, testNode } from "./browser.ts";
import { becomes } from "./eventually.ts";

const nodesCard = (page: Page) => page.getByRole("region", { name: "Nodes" });
const isShown = (page: Page) => page.getByText("About this server").waitFor();

inBrowser(
  "the overview lists the nodes as soon as there are several, to those who may see them",
  async () => {
    await using one = await testNode({ database: "postgres", top: 'node_name = "alpha"\n' });
    {
      await using tab = await openConsole(one);
      await isShown(tab.page);
      expect(await nodesCard(tab.page).count()).toBe(0);
    }
    await using two = await testNode({
      databaseUrl: one.databaseUrl,
      top: 'node_name = "beta"\nnode_url = "https://beta.example.com:2211"\n',
    });
    {
      await using tab = await openConsole(one);
      const card = nodesCard(tab.page);
      await card.getByText("beta", { exact: true }).waitFor();
      for (const shown of [
        /alpha ready, serves this console/,
        /beta readyVersion \S+ since .*, https:\/\/beta\.example\.com:2211$/,
        /The nodes do not share their files/,
      ])
        await becomes(() => card.textContent(), expect.stringMatching(shown));
    }
    const token = await one.newToken([{ scopes: ["global"], permissions: [{ node: "read_logs" }] }]);
    await using tab = await openConsole(one, { token });
    await isShown(tab.page);
    expect(await nodesCard(tab.page).count()).toBe(0);
    const findings = await lookAround(one, "nodes", "/overview", async (page) => {
      await nodesCard(page).getByText("beta", { exact: true }).waitFor();
    });
    expect(findings).toEqual([]);
    expect(two.url).not.toBe(one.url);
  },
);
