import { expect } from "bun:test";
import { siteWith } from "../support/bucket.ts";
import type { TestNode } from "../support/node.ts";
import { axeFindings, inBrowser, openConsole, sharedNode, shoot } from "./browser.ts";

const sha256 = (text: string) => new Bun.CryptoHasher("sha256").update(text).digest("hex");

/** Makes a deploy whose `index.html` is `text`. */
async function deployOf(node: TestNode, note: string, text: string, redirects = ""): Promise<string> {
  const token = node.superToken;
  const { deploy } = (await node.call("static-bucket_deploy_begin", { token, name: "site", note })) as {
    deploy: string;
  };
  const [user = "", password = ""] = token.split(":");
  const authorization = `Basic ${btoa(`${user}:${password}`)}`;
  const contents = { "index.html": text, ...(redirects === "" ? {} : { _redirects: redirects }) };
  for (const [path, body] of Object.entries(contents))
    await fetch(`${node.url}/node/static-webdav/site@${deploy}/${path}`, {
      method: "PUT",
      headers: { authorization },
      body,
    });
  const files = Object.entries(contents).map(([path, body]) => ({
    path,
    size: body.length,
    sha256: sha256(body),
  }));
  expect(await node.call("static-bucket_deploy_add", { token, name: "site", deploy, files })).toMatchObject({
    missing: [],
  });
  return deploy;
}

inBrowser(
  "a deploy is previewed, published, rolled back and deleted, with its author and its problems",
  async () => {
    await using node = await sharedNode();
    await siteWith(node, { "index.html": "first" });
    const page1 = () => fetch(`${node.url}/node/static/site/`).then((answer) => answer.text());
    await using tab = await openConsole(node, { at: "/buckets/site" });
    const { page } = tab;
    await page.getByRole("link", { name: "Deploys" }).click();
    await page.getByText("node-server deploy ./public site").waitFor();
    await deployOf(node, "spring", "second", "/a /b 999\n");
    await page.reload();
    const spring = page.getByRole("row", { name: /^spring/ });
    await spring.getByText("root", { exact: true }).waitFor();
    const choose = async (item: string) => {
      await page.getByRole("button", { name: "Actions for spring" }).click();
      await page.getByRole("menuitem", { name: item, exact: true }).click();
    };
    await choose("Preview");
    await page.getByRole("dialog", { name: "Preview a deploy that is still being uploaded?" }).waitFor();
    await page.getByRole("button", { name: "Preview", exact: true }).click();
    const preview = page.getByRole("dialog", { name: "Preview of spring" });
    const address = (await preview.getByRole("link", { name: "Open preview" }).getAttribute("href")) ?? "";
    expect(await (await fetch(address)).text()).toBe("second");
    expect(await axeFindings(page)).toEqual([]);
    await preview.locator("footer").getByRole("button", { name: "Close" }).click();
    await spring.getByText("Ready").waitFor();
    expect(await page1()).toBe("first");

    await choose("Publish");
    await page.getByText("Visitors see its files at once").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Publish" }).click();
    await spring.getByText("Published").waitFor();
    expect(await page1()).toBe("second");
    await page.getByText("these lines do not work").waitFor();
    await page.getByText("_redirects:1").waitFor();
    await shoot(page, "bucket-deploys");
    expect(await axeFindings(page)).toEqual([]);

    await page.getByRole("button", { name: "Roll back" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
    await spring.getByText("Earlier").waitFor();
    expect(await page1()).toBe("first");
    await choose("Delete deploy");
    await page.getByRole("dialog").getByRole("button", { name: "Delete deploy" }).click();
    await spring.waitFor({ state: "detached" });
    expect(await page1()).toBe("first");
  },
);
