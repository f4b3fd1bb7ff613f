import { expect } from "bun:test";
import { inBrowser, originsFor, Tab } from "../console/browser.ts";
import { deploySite } from "../support/deploys.ts";
import { testNode } from "../support/node.ts";

/** A site as generators make them: absolute links, and a router that looks at the address. */
const siteOf = (version: string) => ({
  "index.html": `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>${version}</title>
<a href="/about">About</a><main></main><script src="/assets/app.js"></script>`,
  "assets/app.js": `const show = () => { document.querySelector("main").textContent = "${version} at " + location.pathname; };
document.querySelector("a").addEventListener("click", (event) => { event.preventDefault(); history.pushState(null, "", "/about"); show(); });
show();`,
  _redirects: "/* /index.html 200\n",
});

for (const [origin, seenAs] of originsFor("a preview"))
  inBrowser(`a browser sees a preview as the published site, and leaves it (${origin})`, async () => {
    await using own = await testNode();
    const node = seenAs(own);
    const site = await deploySite(own);
    await own.call("static-bucket_update", { token: own.superToken, name: "site", is_http_root: true });
    await site.deploy(siteOf("old"));
    const { deploy } = await site.prepare(siteOf("new"));
    const made = await own.call("static-bucket_deploy_preview", {
      token: own.superToken,
      name: "site",
      deploy,
    });
    const { address } = made as { readonly address: string };
    await using tab = await Tab.open(node, { ownContext: true });
    const { page } = tab;
    const shows = (text: string) => page.locator("main", { hasText: text }).waitFor();

    await page.goto(`${node.url}/`);
    await shows("old at /");
    await page.goto(node.url + address);
    expect(page.url()).toBe(`${node.url}/`);
    await shows("new at /");
    await page.getByText("About").click();
    await shows("new at /about");
    expect(page.url()).toBe(`${node.url}/about`);
    await page.reload();
    await shows("new at /about");
    expect(await page.evaluate("document.cookie")).toBe("");

    await page.goto(`${node.url}/node/preview/`);
    expect(page.url()).toBe(`${node.url}/`);
    await shows("old at /");
    await page.goto(node.url + address);
    await shows("new at /");
    await site.publish(deploy);
    await page.reload();
    await shows("new at /");
    expect(await page.context().cookies()).toEqual([]);
  });
