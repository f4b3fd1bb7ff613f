import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { waysToMount } from "../../src/console/pages/buckets/mount/mount.ts";
import { testNode } from "../support/node.ts";
import { findProgram, openTool } from "../support/tools.ts";
import { webdavSite } from "../support/webdav.ts";
import "./texts.ts";

const text = (address: string, user = "KEY") => JSON.stringify(waysToMount(address, "site", user));

test("every way to mount a bucket names its address and the user", () => {
  const address = "https://files.example.com/node/static-webdav/site/";
  for (const { name, steps } of waysToMount(address, "site", "KEY")) {
    const all = steps.map(({ code }) => code).join("\n");
    expect([name, all.includes("files.example.com/node/static-webdav/site")]).toEqual([name, true]);
    // Finder, GNOME and Dolphin ask for the user name.
    if (name !== "macOS") expect([name, all.includes("KEY")]).toEqual([name, true]);
  }
  expect(text(address)).toContain("davs://files.example.com/node/static-webdav/site/");
});

test("plain http takes other addresses, and on Windows a permission", () => {
  const plain = text("http://10.0.0.1:2211/node/static-webdav/site/");
  expect(plain).toContain('"dav://10.0.0.1:2211/node/static-webdav/site/"');
  expect(plain).toContain("BasicAuthLevel");
  expect(text("https://h/node/static-webdav/site/")).not.toContain("BasicAuthLevel");
});

test("what a shell would read otherwise is quoted", () => {
  expect(text("https://h/", "it's; rm")).toContain(`-u 'it'\\\\''s; rm'`);
  const lines = JSON.stringify(waysToMount("https://h/", "$(reboot)", "KEY"));
  expect(lines).toContain("~/'$(reboot)'");
  expect(lines).not.toMatch(/[^']\$\(reboot\)/);
});

test("Windows settings count after the restart of WebClient that each of them comes with", () => {
  for (const address of ["http://h/node/static-webdav/site/", "https://h/node/static-webdav/site/"]) {
    const steps = waysToMount(address, "site", "KEY").find(({ name }) => name === "Windows")?.steps ?? [];
    const settings = steps.filter(({ code }) => code?.startsWith("reg add"));
    expect(settings.length).toBeGreaterThan(0);
    for (const { code } of settings) expect(code).toEndWith("\nnet stop WebClient & net start WebClient");
  }
});

for (const shell of ["sh", "bash", "zsh"])
  test(`the rclone commands of the dialog read the password and copy, in ${shell}`, async () => {
    const what = `the rclone commands of the console in ${shell}`;
    const path = findProgram(what, shell);
    if (path === undefined || findProgram(what, "rclone") === undefined) return;
    await using node = await testNode();
    const { base } = await webdavSite(node);
    await using tool = await openTool(path);
    const [key = "", secret = ""] = node.superToken.split(":");
    const env = { RCLONE_CONFIG: join(tool.home, "rclone.conf"), RCLONE_RETRIES: "1" };
    await Bun.write(join(tool.home, "public/index.html"), "hello");
    const steps = waysToMount(`${base}/`, "site", key).find(({ name }) => name === "rclone")?.steps ?? [];
    for (const { code = "" } of steps) {
      // A second line of a pasted text would be read as the password.
      expect(code).not.toContain("\n");
      await tool.does(["-c", code], { env, stdin: `${secret}\n` });
    }
    expect(await (await fetch(`${node.url}/node/static/site/index.html`)).text()).toBe("hello");
    expect(readFileSync(env.RCLONE_CONFIG, "utf8")).not.toContain(secret);
  });
