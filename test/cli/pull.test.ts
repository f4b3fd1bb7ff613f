import { expect } from "bun:test";
import { existsSync, statSync } from "node:fs";
import { mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { User } from "../support/cli.ts";
import { story } from "../support/process.ts";
import { leftToAll } from "../support/tier.ts";
import { until, within } from "../support/until.ts";
import { contents, deploySite, eachStoreStory, fill, openGate } from "./deploy-site.ts";

eachStoreStory(
  "a pull fetches a bucket with its times, a second one nothing, and one file after one was changed",
  async (store) => {
    await using site = await deploySite(store);
    const { stored, held, run, home } = site;
    await stored.write({ "index.html": "page", "deep/er/ä #1.txt": "deep", "empty.txt": "" });
    await stored.setModified("index.html", 1_000_000_000);
    const back = home.file("made/back");
    const pull = async (...args: string[]) => {
      const { code, stdout, stderr } = await run("pull", "site", back, "--json", ...args);
      if (code !== 0) throw new Error(stderr);
      return JSON.parse(stdout) as unknown;
    };
    expect(await pull("--dry-run")).toMatchObject({ downloads: { length: 3 }, deletes: [] });
    expect(existsSync(home.file("made"))).toBe(false);
    expect(await pull()).toMatchObject({ downloaded: 3, unchanged: 0, failed: [] });
    expect(contents(back)).toEqual(await held());
    expect(statSync(join(back, "index.html")).mtimeMs).toBe(1_000_000_000_000);
    expect(await pull()).toMatchObject({ downloaded: 0, unchanged: 3 });
    await stored.write({ "index.html": "PAGE" });
    expect(await pull()).toMatchObject({ downloaded: 1, unchanged: 2 });
    // What was changed here is put right as well.
    await writeFile(join(back, "index.html"), "mine");
    expect(await pull()).toMatchObject({ downloaded: 1, unchanged: 2 });
    expect(contents(back)).toEqual(await held());
    // And what was pulled need not be pushed.
    const pushed = await run("push", back, "site", "--json");
    expect(JSON.parse(pushed.stdout)).toMatchObject({ uploaded: 0, unchanged: 3, compared: 0 });
  },
);

story(
  "a pull with --delete removes what the bucket lacks and the folders it leaves empty, but no repository and no link",
  async () => {
    await using site = await deploySite();
    const { stored, local, run, home } = site;
    await stored.write({ "index.html": "page" });
    await fill(local, { "old/deep/gone.txt": "gone", "index.html": "page", ".git/config": "mine" });
    await fill(home.path, { "outside/kept.txt": "kept" });
    await symlink(home.file("outside"), join(local, "link"));
    const dry = await run("pull", "site", local, "--delete", "--dry-run");
    expect(dry.stdout).toContain("delete\told/deep/gone.txt\n");
    expect(existsSync(join(local, "old"))).toBe(true);
    const { code, stdout } = await run("pull", "site", local, "--delete", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ downloaded: 0, unchanged: 1, deleted: 1 });
    expect((await readdir(local)).sort()).toEqual([".git", "index.html", "link"]);
    expect(contents(home.file("outside"))).toEqual({ "kept.txt": "kept" });
  },
);

story(
  "whatever names a server gives, a pull writes nothing outside its folder and no hooks into a repository",
  async () => {
    await using home = await User.open();
    const names = [
      "../up.txt",
      "/absolute.txt",
      "a/../../up.txt",
      "..",
      "a//b.txt",
      "back\\slash.txt",
      "C:/drive.txt",
      ".git/hooks/post-checkout",
      "sub/.GIT/config",
      "link/through.txt",
      "\u001b[31mred.txt",
      "good/file.txt",
    ];
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      async fetch(request) {
        if (request.method === "GET") return new Response("evil");
        const { id } = (await request.json()) as { id: number };
        return Response.json({
          jsonrpc: "2.0",
          id,
          result: names.map((path) => ({ path, size: 4, mtime: 1e12 })),
        });
      },
    });
    try {
      await mkdir(home.file("outside"));
      await mkdir(home.file("into"));
      await symlink(home.file("outside"), home.file("into/link"));
      const env = { NODE_SERVER_URL: server.url.href, NODE_SERVER_TOKEN: "some:token" };
      const { code, stdout, stderr } = await home.run(["pull", "site", "into", "--json"], { env });
      expect(code).toBe(1);
      const summary = JSON.parse(stdout) as { left_out: { path: string }[]; failed: { path: string }[] };
      expect(summary.left_out.map(({ path }) => path).sort()).toEqual(names.slice(0, 9).sort());
      expect(summary.failed.map(({ path }) => path)).toEqual(["link/through.txt"]);
      expect(stderr).not.toContain("\u001b");
      expect((await readdir(home.file("into"))).sort()).toEqual(["\u001b[31mred.txt", "good", "link"]);
      expect(await readdir(home.file("outside"))).toEqual([]);
      // Bun keeps a cache of its own there when it runs from source.
      const beside = (await readdir(home.path)).filter((name) => name !== ".bun");
      expect(beside.sort()).toEqual([".local", "into", "outside"]);
    } finally {
      await server.stop(true);
    }
  },
);

story("a pull goes on after the connection broke, and Ctrl+C leaves no part of a file behind", async () => {
  await using site = await deploySite();
  const { stored, held, home, node } = site;
  await stored.write(
    Object.fromEntries(Array.from({ length: 80 }, (_, n) => [`f${n % 4}/${n}.bin`, `${n}`.repeat(5000)])),
  );
  let gets = 0;
  const interrupted = Promise.withResolvers<void>();
  let broken: Promise<void> | undefined;
  await using gate = await openGate(node.url, async (what) => {
    if (!what.startsWith("GET ")) return;
    gets += 1;
    if (gets === 30) broken = gate.breakWhile(() => pulling.says(/the connection broke; trying again/));
    if (gets > 1000) await interrupted.promise;
  });
  const env = { NODE_SERVER_URL: gate.url };
  const pulling = site.start(env, "pull", "site", home.file("one"), "--json");
  const first = await pulling.exited;
  await broken;
  expect(first.code).toBe(0);
  expect(contents(home.file("one"))).toEqual(await held());
  gets = 1000 - 20;
  const second = site.start(env, "pull", "site", home.file("two"));
  await until("some files are held up", () => gets > 1000);
  const { code } = await second.stop("SIGINT");
  expect(code).toBe(130);
  interrupted.resolve();
  const whole = await held();
  for (const [path, content] of Object.entries(contents(home.file("two"))))
    if (!path.endsWith("/")) expect([path, content]).toEqual([path, whole[path] ?? "nothing"]);
});

leftToAll(story)("pull --watch lets a folder follow its bucket, until Ctrl+C", async () => {
  await using site = await deploySite();
  const { node, home, run, start } = site;
  const token = node.superToken;
  const change = (method: string, params: object) =>
    node.call(`static-bucket-file_${method}`, { token, name: "site", ...params });
  await change("upload", { path: "a.txt", body: "a" });
  const back = home.file("back");
  const follow = start({}, "pull", "site", back, "--delete", "--watch");
  const has = (files: Record<string, string>) =>
    until(`the folder has ${Object.keys(files)}`, () => Bun.deepEquals(contents(back), files));
  await has({ "a.txt": "a" });
  await change("upload", { path: "deep/b.txt", body: "b" });
  await has({ "a.txt": "a", "deep/b.txt": "b" });
  await change("upload", { path: "deep/b.txt", body: "B" });
  await change("delete", { path: "a.txt" });
  await has({ "deep/b.txt": "B" });
  follow.signal("SIGINT");
  expect((await within("it ends", follow.exited)).code).toBe(0);
  const dry = await run("pull", "site", back, "--watch", "--dry-run");
  expect([dry.code, dry.stderr]).toEqual([2, expect.stringContaining("--dry-run")]);
});
