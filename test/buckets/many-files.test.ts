import { expect, test } from "bun:test";
import { Fault } from "../../src/base/fault.ts";
import { BucketFiles } from "../../src/buckets/bucket-files.ts";
import { type TreePath, treePath, treeRoot } from "../../src/buckets/path.ts";
import { filesBelow } from "../../src/buckets/tree-ops.ts";
import { everyStore, type TestNode, testNode } from "../support/node.ts";
import { objectNodes, putText } from "../support/object-store.ts";
import { storedFiles } from "../support/stored-site.ts";
import { siteOf } from "../support/trash-site.ts";
import { lockInfo } from "../support/webdav-locks.ts";

interface Answer {
  readonly handled: number;
  readonly done: number;
  readonly failed: ReadonlyArray<{ path: string; kind: string; reason?: string; why: string }>;
  readonly versions: ReadonlyArray<{ version: number; path: string }>;
}

async function manyFiles(options: Parameters<typeof testNode>[0] = {}) {
  const node = await testNode({
    ...options,
    top: "keep_removed_days = 30",
    logging: 'memory_log_filter = "info"',
  });
  const site = await siteOf(node);
  const call = (verb: string, more: object) =>
    node.call(`static-bucket-file_${verb}_many`, site.params(more)) as Promise<Answer>;
  return {
    node,
    ...site,
    call,
    stored: storedFiles(node),
    [Symbol.asyncDispose]: () => node[Symbol.asyncDispose](),
  };
}

const audited = ({ node }: TestNode, event: string) =>
  node.ring.entries().filter(({ target, fields }) => target === "audit" && fields.event === event);

everyStore("many files are deleted, restored, moved and copied by one call each", async (options) => {
  await using at = await manyFiles(options);
  const { dav, call, stored } = at;
  const names = Array.from({ length: 24 }, (_, n) => `f/${n % 3}/${n}.txt`);
  const contents = Object.fromEntries(names.map((name) => [name, name]));
  await stored.write({ ...contents, "deep/a/b.txt": "b", "deep/c.txt": "c", "stays.txt": "stays" });
  const before = await stored.tree();
  const locked = await dav("LOCK", "/f/1/1.txt", {}, lockInfo);
  expect(locked.status).toBe(200);

  const paths = [...names, "deep", "nothing.txt"];
  const removed = await call("delete", { paths });
  expect(removed).toMatchObject({ handled: 26, done: 24 });
  expect(removed.failed).toMatchObject([
    { path: "f/1/1.txt", kind: "Other", reason: "locked" },
    { path: "nothing.txt", kind: "NotFound" },
  ]);
  expect(removed.versions.map(({ path }) => path)).toEqual(
    paths.filter((path) => path !== "f/1/1.txt" && path !== "nothing.txt"),
  );
  expect(await stored.paths()).toEqual(["f", "f/0", "f/1", "f/1/1.txt", "f/2", "stays.txt"]);

  const [first] = removed.versions;
  const deep = removed.versions.find(({ path }) => path === "deep");
  const read = async (path: string, version: number | undefined) =>
    atob(String(await at.node.call("static-bucket-file_read_version", at.params({ path, version }))));
  expect(await read("f/0/0.txt", first?.version)).toBe("f/0/0.txt");
  expect(await read("deep/a/b.txt", deep?.version)).toBe("b");
  const noFile = { path: "deep", version: deep?.version };
  expect(await at.node.refused("static-bucket-file_read_version", at.params(noFile))).toMatchObject({
    data: { reason: "is_folder" },
  });
  const found = await at.history({ query: "B.TXT", files_only: true, present: true });
  expect(found).toMatchObject([{ path: "deep/a/b.txt", exists: false }]);
  const back = await call("restore", { versions: removed.versions });
  expect(back).toEqual({ handled: 24, done: 24, failed: [] } as unknown as Answer);
  expect(await stored.tree()).toEqual(before);
  // A file of an object store stays a version, but nothing is replaced by it.
  const again = await call("restore", { versions: removed.versions.slice(0, 2) });
  expect(again).toMatchObject({ handled: 2, done: 0 });

  const pairs = [...names, "deep"].map((from) => ({ from, to: `new/${from}` }));
  const copied = await call("copy", { copies: pairs });
  expect(copied).toEqual({ handled: 25, done: 25, failed: [] } as unknown as Answer);
  expect(await stored.text("new/f/2/23.txt")).toBe("f/2/23.txt");
  expect(await stored.text("new/deep/a/b.txt")).toBe("b");
  const moved = await call("move", { moves: pairs });
  expect(moved).toMatchObject({ handled: 25, done: 0 });
  expect(moved.failed.filter(({ reason }) => reason === "path_taken")).toHaveLength(24);
  const replaced = await call("move", { moves: pairs, overwrite: true });
  expect(replaced.failed).toMatchObject([{ path: "f/1/1.txt", reason: "locked" }]);
  expect((await stored.paths()).filter((path) => !path.startsWith("new"))).toEqual([
    "f",
    "f/0",
    "f/1",
    "f/1/1.txt",
    "f/2",
    "stays.txt",
  ]);
  expect((await stored.paths()).filter((path) => path.startsWith("new"))).toHaveLength(24 + 9);

  // One after the other, where one is in the way of the next.
  const turns = await call("move", {
    moves: [
      { from: "stays.txt", to: "x/1.txt" },
      { from: "x/1.txt", to: "x/2.txt" },
      { from: "x", to: "y" },
      { from: "y", to: "y/z" },
    ],
  });
  expect(turns).toMatchObject({ handled: 4, done: 3, failed: [{ path: "y", reason: "path_taken" }] });
  expect(await stored.text("y/2.txt")).toBe("stays");
});

test("a call about many files writes one record of the audit, and takes only paths of the bucket", async () => {
  await using at = await manyFiles();
  const { node, call, stored, params } = at;
  const names = Array.from({ length: 12 }, (_, n) => `a/${n % 2 === 0 ? "b/" : ""}${n}.txt`);
  await stored.write(Object.fromEntries(names.map((name) => [name, name])));
  const { versions } = await call("delete", { paths: [...names, "nothing"] });
  const [record, ...others] = audited(node, "file.deleted");
  expect(others).toEqual([]);
  expect(record?.fields).toMatchObject({
    bucket: "site",
    path: "a/b/0.txt",
    count: 12,
    folder: "a",
    paths: names.slice(0, 10),
    failures: 1,
  });
  await call("restore", { versions: versions.slice(0, 1).map((one) => ({ ...one, to: "c.txt" })) });
  const [restored] = audited(node, "file.restored");
  expect(restored?.fields).toMatchObject({ path: "c.txt", from: "a/b/0.txt", version: versions[0]?.version });
  expect(restored?.fields).not.toHaveProperty("count");
  for (const path of ["../x", "/x", "a//b"])
    expect(
      await node.refused("static-bucket-file_delete_many", params({ paths: ["c.txt", path] })),
    ).toMatchObject({
      data: { field: "path" },
    });
  expect(await stored.paths()).toContain("c.txt");
});

test("changes of many files end between two groups, and answer what was done before", async () => {
  await using nodes = await objectNodes("sqlite");
  const { store } = await nodes.open();
  const files = new BucketFiles(store, store.metadata);
  const paths = Array.from({ length: 130 }, (_, at) => treePath(`${at}.txt`));
  await Promise.all(paths.map((path) => putText(store, path, "")));
  const left = async () => (await filesBelow(store.reader, treeRoot)).length;
  let checks = 0;
  const endsAfter = (last: number) => ({
    grant: {
      async assertStillValid() {
        checks += 1;
        if (checks > last) throw new Fault("PermissionDenied", "the token has ended");
      },
    },
  });
  const refused = await files
    .removeMany(paths, { conditions: endsAfter(0), isOver: () => false })
    .catch((error: unknown) => error);
  expect(refused).toMatchObject({ kind: "PermissionDenied" });
  expect(await left()).toBe(130);
  checks = 0;
  const outcomes = await files.removeMany(paths, { conditions: endsAfter(1), isOver: () => false });
  expect([outcomes.length, await left()]).toEqual([128, 2]);
  const versions = outcomes.flatMap((outcome, at) =>
    "done" in outcome ? [{ version: outcome.done.version ?? 0, path: paths[at] as TreePath }] : [],
  );
  const wanted = versions.map((version) => ({ ...version, to: version.path }));
  checks = 0;
  const more = [...wanted, ...wanted.slice(0, 2)];
  const back = await files.restoreMany(more, { conditions: endsAfter(9), isOver: () => true });
  expect([back.length, await left()]).toEqual([128, 130]);
});
