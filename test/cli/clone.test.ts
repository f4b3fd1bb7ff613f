import { expect } from "bun:test";
import { errorOf } from "../support/cli.ts";
import { story } from "../support/process.ts";
import { storedFiles } from "../support/stored-site.ts";
import { deploySite, eachStoreStory, fill } from "./deploy-site.ts";

eachStoreStory("a bucket is cloned with its settings, its files and their times", async (store) => {
  await using site = await deploySite(store);
  const { run, local, node } = site;
  await fill(local, { "index.html": "start", "docs/a b.html": "page", "empty.txt": "" });
  await site.push();
  const settings = ["--cors", "--private", "--clean-urls", "--root", "--host", "www.example.org"];
  expect((await run("buckets", "update", "site", ...settings)).code).toBe(0);

  const made = await run("buckets", "clone", "site", "copy", "--json");
  expect([made.code, JSON.parse(made.stdout)]).toMatchObject([
    0,
    {
      bucket: {
        name: "copy",
        path: "copy",
        cors: true,
        public: false,
        clean_urls: true,
        is_http_root: false,
      },
      copied: 3,
      bytes: 9,
      left_out: [],
      failed: [],
    },
  ]);
  expect(made.stderr).toContain("not copied: the HTTP root, www.example.org");
  expect(await storedFiles(node, "copy").contents()).toEqual({
    "docs/": "",
    "docs/a b.html": "page",
    "empty.txt": "",
    "index.html": "start",
  });
  const listed = async (name: string) => (await run("ls", "-r", name)).stdout;
  expect(await listed("copy")).toBe(await listed("site"));

  // The bucket exists, so nothing in it is replaced; a missing one and a disabled one create nothing.
  await fill(local, { "index.html": "changed" });
  await site.push();
  const again = await run("buckets", "clone", "site", "copy", "--json");
  expect([again.code, errorOf(again).kind]).toEqual([1, "InvalidInput"]);
  expect((await run("cat", "copy/index.html")).stdout).toBe("start");
  const missing = await run("buckets", "clone", "nothing", "third", "--json");
  expect([missing.code, errorOf(missing).kind]).toEqual([1, "NotFound"]);
  expect((await run("buckets", "update", "site", "--no-enable")).code).toBe(0);
  expect((await run("buckets", "clone", "site", "third")).code).toBe(1);
  expect((await run("buckets", "show", "third")).code).toBe(1);
});

story("a bucket is cloned to another server", async () => {
  await using site = await deploySite();
  await using other = await deploySite();
  await fill(site.local, { "index.html": "start", "img/logo.svg": "<svg/>" });
  await site.push();
  const login = await site.home
    .launch(["login", other.node.url, "--name", "other"], {
      stdin: other.node.superToken,
      env: { HOME: site.home.path },
    })
    .ends();
  expect(login.code).toBe(0);
  const { code, stdout, stderr } = await site.run("buckets", "clone", "site", "moved", "--to", "other");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "moved: created with 2 files of site (11 B)\n" });
  expect(stdout).toBe(`${other.node.url}/node/static/moved/\n`);
  expect(await storedFiles(other.node, "moved").contents()).toEqual({
    "img/": "",
    "img/logo.svg": "<svg/>",
    "index.html": "start",
  });
  expect((await site.run("buckets", "show", "moved")).code).toBe(1);
});
