import { expect } from "bun:test";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errorOf } from "../support/cli.ts";
import { story } from "../support/process.ts";
import { deploySite, eachStoreStory, fill, openGate } from "./deploy-site.ts";

interface Deployed {
  readonly deploy: string;
  readonly published: boolean;
  readonly replaced: string | null;
  readonly files: number;
  readonly uploaded: number;
  readonly address: string;
}

eachStoreStory(
  "a deploy uploads what changed and replaces the whole site at once; a rollback brings the old one back",
  async (store) => {
    await using site = await deploySite(store);
    const { local, held, run, node, stored } = site;
    const does = async <T>(...args: string[]): Promise<T> => {
      const { code, stdout, stderr } = await run(...args, "--json");
      if (code !== 0) throw new Error(`\`${args.join(" ")}\` ended with ${code}:\n${stderr}`);
      return JSON.parse(stdout) as T;
    };
    await stored.write({ "old.html": "before the first deploy" });
    const pages = { "index.html": "one", "a b/ä#1.txt": "same", "empty.txt": "", "app.js": "code" };
    await fill(local, { ...pages, ".env": "KEY=1" });
    const first = await does<Deployed>("deploy", local, "site", "--note", "first");
    expect(first).toMatchObject({ published: true, files: 4, address: `${node.url}/node/static/site/` });
    expect(await held()).toEqual(pages);

    await writeFile(join(local, "index.html"), "two");
    await rm(join(local, "app.js"));
    const { code, stdout, stderr } = await run("deploy", local, "site", "--note", "second\u001b[2J");
    expect([code, stdout]).toEqual([0, `${node.url}/node/static/site/\n`]);
    expect(stderr).toContain("3 files (7 B), 1 uploaded (3 B)\n");
    expect(stderr).toContain("skipped 1 file by rule: .env");
    expect(stderr).toContain(`\`node-server rollback site\` goes back to ${first.deploy}\n`);
    expect(await held()).toEqual({ "index.html": "two", "a b/ä#1.txt": "same", "empty.txt": "" });

    const back = await does<Deployed>("rollback", "site");
    expect(back.deploy).toBe(first.deploy);
    expect(await held()).toEqual(pages);
    const list = await does<{ deploy: string; state: string; note: string }[]>("deploys", "site");
    expect(Object.fromEntries(list.map(({ state, note }) => [note, state]))).toEqual({
      first: "published",
      "second\u001b[2J": "previous",
      "before the first deploy": "previous",
    });
    const shown = await run("deploys", "site");
    expect(shown.stdout.split("\n").length).toBe(4);
    expect(shown.stdout).toContain("second\\u{1b}[2J");
    const second = list.find(({ note }) => note.startsWith("second"))?.deploy ?? "";
    expect((await does<Deployed>("rollback", "site", second)).replaced).toBe(first.deploy);
    expect((await stored.text("index.html")).slice(0, 3)).toBe("two");

    expect((await run("deploys", "site", "--delete", second, "-y")).code).toBe(1);
    expect((await run("deploys", "site", "--delete", first.deploy, "-y")).code).toBe(0);
    const gone = await run("rollback", "site", first.deploy, "--json");
    expect([gone.code, errorOf(gone).kind]).toEqual([1, "NotFound"]);

    // Whoever may only use the files, as CI does, is told the site's own address too.
    await node.call("static-bucket_update", {
      token: node.superToken,
      name: "site",
      hosts: ["site.example", "www.example"],
    });
    const permissions = ["read", "write", "list", "delete"].map((one) => ({ static_bucket_file: one }));
    const ci = await node.newToken([{ scopes: [{ static_bucket: "site" }], permissions }]);
    const deployed = await site.start({ NODE_SERVER_TOKEN: ci }, "deploy", local, "site").exited;
    expect([deployed.code, deployed.stdout]).toEqual([0, `http://site.example:${new URL(node.url).port}/\n`]);
  },
);

story("a deploy without a file or a rule that the folder has is published, and ends with 1", async () => {
  await using site = await deploySite();
  const { local, run } = site;
  await fill(local, { "index.html": "one", "a\\b.txt": "a name that no bucket can have" });
  const named = await run("deploy", local, "site", "--json");
  expect([named.code, JSON.parse(named.stdout)]).toMatchObject([
    1,
    { published: true, complete: false, left_out: [{ path: "a\\b.txt" }] },
  ]);
  expect((await run("deploy", local, "site", "--preview")).code).toBe(1);

  await rm(join(local, "a\\b.txt"));
  await fill(local, { _redirects: "/a /b /c\n" });
  const ruled = await run("deploy", local, "site", "--json");
  expect([ruled.code, JSON.parse(ruled.stdout)]).toMatchObject([
    1,
    { published: true, complete: false, left_out: [], problems: [{ file: "_redirects", level: "error" }] },
  ]);

  await fill(local, { _redirects: "/a /b\n" });
  const whole = await run("deploy", local, "site", "--json");
  expect([whole.code, JSON.parse(whole.stdout)]).toMatchObject([0, { complete: true, problems: [] }]);
});

story("of a bucket that does not exist rollback names no deploys of it", async () => {
  await using site = await deploySite();
  const { code, stderr } = await site.run("rollback", "nosuch");
  expect([code, stderr]).toEqual([
    1,
    "node-server: there is no bucket nosuch; `node-server ls` lists the buckets of this token\n",
  ]);
});

story("Ctrl+C, a kill and a lock publish nothing, and the next deploy begins at once", async () => {
  await using site = await deploySite();
  const { local, held, run, node, stored } = site;
  await stored.write({ "index.html": "old" });
  await fill(local, { "index.html": "new", "a.css": "style", "b.css": "style of b" });
  let reached = Promise.withResolvers<void>();
  const proceed = Promise.withResolvers<void>();
  await using gate = await openGate(node.url, async (what) => {
    if (!what.startsWith("PUT ")) return;
    reached.resolve();
    await proceed.promise;
  });
  const env = { NODE_SERVER_URL: gate.url };
  const open = async () => (JSON.parse((await run("deploys", "site", "--json")).stdout) as unknown[]).length;

  const interrupted = site.start(env, "deploy", local, "site");
  await reached.promise;
  // Meanwhile neither a push nor another deploy begins.
  for (const command of ["push", "deploy"]) {
    const told = await run(command, local, "site", "--json");
    expect([command, told.code, errorOf(told)]).toMatchObject([
      command,
      1,
      { reason: "in_use", by: "root", what: "deploy" },
    ]);
  }
  const ended = await interrupted.stop("SIGINT");
  expect(ended.code).toBe(130);
  expect([await open(), await held()]).toEqual([0, { "index.html": "old" }]);

  reached = Promise.withResolvers<void>();
  const killed = site.startProcess(env, "deploy", local, "site");
  await reached.promise;
  await killed.stop("SIGKILL");
  expect([await open(), await held()]).toEqual([1, { "index.html": "old" }]);
  proceed.resolve();

  const locked = await fetch(`${node.url}/node/static-webdav/site/index.html`, {
    method: "LOCK",
    headers: { authorization: `Basic ${btoa(node.superToken)}`, timeout: "Second-3600" },
    body: '<?xml version="1.0"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>',
  });
  // A process: what it left behind is taken over when it is dead.
  const refused = await site.startProcess(env, "deploy", local, "site", "--json").exited;
  expect([refused.code, errorOf(refused)]).toMatchObject([1, { reason: "locked", path: "index.html" }]);
  expect(await held()).toEqual({ "index.html": "old" });
  await fetch(`${node.url}/node/static-webdav/site/index.html`, {
    method: "UNLOCK",
    headers: {
      authorization: `Basic ${btoa(node.superToken)}`,
      "lock-token": locked.headers.get("lock-token") ?? "",
    },
  });
  expect(refused.stderr).toMatch(
    /^deploy (\w+) is complete and not published; `node-server deploys site --publish \1`/m,
  );
  expect((await site.start(env, "deploy", local, "site").exited).code).toBe(0);
  expect(await open()).toBe(2);
  expect(await held()).toEqual({ "index.html": "new", "a.css": "style", "b.css": "style of b" });
});

story(
  "a deploy ends with 1, 2, 3 or 4 for what is missing, wrong usage, a refusal, and no server",
  async () => {
    await using site = await deploySite({ top: "max_upload_size = 10\n" });
    const { local, run, start, node, held } = site;
    await fill(local, { ".env": "KEY=1" });
    expect(errorOf(await run("deploy", local, "site", "--json")).kind).toBe("InvalidInput");
    await fill(local, { "index.html": "page" });
    await fill(local, { "large.bin": "more than ten bytes" });
    const failed = await run("deploy", local, "site", "--json");
    expect([failed.code, JSON.parse(failed.stdout)]).toMatchObject([
      1,
      { published: false, failed: [{ path: "large.bin", reason: "refused" }] },
    ]);
    expect((await run("deploy", local, "site")).stdout).toBe("");
    expect((await run("deploys", "site", "--json")).stdout).toBe("[]\n");
    const unknown = await run("deploy", local, "nowhere", "--json");
    expect([unknown.code, errorOf(unknown).kind]).toEqual([1, "NotFound"]);
    expect((await run("deploys", "site", "--publish", "a", "--delete", "b")).code).toBe(2);
    expect(errorOf(await run("rollback", "site", "--json")).kind).toBe("NotFound");
    const reader = await node.newToken([
      { scopes: [{ static_bucket: "site" }], permissions: [{ static_bucket_file: "list" }] },
    ]);
    const refused = await start({ NODE_SERVER_TOKEN: reader }, "deploy", local, "site").exited;
    expect([refused.code, refused.stdout]).toEqual([3, ""]);
    expect(
      (await start({ NODE_SERVER_URL: "http://127.0.0.1:1" }, "deploy", local, "site").exited).code,
    ).toBe(4);
    expect(await held()).toEqual({});
  },
);

story(
  "a preview shows a deploy to those who have its address; publishing names mistakes in its rules",
  async () => {
    await using site = await deploySite();
    const { local, run, held, stored } = site;
    await stored.write({ "index.html": "old" });
    await fill(local, { "index.html": "new", _redirects: "/a /b 999\n" });
    const made = await run("deploy", local, "site", "--preview");
    const address = made.stdout.trim();
    const shown = await fetch(address);
    // A line of the rules cannot be applied, which a job of CI must not overlook.
    expect([made.code, shown.status, await shown.text()]).toEqual([1, 200, "new"]);
    expect(made.stderr).toContain("note: _redirects:1: ");
    expect(made.stderr).toContain("1 added, 1 changed, 0 removed, 0 unchanged");
    expect(await held()).toEqual({ "index.html": "old" });
    const [, id = ""] = /deploys site --publish (\w+)/.exec(made.stderr) ?? [];
    // It is complete, so the next deploy may begin.
    await fill(local, { "index.html": "newer" });
    expect((await run("deploy", local, "site", "--preview")).code).toBe(1);
    const checked = await run("deploys", "site", "--check", id);
    expect([checked.code, checked.stdout]).toEqual([1, "added\t10\t_redirects\nchanged\t3\tindex.html\n"]);
    expect((await run("deploys", "site", "--preview", id)).stdout).toStartWith(
      `${site.node.url}/node/preview/`,
    );
    const published = await run("deploys", "site", "--publish", id);
    expect([published.code, published.stdout]).toEqual([0, `${site.node.url}/node/static/site/\n`]);
    expect(published.stderr).toContain("note: _redirects:1: ");
    expect((await held())["index.html"]).toBe("new");

    const named = [];
    for (const text of ["a", "b"]) {
      await fill(local, { "index.html": text });
      named.push((await run("deploy", local, "site", "--preview", "branch-1")).stdout);
    }
    expect(named[0]).toBe(named[1] ?? "");
    expect(await (await fetch(named[0]?.trim() ?? "")).text()).toBe("b");
    const wrong = await run("deploy", local, "site", "--preview", "Feature/Login");
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("such as feature-login")]);

    // A bucket with a host name is previewed there, where a browser sees the site as it will be.
    expect((await run("buckets", "update", "site", "--host", "site.example")).code).toBe(0);
    const atHost = await run("deploy", local, "site", "--preview");
    const { port } = new URL(site.node.url);
    expect(atHost.stdout).toStartWith(`http://site.example:${port}/node/preview/`);
    expect(atHost.stderr).toContain(`until it opens http://site.example:${port}/node/preview/\n`);
  },
);
