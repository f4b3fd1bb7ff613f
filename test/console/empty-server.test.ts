import { expect, test } from "bun:test";
import { siteWith } from "../support/bucket.ts";
import { axeFindings, inBrowser, shoot, Tab, testNode } from "./browser.ts";

inBrowser(
  "a browser at an empty server finds its way to the console, from / and from any address",
  async () => {
    await using node = await testNode();
    for (const path of ["/", "/some/where/else?x=1"]) {
      await using tab = await Tab.open(node, { expected: /404/ });
      const { page } = tab;
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        await page.goto(node.url + path);
        expect([path, await axeFindings(page)]).toEqual([path, []]);
        await shoot(page, `${path === "/" ? "placeholder" : "not-found"}-${colorScheme}`);
      }
      await page.getByRole("link", { name: "web console" }).click();
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
    }
  },
);

test("an address where nothing is served is a page for browsers and one line for programs", async () => {
  await using node = await testNode({ top: "console = false\n" });
  const ask = async (accept: string, path = "/some/<b>where") => {
    const answer = await fetch(node.url + path, { headers: { accept } });
    return { status: answer.status, type: answer.headers.get("content-type"), text: await answer.text() };
  };
  expect(await ask("*/*")).toEqual({
    status: 404,
    type: "text/plain; charset=utf-8",
    text: "404 Not Found: nothing is served at this address.\n",
  });
  const page = await ask("text/html,application/xhtml+xml,*/*;q=0.8");
  expect([page.status, page.type]).toEqual([404, "text/html; charset=utf-8"]);
  expect(page.text).toContain("Nothing is served at this address.");
  // The console is off, and nothing of the address is in the page.
  expect(page.text).not.toMatch(/console|<b>where/);
});

test("a missing file of a bucket stays plain text, as the contract has it", async () => {
  await using node = await testNode();
  await siteWith(node, { "index.html": "home" }, { is_http_root: true });
  for (const path of ["/gone", "/node/static/site/gone"]) {
    const answer = await fetch(node.url + path, { headers: { accept: "text/html" } });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([404, "text/plain; charset=utf-8"]);
  }
});
