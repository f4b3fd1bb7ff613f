import { expect } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { errorOf } from "../support/cli.ts";
import { story } from "../support/process.ts";
import { deploySite, fill } from "./deploy-site.ts";

story("deleted and replaced files are listed and restored from the shell", async () => {
  await using site = await deploySite({ store: "objects over sqlite" });
  const { run, node } = site;
  const token = node.superToken;
  for (const body of ["first", "second version"])
    await node.call("static-bucket-file_upload", { token, name: "site", path: "a/f.txt", body });
  await node.call("static-bucket-file_delete", { token, name: "site", path: "a/f.txt" });
  const listed = await run("buckets", "history", "site", "a/f.txt");
  expect(listed.code).toBe(0);
  const rows = listed.stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"));
  expect(rows[0]?.[4]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  expect(rows.map(([, path, size]) => [path, size])).toEqual([
    ["a/f.txt", "14"],
    ["a/f.txt", "5"],
  ]);
  const json = JSON.parse((await run("buckets", "history", "site", "--json")).stdout) as unknown[];
  expect(json).toHaveLength(2);
  const version = rows[1]?.[0] ?? "";
  const restored = await run("buckets", "restore", "site", "a/f.txt", version, "--to", "b.txt");
  expect([restored.code, restored.stderr]).toEqual([0, "restored b.txt\n"]);
  expect(await (await fetch(`${node.url}/node/static/site/b.txt`)).text()).toBe("first");
  expect((await run("buckets", "restore", "site", "a/f.txt", "latest")).code).toBe(2);
  const gone = await run("buckets", "restore", "site", "a/f.txt", "9999", "--json");
  expect([gone.code, errorOf(gone)]).toMatchObject([1, { kind: "NotFound", path: "a/f.txt", version: 9999 }]);
  expect((await run("buckets", "purge", "site")).code).toBe(1);
  expect(await run("buckets", "purge", "site", "--yes")).toMatchObject({
    code: 0,
    stderr: "site: 2 versions purged\n",
  });
  expect(JSON.parse((await run("buckets", "history", "site", "--json")).stdout)).toEqual([]);
});

story(
  "every file that is missing comes back, deleted one by one or with its folder; others stay",
  async () => {
    await using site = await deploySite({ top: "keep_removed_days = 30\n" });
    const { run, node, local, push, held } = site;
    const names = ["docs/a.txt", "docs/b.txt", "docs/deep/c.txt", "other/d.txt", "index.html"];
    const files = Object.fromEntries(names.map((name) => [name, `content of ${name}`]));
    await fill(local, { ...files, "docs/a.txt": "an older one" });
    await push();
    await fill(local, files);
    await push();
    await rm(join(local, "docs"), { recursive: true });
    await rm(join(local, "other"), { recursive: true });
    expect(await push("--delete")).toMatchObject({ deleted: 4 });
    expect(Object.keys(await held())).toEqual(["index.html"]);

    const planned = await run("buckets", "restore", "site", "docs/", "--all", "--dry-run");
    expect(planned.stdout.split("\n").map((line) => line.split("\t")[1])).toEqual(
      expect.arrayContaining(["docs/a.txt", "docs/b.txt", "docs/deep/c.txt"]),
    );
    expect(Object.keys(await held())).toEqual(["index.html"]);
    const restored = await run("buckets", "restore", "site", "docs", "--all", "--json");
    expect([restored.code, JSON.parse(restored.stdout)]).toEqual([
      0,
      { restored: 3, existing: 0, failed: [] },
    ]);
    const { "other/d.txt": _, ...docs } = files;
    expect(await held()).toEqual(docs);

    expect((await run("buckets", "restore", "site", "docs/a.txt", "--all")).stderr).toContain(
      "0 files restored",
    );

    // The whole folder at once; a file of it is new, and stays.
    const token = node.superToken;
    await fetch(`${node.url}/node/static-webdav/site/docs`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${token}` },
    });
    const [removed] = JSON.parse(
      (await run("buckets", "history", "site", "docs", "--json")).stdout,
    ) as Array<{
      version: number;
    }>;
    const fresh = { name: "site", path: "docs/a.txt", body: "new" };
    await node.call("static-bucket-file_upload", { token, ...fresh });
    const taken = await run("buckets", "restore", "site", "docs", String(removed?.version));
    expect(taken).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/something exists .*--to PATH.*--all/),
    });
    expect(await run("buckets", "restore", "site", "--all")).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("3 files restored"),
    });
    expect(await held()).toEqual({ ...files, "docs/a.txt": "new" });
    expect((await run("buckets", "restore", "site", "docs", "7", "--all")).code).toBe(2);
  },
);
