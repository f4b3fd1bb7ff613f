import { expect } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { siteWith } from "../support/bucket.ts";
import { type TestNode, tempFolder } from "../support/node.ts";
import { until } from "../support/until.ts";
import {
  axeFindings,
  inBrowser,
  openConsole,
  overPlainHttp,
  sharedNode,
  shoot,
  testNode,
} from "./browser.ts";
import { dropFiles } from "./drop-files.ts";

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

const pages = 300;

/** A generated site of some hundred files. */
function generate(folder: string, version: string): void {
  const write = (path: string, content: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  };
  write("index.html", `<h1>${version}</h1>`);
  for (let at = 0; at < pages; at += 1)
    write(`posts/${at % 20}/post ${at}.html`, `<p>Post ${at}</p>`.repeat(40));
  write("assets/app.js", `console.log(${JSON.stringify(version)});`.repeat(5000));
  write("node_modules/a/index.js", "never deployed");
}

inBrowser(
  "a designer drops a site, sees what changes and what will not work, previews, publishes and rolls back",
  async () => {
    await using shared = await testNode();
    // As another machine sees it: no secure context, and so none of the browser's own hashes.
    const node = overPlainHttp(shared);
    const { get } = await siteWith(shared, { "index.html": "<h1>old</h1>", "gone.html": "gone" });
    const permissions = ["read", "write", "delete", "list"].map((action) => ({ static_bucket_file: action }));
    const limits = [{ scopes: [{ static_bucket: "site" }], permissions }];
    const { key, secret } = (await node.call("token_create", [node.superToken, { token_limit: limits }])) as {
      key: string;
      secret: string;
    };
    await using own = await tempFolder();
    const dist = join(own.path, "dist");
    generate(dist, "one");
    writeFileSync(join(dist, "_redirects"), "/a /b 999\n");
    await using tab = await openConsole(node, {
      at: "/buckets/site/deploys",
      token: `${key}:${secret}`,
      expected: /not a ZIP archive/,
    });
    const { page } = tab;
    const shown = async () => (await get("/index.html", { "cache-control": "no-cache" })).text();
    await page.getByText("Drop your site’s folder or ZIP here").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await dropFiles(page, { x: 640, y: 600 }, dist);
    const review = page.getByRole("region", { name: "Publish dist?" });
    const counts = review.getByText(`${pages + 2} added, 1 changed, 1 removed, 0 unchanged`);
    await counts.waitFor({ timeout: 40_000 });
    await review.getByText("_redirects:1").waitFor();
    await review.getByText("1 file left out").waitFor();
    await review.getByText("added, 1 changed").click();
    await review.getByText("gone.html").waitFor();
    await shoot(page, "deploy-review");
    expect(await axeFindings(page)).toEqual([]);
    await page.setViewportSize({ width: 320, height: 700 });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
    await shoot(page, "deploy-review-narrow");
    await page.setViewportSize({ width: 1280, height: 800 });
    expect(await shown()).toBe("<h1>old</h1>");
    const opened = page.waitForEvent("popup");
    await review.getByRole("button", { name: "Open preview" }).click();
    const preview = await opened;
    await preview.getByRole("heading", { name: "one" }).waitFor();
    expect(await preview.evaluate("opener")).toBe(null);
    await preview.close();
    await review.getByRole("button", { name: "Publish" }).click();
    await page.getByText("these lines do not work").waitFor();
    expect(await shown()).toBe("<h1>one</h1>");

    // The keyboard alone, and an archive of another version.
    generate(dist, "two");
    const { exitCode } = Bun.spawnSync(["zip", "-qr", "../next.zip", "."], { cwd: dist });
    if (exitCode !== 0) throw new Error("zip failed");
    const chooser = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Choose ZIP" }).focus();
    await page.keyboard.press("Enter");
    await (await chooser).setFiles(join(own.path, "next.zip"));
    const next = page.getByRole("region", { name: "Publish next.zip?" });
    await next.getByText(`0 added, 2 changed, 0 removed, ${pages + 1} unchanged`).waitFor();
    await next.getByRole("button", { name: "Publish" }).focus();
    await page.keyboard.press("Enter");
    await next.waitFor({ state: "detached" });
    expect(await shown()).toBe("<h1>two</h1>");
    await page.getByRole("button", { name: "Roll back" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
    await page.getByText("Rolled back to dist").waitFor();
    expect(await shown()).toBe("<h1>one</h1>");

    writeFileSync(join(own.path, "broken.zip"), "no archive");
    const again = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Choose ZIP" }).click();
    await (await again).setFiles(join(own.path, "broken.zip"));
    await page.getByText("This is not a ZIP archive").waitFor();
  },
  60_000,
);

inBrowser("a dropped site gets a preview name, and a wrong one is refused at its field", async () => {
  await using node = await testNode();
  await siteWith(node, { "index.html": "first" });
  await using own = await tempFolder();
  const dist = join(own.path, "dist");
  mkdirSync(dist);
  writeFileSync(join(dist, "index.html"), "second");
  const deploys = () =>
    node.call("static-bucket_deploy_list", { token: node.superToken, name: "site" }) as Promise<
      { preview: string | null }[]
    >;
  await using tab = await openConsole(node, { at: "/buckets/site/deploys" });
  const { page } = tab;
  const field = page.getByLabel("Preview name (optional)");
  await field.fill("Feature/login");
  await page.getByText("A preview name has 1 to 63 characters").waitFor();
  expect(await axeFindings(page)).toEqual([]);
  await page.setViewportSize({ width: 320, height: 700 });
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
  await shoot(page, "deploy-preview-name-narrow");
  await page.setViewportSize({ width: 1280, height: 800 });
  const choose = async (press: () => Promise<void>) => {
    const chooser = page.waitForEvent("filechooser");
    await press();
    await (await chooser).setFiles(dist);
  };
  await choose(() => page.getByRole("button", { name: "Choose folder" }).click());
  await page.locator("input:focus[aria-invalid]").waitFor();
  expect(await deploys()).toEqual([]);
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type("feature-login");
  await page.keyboard.press("Tab");
  await page.locator("button:focus", { hasText: "Choose folder" }).waitFor();
  await choose(() => page.keyboard.press("Enter"));
  await page.getByRole("region", { name: "Publish dist?" }).getByText("1 changed").waitFor();
  await page.getByRole("row", { name: /dist/ }).getByText("Preview feature-login").waitFor();
  expect(await deploys()).toMatchObject([{ preview: "feature-login" }]);
});

inBrowser("while a site is uploaded, others are told of it; it is cancelled, and tried again", async () => {
  await using node = await testNode();
  const token = node.superToken;
  await siteWith(node, { "index.html": "first" });
  await using own = await tempFolder();
  const dist = join(own.path, "dist");
  mkdirSync(dist);
  writeFileSync(join(dist, "index.html"), "second");
  const release = (lease: string) => node.call("static-bucket_release", { token, name: "site", lease });
  const take = async () => {
    const { result, error } = await node.send("static-bucket_lease", { token, name: "site", what: "push" });
    return { lease: (result as { lease: string } | undefined)?.lease, refusal: error?.data };
  };
  const taken = () => until("the bucket is free", async () => (await take()).lease);
  await using tab = await openConsole(node, {
    at: "/buckets/site/deploys",
    expected: /507|changing the bucket|static-webdav/,
  });
  const { page } = tab;
  const held = Promise.withResolvers<void>();
  let isFull = false;
  await page.route("**/static-webdav/**", async (route) => {
    if (isFull) return route.fulfill({ status: 507, body: "507: the disk is full" });
    await held.promise;
    // The one that was cancelled is not waited for.
    await route.continue().catch(() => {});
  });
  const upload = async () => {
    const chooser = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Choose folder" }).click();
    await (await chooser).setFiles(dist);
  };
  const card = page.getByRole("region", { name: "Deploy of dist" });

  await upload();
  await card.getByText("Uploading what is new").waitFor();
  expect((await take()).refusal).toMatchObject({ reason: "in_use", by: "root", what: "deploy" });
  // A tab that is closed tells it, as far as the browser lets it.
  const told = page.waitForRequest((request) => request.postData()?.includes("bucket_release") ?? false);
  await page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))");
  await told;
  await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow'))");
  await release(await taken());
  await card.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("This bucket has no deploys yet").waitFor();

  isFull = true;
  await upload();
  await card.getByRole("alert").waitFor();
  const other = await taken();
  isFull = false;
  held.resolve();
  await card.getByRole("button", { name: "Try again" }).click();
  await card.getByText("is changing the bucket site").waitFor();
  await release(other);
  await card.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("region", { name: "Publish dist?" }).getByText("1 changed").waitFor();
  await release(await taken());
});
