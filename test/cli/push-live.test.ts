import { expect } from "bun:test";
import { mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { story } from "../support/process.ts";
import { until } from "../support/until.ts";
import { contents, deploySite, fill } from "./deploy-site.ts";

story(
  "a folder that is watched is pushed again after every change, also when it is thrown away and built anew",
  async () => {
    await using site = await deploySite();
    const { local, bucket } = site;
    await fill(local, { "index.html": "one", "deep/page.html": "page" });
    const watching = site.start({}, "push", local, "site", "--watch", "--delete");
    const shows = (files: Record<string, string>, what: string) =>
      until(what, () => Bun.deepEquals(contents(bucket), files)).catch((error: Error) => {
        throw new Error(`${error.message}; it holds ${JSON.stringify(contents(bucket))}\n${watching.stderr}`);
      });
    await watching.says(/watching/);
    await writeFile(join(local, "index.html"), "two");
    await shows({ "index.html": "two", "deep/page.html": "page" }, "a change");
    await writeFile(join(local, ".index.html.tmp"), "three");
    await rename(join(local, ".index.html.tmp"), join(local, "index.html"));
    await rename(join(local, "deep"), join(local, "moved"));
    await shows({ "index.html": "three", "moved/page.html": "page" }, "renames");
    await writeFile(join(local, "moved/page.html"), "moved page");
    await shows({ "index.html": "three", "moved/page.html": "moved page" }, "a change in a renamed folder");
    await rm(local, { recursive: true });
    await watching.says(/does not exist; waiting for it/);
    expect(contents(bucket)).toEqual({ "index.html": "three", "moved/page.html": "moved page" });
    await mkdir(local);
    await fill(local, { "index.html": "built anew" });
    await shows({ "index.html": "built anew" }, "a new folder");
    await writeFile(join(local, "more.txt"), "more");
    await shows({ "index.html": "built anew", "more.txt": "more" }, "a change in the new folder");
    const { code, stderr } = await watching.stop("SIGINT");
    expect(code).toBe(130);
    expect(stderr).toContain("interrupted");
  },
);

story("a folder that is watched may be removed and built anew ten times, and a folder below it", async () => {
  await using site = await deploySite();
  const { local, bucket } = site;
  await fill(local, { "index.html": "first", "assets/app.js": "first" });
  const watching = site.start({}, "push", local, "site", "--watch", "--delete");
  const shows = (files: Record<string, string>) =>
    until(`the bucket holds ${JSON.stringify(files)}`, () => Bun.deepEquals(contents(bucket), files)).catch(
      (error: Error) => {
        throw new Error(`${error.message}; it holds ${JSON.stringify(contents(bucket))}\n${watching.stderr}`);
      },
    );
  await watching.says(/watching/);
  for (let round = 0; round < 10; round += 1) {
    // As `rm -rf dist && build` does: all at once, so that the file system gives out the same inode number again.
    rmSync(local, { recursive: true });
    mkdirSync(join(local, "assets"), { recursive: true });
    writeFileSync(join(local, "index.html"), `built ${round}`);
    writeFileSync(join(local, "assets/app.js"), `built ${round}`);
    await shows({ "index.html": `built ${round}`, "assets/app.js": `built ${round}` });
    rmSync(join(local, "assets"), { recursive: true });
    mkdirSync(join(local, "assets"));
    writeFileSync(join(local, "assets/app.js"), `again ${round}`);
    await shows({ "index.html": `built ${round}`, "assets/app.js": `again ${round}` });
    writeFileSync(join(local, "index.html"), `changed ${round}`);
    writeFileSync(join(local, "assets/app.js"), `changed ${round}`);
    await shows({ "index.html": `changed ${round}`, "assets/app.js": `changed ${round}` });
  }
  expect((await watching.stop("SIGINT")).code).toBe(130);
});

story(
  "on a terminal a bar shows how far it is; elsewhere there are lines, and stdout has the address alone",
  async () => {
    await using site = await deploySite();
    const { local, env, home } = site;
    await fill(
      local,
      Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`f${n}.bin`, "x".repeat(5000)])),
    );
    const plain = await site.run("push", local, "site");
    expect(plain.stdout).toBe(`${site.node.url}/node/static/site/\n`);
    expect(plain.stderr).toMatch(/^pushing: 50 %, .* of 200\.0 kB, \d+ of 40 files, \d+ s left$/m);
    expect(plain.stderr).not.toContain("\x1b");
    await fill(local, { "f1.bin": "y" });
    const shown = await home.run(["push", local, "site"], { env, isTTY: true });
    expect([shown.code, shown.stderr]).toEqual([
      0,
      expect.stringMatching(/\rpushing \[#{25}\] 100 % {2}1 B of 1 B, 1 of 1 file/),
    ]);
    expect(statSync(join(site.bucket, "f1.bin")).size).toBe(1);
  },
);
