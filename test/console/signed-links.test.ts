import { expect } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { linkSite } from "../links/link-site.ts";
import { tempFolder, testNode } from "../support/node.ts";
import { axeFindings, inBrowser, inChromium, shoot, Tab } from "./browser.ts";
import { dropFiles } from "./drop-files.ts";

inBrowser(
  "a person downloads by a link with a password, uploads into a drop box, and runs no script of a file",
  async () => {
    await using node = await testNode();
    const evil = "<!doctype html><title>page</title><script>document.title = 'ran'</script>";
    const { make, stored } = await linkSite(node, {
      "report.txt": "numbers",
      "in/a.txt": "old",
      "evil.html": evil,
    });
    await using tab = await Tab.open(node, {
      expected:
        /status of 40[39]|Blocked script execution|^a problem box: (This is not the password\.|a\.txt: 403)/,
    });
    const { page } = tab;

    const locked = await make("report.txt", { password: "open sesame" });
    await page.goto(node.url + locked.address);
    const field = page.getByLabel("Password");
    await field.fill("wrong");
    await page.getByRole("button", { name: "Download" }).click();
    await page.getByText("This is not the password.").waitFor();
    await field.fill("open sesame");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("report.txt");
    expect(await page.getByText("This is not the password.").isVisible()).toBe(false);
    expect(await Bun.file(await download.path()).text()).toBe("numbers");
    expect(await page.context().cookies()).toEqual([]);

    const box = await make("in", { upload: true, password: "open sesame" });
    await page.goto(node.url + box.address);
    const files = ["a.txt", "b #1.txt"].map((name) => ({
      name,
      mimeType: "text/plain",
      buffer: Buffer.from(name),
    }));
    const choice = page.getByLabel("Choose files");
    await choice.setInputFiles(files.slice(0, 1));
    await page.getByText("a.txt: 403 Forbidden: this link takes a password.").waitFor();
    await page.getByLabel("Password").fill("open sesame");
    await choice.setInputFiles(files);
    await page.getByText("a (2).txt ✓").waitFor();
    await page.getByText("b #1.txt ✓").waitFor();
    expect(await page.locator("#files li").allInnerTexts()).toEqual(["a (2).txt ✓", "b #1.txt ✓"]);
    expect(await stored.contents("in")).toEqual({
      "a.txt": "old",
      "a (2).txt": "a.txt",
      "b #1.txt": "b #1.txt",
    });

    await page.goto(node.url + (await make("evil.html")).address);
    expect(await page.title()).toBe("page");
    expect(await page.evaluate("self.origin")).toBe("null");
  },
);

inChromium(
  "a drop box takes files and folders that are dropped anywhere on its page, and tries again after an outage",
  async () => {
    await using node = await testNode();
    await using own = await tempFolder();
    const [file, folder] = [join(own.path, "a.txt"), join(own.path, "album")];
    await writeFile(file, "dropped");
    await mkdir(folder);
    await writeFile(join(folder, "b.txt"), "inside");
    const { make, stored } = await linkSite(node, { "in/old.txt": "old" });
    await using tab = await Tab.open(node, {
      expected: /ERR_INTERNET_DISCONNECTED|status of 409|^a problem box: a\.txt: The connection was lost/,
    });
    const { page } = tab;
    await page.goto(node.url + (await make("in", { upload: true })).address);
    await dropFiles(page, { x: 20, y: 780 }, folder, file);
    await page.getByText("album/b.txt \u2713").waitFor();
    await page.getByText("a.txt \u2713").waitFor();
    await page.getByText("2 of 2 files are uploaded.").waitFor();
    expect(await stored.contents("in")).toEqual({
      "old.txt": "old",
      "a.txt": "dropped",
      "album/": "",
      "album/b.txt": "inside",
    });

    await page.context().setOffline(true);
    await dropFiles(page, { x: 1260, y: 20 }, file);
    await page.getByText("a.txt: The connection was lost.").waitFor();
    await shoot(page, "drop-box-problems");
    await page.context().setOffline(false);
    await page.getByText("a (2).txt \u2713").waitFor();
    expect(await stored.contents("in")).toHaveProperty(["a (2).txt"], "dropped");
    expect(tab.pages).toHaveLength(1);
  },
);

inChromium(
  "every page that strangers see can be read in both languages and colours on a small screen",
  async () => {
    await using node = await testNode();
    const { make, ask } = await linkSite(node, { "report-2026.pdf": "x".repeat(2_400_000) });
    const note = "The figures of the third quarter.\nTell me what you think!";
    const locked = await make("report-2026.pdf", { note, password: "open sesame" });
    const used = await make("report-2026.pdf", { max_downloads: 1 });
    await (await ask(used.address)).bytes();
    const box = await make("from-you", { note, upload: true, password: "open sesame" });
    const pages: Record<string, string> = {
      "link-locked": locked.address,
      "link-used-up": used.address,
      "drop-box": box.address,
      "no-file": "/node/static/nowhere/x",
      placeholder: "/",
    };
    await using tab = await Tab.open(node, { expected: /status of 4/ });
    const { page } = tab;
    await page.setViewportSize({ width: 320, height: 700 });
    for (const [name, address] of Object.entries(pages)) {
      for (const language of ["en", "zh"]) {
        await page.setExtraHTTPHeaders({ "accept-language": language });
        await page.goto(node.url + address);
        expect([name, await page.locator("html").getAttribute("lang")]).toEqual([name, language]);
        const beyond = "document.documentElement.scrollWidth - innerWidth";
        expect([name, await page.evaluate<number>(beyond)]).toEqual([name, 0]);
      }
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        expect([name, colorScheme, await axeFindings(page)]).toEqual([name, colorScheme, []]);
      }
    }
  },
);
