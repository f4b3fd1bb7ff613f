import { expect } from "bun:test";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { story } from "../support/process.ts";
import { until } from "../support/until.ts";
import { contents, deploySite, fill, type Pushed } from "./deploy-site.ts";

const files = { "index.html": "<h1>Hello</h1>", "lost.txt": "lost", "kept.txt": "kept" };

story("files whose content the store has lost come back by a push, and fail alone in a pull", async () => {
  await using site = await deploySite({ store: "objects over sqlite" });
  const { local, stored, home } = site;
  await fill(local, files);
  await site.push();
  await rm(await stored.contentFile("lost.txt"));

  const pulled = await site.run("pull", "site", home.file("copy"), "--json");
  expect(pulled.code).toBe(1);
  expect(JSON.parse(pulled.stdout)).toMatchObject({
    downloaded: 2,
    failed: [{ path: "lost.txt", reason: "blob_missing" }],
  });
  expect(pulled.stderr).not.toContain("trying again");

  // On another machine there is no record: the files are compared.
  const env = { XDG_STATE_HOME: home.file("elsewhere") };
  const compared = await site.start(env, "push", local, "site", "--json").exited;
  expect([compared.code, JSON.parse(compared.stdout) as Pushed]).toMatchObject([
    0,
    { uploaded: 1, unchanged: 2, compared: 3 },
  ]);
  expect(compared.stderr).toMatch(/^note: .*lost\.txt/m);
  expect(compared.stderr).not.toContain("trying again");
  expect(await site.held()).toEqual(files);

  // With a record the server is not asked.
  await rm(await stored.contentFile("lost.txt"));
  expect(await site.push()).toMatchObject({ uploaded: 0, unchanged: 3 });
  expect(await site.push("--force")).toMatchObject({ uploaded: 3, unchanged: 0 });
  expect(await site.held()).toEqual(files);
  expect(contents(join(home.path, "copy"))).toEqual({
    "index.html": files["index.html"],
    "kept.txt": "kept",
  });
});

story(
  "push and pull say what the server answered while its store is away, and go on when it is back",
  async () => {
    await using site = await deploySite({ store: "objects over sqlite" });
    const { local, node, home } = site;
    await fill(local, files);
    const store = join(node.folder, "blobs");
    const answered =
      /the server answered 503 for (index\.html|lost\.txt|kept\.txt): .*the file store does not answer.*; trying again\n/;
    for (const args of [
      ["push", local, "site"],
      ["pull", "site", home.file("copy")],
    ]) {
      await rename(store, `${store}-away`);
      const running = site.start({}, ...args);
      await until("it says why it waits", () => answered.test(running.stderr));
      await rename(`${store}-away`, store);
      const { code, stderr } = await running.exited;
      expect([code, stderr]).toEqual([0, expect.stringContaining("the server works again")]);
      expect(stderr).not.toContain("the connection broke");
    }
    expect(contents(home.file("copy"))).toEqual(files);
  },
);
