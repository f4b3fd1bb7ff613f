import { expect } from "bun:test";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { story } from "../support/process.ts";
import { program } from "../support/program.ts";
import { storedFiles } from "../support/stored-site.ts";
import { contents, deploySite, eachStoreStory, fill } from "./deploy-site.ts";

eachStoreStory("files are copied to a bucket and back, moved, printed, listed and deleted", async (store) => {
  await using site = await deploySite(store);
  const { local, held, home, node } = site;
  const does = async (...args: string[]) => {
    const { code, stdout, stderr } = await site.run(...args);
    if (code !== 0) throw new Error(`\`${args.join(" ")}\` ended with ${code}:\n${stderr}`);
    return stdout;
  };
  await node.call("static-bucket_create", { token: node.superToken, name: "other" });
  await fill(local, { "page.html": "page", "img/a b.svg": "<svg/>", "img/.env": "KEY=1" });

  await does("cp", `${local}/page.html`, "site/docs/");
  expect(JSON.parse(await does("cp", "-r", `${local}/img`, "site/docs", "--json"))).toEqual({
    copied: 1,
    bytes: 6,
    left_out: [],
    failed: [],
  });
  await does("cp", "site/docs/page.html", "site/index.html");
  const sent = { "docs/img/a b.svg": "<svg/>", "docs/page.html": "page" };
  expect(await held()).toEqual({ ...sent, "index.html": "page" });
  // The content of a folder, under a new name; and from one bucket to another.
  await does("cp", "-r", `${local}/.`, "site/all");
  await does("cp", "-r", "site/all", "other");
  expect(await storedFiles(node, "other").contents()).toEqual({
    "all/": "",
    "all/img/": "",
    "all/img/a b.svg": "<svg/>",
    "all/page.html": "page",
  });

  await does("mv", "site/all", "site/docs");
  await does("mv", "site/docs/all/page.html", "site/index.html");
  expect(await does("cat", "site/index.html", "site/docs/img/a b.svg")).toBe("page<svg/>");
  expect(await does("ls", "site/docs/")).toMatch(
    /^-\t\S+Z\tdocs\/all\/\n-\t\S+Z\tdocs\/img\/\n4\t\S+Z\tdocs\/page\.html\n$/,
  );
  const listed = JSON.parse(await does("ls", "-r", "site", "--json")) as { path: string; size: number }[];
  expect(listed.map(({ path, size }) => [path, size])).toEqual([
    ["docs/all/img/a b.svg", 6],
    ["docs/img/a b.svg", 6],
    ["docs/page.html", 4],
    ["index.html", 4],
  ]);
  expect((await does("ls")).split("\n").sort()).toEqual(["", "other/", "site/"]);

  await does("cp", "-r", "site/docs", `${home.path}/copy`);
  expect(contents(home.file("copy"))).toEqual({
    "all/img/a b.svg": "<svg/>",
    "img/a b.svg": "<svg/>",
    "page.html": "page",
  });
  await does("cp", "site/index.html", `${home.path}/copy/`);
  expect(contents(home.file("copy"))["index.html"]).toBe("page");

  await does("rm", "-r", "-y", "site/docs/all", "site/docs/img");
  await does("rm", "site/index.html");
  expect(await held()).toEqual({ "docs/page.html": "page" });
});

story("what would destroy more than was meant is refused, and nothing is changed", async () => {
  await using site = await deploySite();
  const { local, held, home } = site;
  const there = { "a/one.txt": "1", "b/a/two.txt": "2", "c.txt": "3" };
  await site.stored.write(there);
  await fill(local, { "x/y.txt": "y" });
  const refused = async (code: number, why: string, ...args: string[]) => {
    const run = await site.run(...args);
    expect({ args, code: run.code, stderr: run.stderr }).toEqual({
      args,
      code,
      stderr: expect.stringContaining(why),
    });
  };
  await refused(1, "site/a is a folder; add -r to delete it", "rm", "site/a");
  await refused(2, "`node-server rm -r site/` deletes everything in it", "rm", "-r", "-y", "site");
  await refused(2, "is a whole bucket", "rm", "-y", "site/");
  await refused(1, "nothing in site matches *.none", "rm", "-r", "-y", "site/*.none");
  await refused(1, "is a folder; add -r to delete it", "rm", "-y", "site/*");
  await refused(2, "or BUCKET/ for everything in it", "rm", "-r", "-y", "site/.");
  await refused(1, "there is no site/nothing", "rm", "site/nothing");
  await refused(1, "site/b/a exists already", "mv", "site/a", "site/b");
  await refused(1, "site/b/a exists already", "cp", "-r", "site/a", "site/b/");
  await refused(1, "is a folder; add -r to copy it", "cp", local, "site");
  await refused(2, "is a folder; add -r to copy it", "cp", "site/a", "site/d");
  await refused(1, "site/c.txt is a file, not a folder", "ls", "site/c.txt/");
  await refused(2, "both are local paths", "cp", "./a", "../b");
  await refused(2, "mv works inside one bucket", "mv", "site/a", "elsewhere/a");
  await refused(2, "is a local path", "cat", "./c.txt");
  await refused(2, "is not a path inside a bucket", "rm", "site/../other/file");
  await refused(1, "a local file is written ./c.txt", "cp", "c.txt", "site/d.txt");
  // Without an answer to its question, `rm -r` deletes nothing.
  const asked = await site.start({}, "rm", "-r", "site/b").exited;
  expect([asked.code, asked.stderr]).toEqual([
    1,
    expect.stringContaining("This deletes the folder site/b with 1 file."),
  ]);
  expect(await held()).toEqual(there);
  // Nor does a download follow a link out of the folder.
  await mkdir(home.file("target"));
  await mkdir(home.file("outside"));
  await symlink(home.file("outside"), join(home.file("target"), "a"));
  await refused(1, "a folder of its path is a link", "cp", "-r", "site/", home.file("target"));
  expect(contents(home.file("outside"))).toEqual({});
});

story("rm -r BUCKET/ empties a bucket, and buckets delete --files ends it with all it has", async () => {
  await using site = await deploySite();
  const { held, stored, run, node } = site;
  const there = { "a/one.txt": "1", "b/a/two.txt": "2", "c.txt": "3" };
  await stored.write(there);
  // Without an answer to its question, nothing is deleted.
  expect((await run("rm", "-r", "site/")).code).toBe(1);
  expect((await run("buckets", "delete", "site", "--files")).code).toBe(1);
  expect(await held()).toEqual(there);

  expect((await run("rm", "-r", "-y", "site/")).code).toBe(0);
  expect(await held()).toEqual({});
  expect((await run("buckets", "show", "site")).code).toBe(0);

  await stored.write(there);
  const gone = await run("buckets", "delete", "site", "--files", "-y", "--json");
  expect([gone.code, JSON.parse(gone.stdout)]).toEqual([0, { success: true, files_deleted: true }]);
  await node.call("static-bucket_create", [node.superToken, "site"]);
  expect(await held()).toEqual({});
});

story("each question of rm takes its own answer: a line of a pipe, or one that is typed", async () => {
  await using site = await deploySite();
  const { held, home, env, stored } = site;
  const files = { "a/1.txt": "1", "b/2.txt": "2", "c/3.txt": "3", "kept.txt": "kept" };
  await stored.write(files);
  const remove = ["rm", "-r", "site/a", "site/b"];
  const half = await home.run(remove, { env, stdin: "yes\nno\n" });
  expect([half.code, half.stderr]).toEqual([1, expect.stringContaining("deleted site/a\n")]);
  expect(await held()).toEqual({ "b/2.txt": "2", "c/3.txt": "3", "kept.txt": "kept" });
  await stored.write(files);
  expect(await home.run(remove, { env, stdin: "yes\nyes" })).toMatchObject({ code: 0 });
  expect(await held()).toEqual({ "c/3.txt": "3", "kept.txt": "kept" });
  const terminal = home.terminal(["rm", "-r", "site/c"], env);
  await terminal.shows(/Type yes to continue: /);
  await terminal.type("yes\r");
  expect(await terminal.ends()).toBe(0);
  expect(await held()).toEqual({ "kept.txt": "kept" });
});

story("standard input becomes a file, and cat gives back the same bytes", async () => {
  await using site = await deploySite();
  const bytes = crypto.getRandomValues(new Uint8Array(300_000));
  await Bun.write(site.home.file("random"), bytes);
  const { code } = await site.start({}, "cp", site.home.file("random"), "site/r.bin").exited;
  expect(code).toBe(0);
  const line = `"$@" cat site/r.bin | "$@" cp - site/deep/copy.bin && "$@" cat site/r.bin | head -c 5 | wc -c`;
  const run = Bun.spawn(["bash", "-c", line, "bash", ...program], {
    cwd: site.home.path,
    env: { PATH: process.env.PATH, ...site.env },
  });
  expect([await run.stdout.text(), await run.exited]).toEqual(["5\n", 0]);
  expect(Buffer.compare(await site.stored.bytes("deep/copy.bin"), Buffer.from(bytes))).toBe(0);
});

eachStoreStory("patterns choose what is deleted, restored, moved and copied", async (store) => {
  await using site = await deploySite({ ...store, top: "keep_removed_days = 30" });
  const { held, home, local } = site;
  const does = async (...args: string[]) => {
    const { code, stdout, stderr } = await site.run(...args);
    if (code !== 0) throw new Error(`\`${args.join(" ")}\` ended with ${code}:\n${stderr}`);
    return stdout + stderr;
  };
  const all = {
    "1.txt": "1",
    "2.txt": "2",
    "a/1.txt": "a1",
    "a/b/3.txt": "b3",
    "old-1/x.png": "x",
    "c.md": "c",
  };
  await fill(local, all);
  await does("cp", "-r", `${local}/.`, "site/");
  expect(await does("rm", "-y", "site/**/[13].txt")).toContain("deleted 3 items of site");
  const { "2.txt": two, "old-1/x.png": x, "c.md": c } = all;
  expect(await held()).toEqual({ "2.txt": two, "a/b/": "", "old-1/x.png": x, "c.md": c });
  await does("rm", "-r", "-y", "site/old-?");
  expect(await held()).toEqual({ "2.txt": two, "a/b/": "", "c.md": c });
  expect(await does("buckets", "restore", "site", "a/**", "--all")).toContain("2 files restored");
  expect(await held()).toEqual({ "2.txt": two, "a/1.txt": "a1", "a/b/3.txt": "b3", "c.md": c });
  await does("cp", "site/*.txt", "site/texts/");
  await does("mv", "site/*.md", "site/texts/");
  await does("cp", "site/texts/*", `${home.path}/here/`);
  expect(contents(home.file("here"))).toEqual({ "2.txt": two, "c.md": c });
  const refused = await site.run("mv", "site/2.*", "site/texts/");
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("failed: 2.txt") });
});
