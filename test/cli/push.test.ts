import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { rm, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errorOf } from "../support/cli.ts";
import { story } from "../support/process.ts";
import { contents, deploySite, eachStoreStory, fill, openGate, type Pushed } from "./deploy-site.ts";

eachStoreStory(
  "a push uploads a site with its times, names what it leaves out, and a second one uploads nothing",
  async (store) => {
    await using site = await deploySite(store);
    const { local, stored, held, push } = site;
    const files = {
      "index.html": "<h1>Hello</h1>",
      "assets/app.css": "body {}",
      "odd %41 #1 ä & 😀/what?.txt": "odd",
      ".well-known/security.txt": "contact",
      "empty.txt": "",
    };
    await fill(local, { ...files, ".git/config": "secret", "sub/.DS_Store": "junk" });
    await fill(site.home.path, { "outside/private.txt": "private" });
    await symlink(site.home.file("outside/private.txt"), join(local, "leak.txt"));
    await symlink(site.home.file("outside"), join(local, "leaks"));
    await symlink("../.git/config", join(local, "sub/config"));
    await symlink("assets/app.css", join(local, "inside.css"));
    await symlink("..", join(local, "sub/circle"));
    await utimes(join(local, "index.html"), 1_000_000_000.25, 1_000_000_000.25);

    const first = await push();
    expect(first).toMatchObject({ uploaded: 6, unchanged: 0, deleted: 0, failed: [] });
    expect(Object.fromEntries(first.left_out.map(({ path, reason }) => [path, reason]))).toEqual({
      "leak.txt": "link_leads_out",
      leaks: "link_leads_out",
      "sub/circle": "link_circle",
      "sub/config": "link_skipped",
    });
    expect(await held()).toEqual({
      ...files,
      "inside.css": "body {}",
    });
    expect(Math.round((await stored.stats("index.html")).modifiedMs / 10)).toBe(100_000_000_025);
    expect(await push()).toMatchObject({ uploaded: 0, unchanged: 6, compared: 0 });
  },
);

eachStoreStory(
  "what counts is the content: a touched file stays, one that was changed behind its size and time goes",
  async (store) => {
    await using site = await deploySite(store);
    const { local, held, push } = site;
    await fill(local, { "a.txt": "one", "b.txt": "two" });
    await utimes(join(local, "a.txt"), 1_500_000_000, 1_500_000_000);
    await push();
    await utimes(join(local, "b.txt"), 1_600_000_000, 1_600_000_000);
    expect(await push()).toMatchObject({ uploaded: 0, unchanged: 2 });
    await writeFile(join(local, "a.txt"), "ONE");
    await utimes(join(local, "a.txt"), 1_500_000_000, 1_500_000_000);
    expect(await push()).toMatchObject({ uploaded: 1, unchanged: 1 });
    expect(await held()).toEqual({ "a.txt": "ONE", "b.txt": "two" });
  },
);

eachStoreStory(
  "without a record of earlier pushes, files of the same size are compared by content",
  async (store) => {
    await using site = await deploySite(store);
    const { local, stored, held, push } = site;
    await fill(local, { "same.txt": "same", "other.txt": "here", "longer.txt": "longer" });
    await stored.write({
      "same.txt": "same",
      "other.txt": "gone",
      "longer.txt": "long",
      "more.txt": "stays",
    });
    expect(await push()).toMatchObject({ uploaded: 2, unchanged: 1, compared: 2, deleted: 0 });
    expect(await held()).toEqual({ ...contents(local), "more.txt": "stays" });
    expect(await push()).toMatchObject({ uploaded: 0, unchanged: 3, compared: 0 });
    await rm(site.home.file(".local"), { recursive: true });
    expect(await push()).toMatchObject({ uploaded: 0, unchanged: 3, compared: 3 });
  },
);

eachStoreStory(
  "what somebody changed on the server since the last push is put right, and that is said",
  async (store) => {
    await using site = await deploySite(store);
    const { local, stored, push } = site;
    await fill(local, { "page.html": "mine", "touched.html": "mine" });
    await push();
    await stored.write({ "page.html": "ours", "touched.html": "mine" });
    expect(await push()).toMatchObject({
      uploaded: 1,
      unchanged: 1,
      compared: 2,
      replaces_others: ["page.html"],
    });
    expect(await stored.text("page.html")).toBe("mine");
  },
);

story(
  "pages appear after what they refer to, the front page last; what is gone goes in the opposite order",
  async () => {
    await using site = await deploySite();
    // One of each turn is slow, so that the next turn would overtake it if it did not wait.
    const slow = /^PUT (a\/logo\.png|a\/app\.css|about\.html|blog\/index\.html)$/;
    await using gate = await openGate(site.node.url, async (what) => {
      if (slow.test(what)) await Bun.sleep(150);
    });
    const { local, start } = site;
    const names = ["a/logo.png", "a/app.css", "a/app.js", "about.html", "blog/index.html", "feed.xml"];
    await fill(local, Object.fromEntries([...names, "index.html", "z.woff2"].map((name) => [name, name])));
    const env = { NODE_SERVER_URL: gate.url };
    expect((await start(env, "push", local, "site").exited).code).toBe(0);
    const order = gate.done.filter((what) => what.startsWith("PUT ")).map((what) => what.slice(4));
    expect(order.length).toBe(8);
    const turns = [
      order.slice(0, 2),
      order.slice(2, 4),
      order.slice(4, 5),
      order.slice(5, 7),
      order.slice(7),
    ];
    expect(turns.map((turn) => [...turn].sort())).toEqual([
      ["a/logo.png", "z.woff2"],
      ["a/app.css", "a/app.js"],
      ["about.html"],
      ["blog/index.html", "feed.xml"],
      ["index.html"],
    ]);
    await rm(join(local, "a"), { recursive: true });
    await rm(join(local, "about.html"));
    await fill(local, { "index.html": "new", "later.css": "new" });
    gate.done.length = 0;
    expect((await start(env, "push", local, "site", "--delete").exited).code).toBe(0);
    const changes = gate.done.filter((what) => /^(PUT|DELETE) /.test(what));
    expect(changes.slice(0, 3)).toEqual(["PUT later.css", "PUT index.html", "DELETE about.html"]);
    expect(changes.slice(3, 5).sort()).toEqual(["DELETE a/app.css", "DELETE a/app.js"]);
    expect(changes.slice(5)).toEqual(["DELETE a/logo.png", "DELETE a"]);
    expect(await site.held()).toEqual(contents(local));
  },
);

eachStoreStory("--delete keeps what is locked or was changed just now, and names it", async (store) => {
  await using site = await deploySite(store);
  const { local, stored, held, node } = site;
  await fill(local, { "index.html": "new" });
  await stored.write({
    "index.html": "old page",
    "locked.txt": "locked",
    "busy.txt": "busy",
    "old/gone.txt": "",
  });
  const locked = await fetch(`${node.url}/node/static-webdav/site/locked.txt`, {
    method: "LOCK",
    headers: { authorization: `Basic ${btoa(node.superToken)}` },
    body: '<?xml version="1.0"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>',
  });
  expect(locked.status).toBe(200);
  // Somebody saves a file while the push is under way.
  await using gate = await openGate(node.url, async (what) => {
    if (what === "PUT index.html") await stored.write({ "busy.txt": "busier" });
  });
  const { exited } = site.start({ NODE_SERVER_URL: gate.url }, "push", local, "site", "--delete", "--json");
  const { code, stdout, stderr } = await exited;
  expect(code).toBe(0);
  const pushed = JSON.parse(stdout) as Pushed;
  expect(pushed).toMatchObject({ uploaded: 1, deleted: 1 });
  expect(Object.fromEntries(pushed.kept.map(({ path, reason }) => [path, reason]))).toEqual({
    "locked.txt": "locked",
    "busy.txt": "changed",
  });
  for (const { path, why } of pushed.kept) expect(stderr).toContain(`${path}: ${why}\n`);
  expect(await held()).toEqual({ "index.html": "new", "locked.txt": "locked", "busy.txt": "busier" });
});

story("when an asset cannot be replaced, the pages that may refer to it wait", async () => {
  await using site = await deploySite();
  const { local, stored, held, node } = site;
  await fill(local, { "app.css": "new style", "z.png": "new", "index.html": "new page" });
  await stored.write({ "app.css": "old", "index.html": "old" });
  await fetch(`${node.url}/node/static-webdav/site/app.css`, {
    method: "LOCK",
    headers: { authorization: `Basic ${btoa(node.superToken)}` },
    body: '<?xml version="1.0"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>',
  });
  const { code, stdout } = await site.run("push", local, "site", "--json", "--delete");
  expect(code).toBe(1);
  const failed = [{ path: "app.css", reason: "locked" }];
  expect(JSON.parse(stdout)).toMatchObject({ uploaded: 1, not_sent: 1, failed });
  expect(await held()).toEqual({ "app.css": "old", "z.png": "new", "index.html": "old" });
});

eachStoreStory("a file may become a folder and a folder a file, but only with --delete", async (store) => {
  await using site = await deploySite(store);
  const { local, stored, held, run, push } = site;
  await fill(local, { "a/b.txt": "in a folder", c: "a file" });
  await stored.write({ a: "a file", "c/d.txt": "in a folder", "c/e/f.txt": "deeper" });
  const refused = await run("push", local, "site", "--json");
  expect(refused.code).toBe(1);
  expect(errorOf(refused)).toMatchObject({ reason: "path_taken", path: "a" });
  expect(Object.keys(await held())).toEqual(["a", "c/d.txt", "c/e/f.txt"]);
  expect(await push("--delete")).toMatchObject({ uploaded: 2, deleted: 3 });
  expect(await held()).toEqual(contents(local));
});

story("an empty folder does not empty a bucket", async () => {
  await using site = await deploySite();
  await site.stored.write({ "index.html": "here" });
  const refused = await site.run("push", site.local, "site", "--delete", "--json");
  expect([refused.code, errorOf(refused).kind]).toEqual([1, "InvalidInput"]);
  expect(await site.held()).toEqual({ "index.html": "here" });
});

story("a dry run tells what would happen, on stdout, and changes nothing here or there", async () => {
  await using site = await deploySite();
  const { local, stored, held, run, home } = site;
  await fill(local, { "new.txt": "new", "same.txt": "same" });
  await stored.write({ "same.txt": "same", "gone.txt": "gone" });
  const { code, stdout } = await run("push", local, "site", "--delete", "--dry-run");
  expect(code).toBe(0);
  expect(stdout).toBe("upload\tnew.txt\t3 B\ndelete\tgone.txt\n");
  expect(Object.keys(await held())).toEqual(["gone.txt", "same.txt"]);
  expect(existsSync(home.file(".local"))).toBe(false);
});

story("a push ends with 2, 3 or 4 for wrong usage, a refusal, and a server that is not there", async () => {
  await using site = await deploySite();
  const { local, run, start, node } = site;
  await fill(local, { "index.html": "x" });
  expect((await run("push", local)).code).toBe(2);
  const reader = await node.newToken([
    { scopes: [{ static_bucket: "site" }], permissions: [{ static_bucket_file: "list" }] },
  ]);
  for (const token of ["wrong:token", reader]) {
    const refused = await start({ NODE_SERVER_TOKEN: token }, "push", local, "site").exited;
    expect([token, refused.code, refused.stdout]).toEqual([token, 3, ""]);
    expect(refused.stderr).not.toContain(token);
  }
  expect((await start({ NODE_SERVER_URL: "http://127.0.0.1:1" }, "push", local, "site").exited).code).toBe(4);
  for (const args of [
    [local, "nowhere"],
    [join(local, "missing"), "site"],
  ]) {
    const unknown = await run("push", ...args, "--json");
    expect([args, unknown.code, errorOf(unknown).kind]).toEqual([args, 1, "NotFound"]);
  }
  expect(await site.held()).toEqual({});
});

story("push --help says which files are not pushed", async () => {
  await using site = await deploySite();
  const { stdout } = await site.run("push", "--help");
  expect(stdout).toContain(
    "These rules skip files: node_modules, .env* and other names that begin with a dot",
  );
  expect(stdout).toContain("except .git and .DS_Store");
});
