import { expect } from "bun:test";
import { mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ManualClock } from "../support/manual-clock.ts";
import { story } from "../support/process.ts";
import { contents, type DeploySite, deploySite, fill } from "./deploy-site.ts";

/** watch pushes the folder of a site after each change. `shows` turns the time of the command until the bucket holds these files. */
async function watch({ home, env, local, bucket }: DeploySite) {
  const clock = new ManualClock();
  const watching = home.launch(["push", local, "site", "--watch", "--delete", "--json"], { clock, env });
  const events = () =>
    watching.stdout
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { event: string; uploaded?: number });
  const until = (what: string, condition: () => boolean) =>
    clock.until(what, 100, condition).catch((error: Error) => {
      throw new Error(`${error.message}; it holds ${JSON.stringify(contents(bucket))}\n${watching.stderr}`);
    });
  await until("it watches", () => events().some(({ event }) => event === "watching"));
  return {
    watching,
    events,
    until,
    shows: (files: Record<string, string>) =>
      until(`the bucket holds ${JSON.stringify(files)}`, () => Bun.deepEquals(contents(bucket), files)),
  };
}

story(
  "a folder that is watched is pushed again after every change, also when it is thrown away and built anew",
  async () => {
    await using site = await deploySite();
    const { local, bucket } = site;
    await fill(local, { "index.html": "one", "deep/page.html": "page" });
    const { watching, events, until, shows } = await watch(site);
    await writeFile(join(local, "index.html"), "two");
    await shows({ "index.html": "two", "deep/page.html": "page" });
    await writeFile(join(local, ".index.html.tmp"), "three");
    await rename(join(local, ".index.html.tmp"), join(local, "index.html"));
    await rename(join(local, "deep"), join(local, "moved"));
    await shows({ "index.html": "three", "moved/page.html": "page" });
    await writeFile(join(local, "moved/page.html"), "moved page");
    await shows({ "index.html": "three", "moved/page.html": "moved page" });
    await rm(local, { recursive: true });
    await until("it waits for the folder", () => events().at(-1)?.event === "folder_missing");
    expect(contents(bucket)).toEqual({ "index.html": "three", "moved/page.html": "moved page" });
    await mkdir(local);
    await fill(local, { "index.html": "built anew" });
    await shows({ "index.html": "built anew" });
    await writeFile(join(local, "more.txt"), "more");
    await shows({ "index.html": "built anew", "more.txt": "more" });
    expect((await watching.stop("SIGINT")).code).toBe(130);
    const [first, second] = events();
    expect([first, second]).toMatchObject([{ event: "pushed", uploaded: 2 }, { event: "watching" }]);
    expect(events().at(-1)).toMatchObject({ event: "pushed", uploaded: 1 });
  },
);

story("a folder that is watched may be removed and built anew ten times, and a folder below it", async () => {
  await using site = await deploySite();
  const { local } = site;
  await fill(local, { "index.html": "first", "assets/app.js": "first" });
  const { watching, shows } = await watch(site);
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

story("a push of a watched folder that fails is repeated, and says which error it was", async () => {
  await using site = await deploySite();
  const { local, node } = site;
  const bucket = { token: node.superToken, name: "site" };
  await fill(local, { "index.html": "one" });
  const { watching, events, until, shows } = await watch(site);
  await node.call("static-bucket_delete", bucket);
  await writeFile(join(local, "index.html"), "two");
  await until("it tries again", () => events().at(-1)?.event === "retrying");
  expect(events().at(-1)).toMatchObject({ error: { kind: "NotFound", code: 105 } });
  await node.call("static-bucket_create", bucket);
  await shows({ "index.html": "two" });
  expect((await watching.stop("SIGINT")).code).toBe(130);
});

story("stdout of a push has the address alone, and a clock that stands shows no progress", async () => {
  await using site = await deploySite();
  const { local, env, home } = site;
  await fill(local, { "f1.bin": "x".repeat(5000) });
  for (const isTTY of [false, true]) {
    const clock = new ManualClock();
    const { code, stdout, stderr } = await home.run(["push", local, "site"], { env, isTTY, clock });
    expect([code, stdout]).toEqual([0, `${site.node.url}/node/static/site/\n`]);
    expect(stderr).not.toMatch(/pushing|\x1b/);
  }
  expect(statSync(join(site.bucket, "f1.bin")).size).toBe(5000);
});
