import { expect, test } from "bun:test";
import { waysToMount } from "../../src/console/pages/buckets/mount/mount.ts";

const text = (address: string, user = "KEY") => JSON.stringify(waysToMount(address, "site", user));

test("every way to mount a bucket names its address and the user", () => {
  const address = "https://files.example.com/node/static-webdav/site/";
  for (const { name, steps } of waysToMount(address, "site", "KEY")) {
    const all = steps.map(({ code }) => code).join("\n");
    expect([name, all.includes("files.example.com/node/static-webdav/site")]).toEqual([name, true]);
    // Finder, GNOME and Dolphin ask.
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
