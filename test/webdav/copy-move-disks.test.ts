import { expect, test } from "bun:test";
import { join } from "node:path";
import { testNode } from "../support/node.ts";
import { hrefs, mounted, openSite, staged } from "../support/webdav-disk.ts";

for (const place of ["static", "static/site"]) {
  test(`a disk at ${place} that fills up in the middle of a COPY is a 507 without a trace, and the old destination stays`, async () => {
    await using node = await testNode();
    using disk = mounted("a full disk", join(node.folder, place), "size=2m");
    if (disk === undefined) return;
    const big = Object.fromEntries(
      Array.from({ length: 20 }, (_, number) => [`from/${number % 4}/${number}`, "x".repeat(60_000)]),
    );
    const { dav, base, contents } = await openSite(node, {
      ...big,
      "to/old.txt": "old",
      "one.bin": "y".repeat(500_000),
    });
    const before = contents();
    for (const [from, target] of [
      ["/from", "/to"],
      ["/from", "/new"],
      ["/one.bin", "/to"],
      ["/one.bin", "/new"],
    ] as const) {
      const answer = await dav("COPY", from, { destination: base + target });
      expect([from, target, answer.status]).toEqual([from, target, 507]);
      expect([Bun.deepEquals(contents(), before), staged(node)]).toEqual([true, []]);
    }
    expect((await dav("MOVE", "/from", { destination: `${base}/to` })).status).toBe(204);
    expect((await dav("DELETE", "/to")).status).toBe(204);
    expect([Object.keys(contents()), staged(node)]).toEqual([["one.bin"], []]);
  });
}

for (const place of ["static/site", "static/site/disk"]) {
  test(`files and folders are copied, moved and deleted in and across ${place}, a file system of its own`, async () => {
    await using node = await testNode();
    using disk = mounted("another file system", join(node.folder, place), "size=8m");
    if (disk === undefined) return;
    const tree = { "in.txt": "in", "deep/": "", "deep/er.txt": "er" };
    const files = (name: string) => ({ [`${name}/in.txt`]: "in", [`${name}/deep/er.txt`]: "er" });
    const { dav, base, contents, write } = await openSite(node, { "disk/kept.txt": "kept" });
    const answers: unknown[] = [];
    for (const method of ["COPY", "MOVE"])
      for (const [from, to] of [
        ["here", "disk/there"],
        ["disk/here", "there"],
        ["disk/here", "disk/there"],
        ["here", "there"],
      ] as const)
        for (const over of ["nothing", "folder", "file"]) {
          write(files(from));
          if (over === "folder") write({ [`${to}/old.txt`]: "old" });
          if (over === "file") write({ [to]: "old" });
          const { status } = await dav(method, `/${from}`, { destination: `${base}/${to}` });
          const right =
            status === (over === "nothing" ? 201 : 204) &&
            Bun.deepEquals(contents(to), tree) &&
            Bun.deepEquals(contents(from), method === "COPY" ? tree : {}) &&
            staged(node).length === 0;
          if (!right)
            answers.push(
              `${method} ${from} ${to} over ${over}: ${status} ${Object.keys(contents())} staged ${staged(node)}`,
            );
          for (const path of [from, to]) await dav("DELETE", `/${path}`);
          if (Object.keys(contents()).length !== 2) answers.push(`DELETE left ${Object.keys(contents())}`);
        }
    expect(answers).toEqual([]);
    expect(contents()).toEqual({ "disk/": "", "disk/kept.txt": "kept" });
  });
}

test("a folder with a disk mounted inside is moved with it; of a DELETE only the place of the mount stays, and is named", async () => {
  await using node = await testNode();
  using disk = mounted("another file system", join(node.folder, "static/site/from/disk"), "size=1m");
  if (disk === undefined) return;
  const { dav, base, contents } = await openSite(node, { "from/a.txt": "a", "from/disk/b.txt": "b" });
  expect((await dav("MOVE", "/from", { destination: `${base}/to` })).status).toBe(201);
  expect(contents()).toEqual({ "to/": "", "to/a.txt": "a", "to/disk/": "", "to/disk/b.txt": "b" });
  expect((await dav("MOVE", "/to", { destination: `${base}/from` })).status).toBe(201);
  const answer = await dav("DELETE", "/from");
  expect([answer.status, hrefs(await answer.text())]).toEqual([207, [["from/disk", expect.any(Number)]]]);
  expect([contents(), staged(node)]).toEqual([{ "from/": "", "from/disk/": "" }, []]);
});
