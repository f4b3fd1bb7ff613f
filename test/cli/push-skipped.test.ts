import { expect } from "bun:test";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { story } from "../support/process.ts";
import { contents, deploySite, eachStoreStory, fill } from "./deploy-site.ts";

const secrets = {
  ".env": "KEY=1",
  ".env.production": "KEY=2",
  ".git/config": "[core]",
  ".npmrc": "token",
  "node_modules/left/index.js": "code",
  "sub/.hidden/file.txt": "hidden",
  "sub/node_modules/right.js": "code",
};
const pages = { "index.html": "page", ".well-known/security.txt": "contact", "sub/a.txt": "a" };

eachStoreStory(
  "a push keeps back what is no part of a site, says so, and leaves the same in the bucket",
  async (store) => {
    await using site = await deploySite(store);
    const { local, stored, held, run, node } = site;
    await fill(local, { ...pages, ...secrets });
    const first = await run("push", local, "site");
    expect([first.code, first.stdout]).toEqual([0, `${node.url}/node/static/site/\n`]);
    expect(await held()).toEqual(pages);
    expect(first.stderr).toContain(
      "skipped 3 files and 4 folders by rule: .env, .env.production, .git/, .npmrc, node_modules/, …",
    );
    const listed = await run("push", local, "site", "-v");
    expect(listed.stderr).toContain("skipped: .env: a default: .env*\n");
    expect(listed.stderr).toContain("skipped: sub/node_modules/: a default: node_modules\n");
    expect(listed.stderr).toContain("skipped: .git/: files and folders of this name are never sent\n");

    // An earlier version, or somebody else, put these into the bucket.
    await stored.write({ ".env": "old", "node_modules/left/index.js": "old", "gone.txt": "gone" });
    const { code, stdout } = await run("push", local, "site", "--delete", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      deleted: 1,
      skipped_there: [".env", "node_modules/left/index.js"],
      skipped: { length: 7 },
    });
    expect(await held()).toEqual({ ...pages, ".env": "old", "node_modules/left/index.js": "old" });
    // Nor does a pull delete here what no push can have sent.
    expect((await run("pull", "site", local, "--delete")).stderr).toContain(
      "4 files that a push skips were not deleted, although the bucket does not have them",
    );
    expect(contents(local)).toEqual({
      ...pages,
      ...secrets,
      ".env": "old",
      "node_modules/left/index.js": "old",
    });
  },
);

story(".nodeserverignore, --exclude and --include decide, the last one that matches", async () => {
  await using site = await deploySite();
  const { local, held, push, run } = site;
  await fill(local, {
    ...pages,
    ...secrets,
    "app.js": "code",
    "app.js.map": "map",
    "drafts/one.html": "draft",
    "drafts/done.html": "done",
    "print.psd": "picture",
    ".htaccess": "rules",
    ".nodeserverignore": "\ufeff# not for visitors\r\n*.map\r\n/drafts/*\r\n!/drafts/done.html\r\n",
  });
  const { skipped } = (await push("--exclude", "*.psd", "--include", ".htaccess")) as unknown as {
    skipped: { path: string; why: string }[];
  };
  const skips = (path: string, why: string) => ({ path, reason: "skipped", why });
  const sent = { ...pages, "app.js": "code", "drafts/done.html": "done", ".htaccess": "rules" };
  expect(await held()).toEqual(sent);
  expect(skipped).toContainEqual(skips("app.js.map", ".nodeserverignore:2: *.map"));
  expect(skipped).toContainEqual(skips("drafts/one.html", ".nodeserverignore:3: /drafts/*"));
  expect(skipped).toContainEqual(skips("print.psd", "--exclude: *.psd"));

  // A path is included also from a skipped folder, a name is not, and a repository never.
  await push(
    "--include",
    "node_modules/left",
    "--include",
    "right.js",
    "--include",
    ".git",
    "--exclude",
    "*.psd",
  );
  expect(await held()).toEqual({ ...sent, "node_modules/left/index.js": "code" });

  await writeFile(join(local, ".nodeserverignore"), "*.map\nsecrets[\n");
  const wrong = await run("push", local, "site");
  expect([wrong.code, wrong.stderr]).toEqual([
    1,
    `node-server: ${join(local, ".nodeserverignore")}:2: secrets[: a [ is not closed by ]; write \\[ for the character; nothing was done\n`,
  ]);
  await rm(join(local, ".nodeserverignore"));
  await mkdir(join(local, ".nodeserverignore"));
  expect((await run("push", local, "site")).code).toBe(1);
  await rm(join(local, ".nodeserverignore"), { recursive: true });
  expect((await run("push", local, "site", "--exclude", "[")).code).toBe(2);
  expect(await held()).toEqual({ ...sent, "node_modules/left/index.js": "code" });
});

story("a link does not bring along what a rule keeps back", async () => {
  await using site = await deploySite();
  const { local, held, push } = site;
  await fill(local, {
    "index.html": "page",
    ".env": "KEY=1",
    "src/key.txt": "key",
    "src/style.css": "style",
  });
  await symlink(".env", join(local, "settings.txt"));
  await symlink("src", join(local, "assets"));
  const { left_out } = await push("--exclude", "/src/key.txt");
  expect(left_out).toMatchObject([{ path: "settings.txt", reason: "link_skipped" }]);
  expect(await held()).toEqual({
    "index.html": "page",
    "assets/style.css": "style",
    "src/style.css": "style",
  });
});
