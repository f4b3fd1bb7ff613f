import { expect, test } from "bun:test";
import { linkSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder, testNode } from "../support/node.ts";
import { hrefsOf, siteOf } from "../support/webdav.ts";

test("the same folder by a link that stays in the bucket is still itself: no file is lost when one is moved onto the other", async () => {
  await using node = await testNode();
  const { dav, status, names, folder } = await siteOf(node);
  const moves = [
    ["/real/a.txt", "/link/a.txt"],
    ["/link/a.txt", "/real/a.txt"],
    ["/link/sub", "/real"],
    ["/real", "/link/x"],
    ["/real", "/link/sub"],
  ] as const;
  const lost: unknown[] = [];
  for (const [from, to] of moves) {
    for (const verb of ["COPY", "MOVE"]) {
      for (const path of ["/real", "/real/sub"]) await dav("MKCOL", path);
      for (const path of ["/real/a.txt", "/real/sub/b.txt"]) await dav("PUT", path, {}, "words");
      linkSync(join(folder, "real/a.txt"), join(folder, "real/twin.txt"));
      symlinkSync("real", join(folder, "link"));
      const before = names();
      const answer = await status(verb, from, to);
      if (String(names()) !== String(before) || answer >= 500) lost.push([verb, from, to, answer, names()]);
      for (const name of ["real", "link"]) rmSync(join(folder, name), { recursive: true, force: true });
    }
  }
  expect(lost).toEqual([]);
});

test("links that lead out of the bucket, or nowhere, are no way for any verb, and one inside spoils no listing", async () => {
  await using node = await testNode();
  await using outside = await tempFolder();
  const { dav, status, names, folder, read } = await siteOf(node);
  mkdirSync(join(outside.path, "sub"));
  for (const name of ["a.txt", "sub/a.txt"]) writeFileSync(join(outside.path, name), "SECRET");
  const look = () =>
    names(outside.path).map((name) => ({
      name,
      ...statSync(join(outside.path, name)),
      atime: 0,
      atimeMs: 0,
    }));
  const before = look();
  await dav("MKCOL", "/d");
  await dav("PUT", "/d/mine.txt", {}, "mine");
  const links = {
    out: outside.path,
    file: join(outside.path, "a.txt"),
    broken: join(outside.path, "none"),
    loop: "loop",
    root: "/",
  };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(folder, "d", name));
  const inFolder = names(join(folder, "d"));
  const far = [
    "/d/out",
    "/d/out/",
    "/d/out/a.txt",
    "/d/out/sub/a.txt",
    "/d/file",
    "/d/broken",
    "/d/loop",
    "/d/broken/x",
    `/d/root${outside.path}/a.txt`,
  ];
  const taken: unknown[] = [];
  for (const path of far) {
    for (const verb of ["GET", "HEAD", "PROPFIND", "DELETE"])
      expect([verb, path, await status(verb, path)]).toEqual([verb, path, 404]);
    for (const verb of ["COPY", "MOVE"]) {
      expect([verb, path, await status(verb, path, "/stolen")]).toEqual([verb, path, 404]);
      const onto = await status(verb, "/d/mine.txt", path);
      expect([verb, path, [403, 404, 409].includes(onto), onto]).toEqual([verb, path, true, onto]);
    }
    const update =
      '<propertyupdate xmlns="DAV:"><set><prop><x xmlns="urn:x">1</x></prop></set></propertyupdate>';
    expect([path, await status("PROPPATCH", path, undefined, update)]).toEqual([path, 404]);
    const lockinfo =
      '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';
    for (const [verb, body] of [
      ["PUT", "bad"],
      ["MKCOL", undefined],
      ["LOCK", lockinfo],
    ] as const) {
      const answer = await status(verb, path, undefined, body);
      if (answer < 400 || answer > 499) taken.push([verb, path, answer]);
    }
  }
  expect(taken).toEqual([]);
  for (const path of ["/d/out/new.txt", "/d/out/sub/new.txt"]) {
    expect([await status("PUT", path, undefined, "bad"), await status("MKCOL", path)]).toEqual([409, 409]);
    expect([await status("COPY", "/d", path), await status("MOVE", "/d", path)]).toEqual([403, 403]);
    expect([await status("COPY", "/d/mine.txt", path), await status("MOVE", "/d/mine.txt", path)]).toEqual([
      409, 409,
    ]);
  }
  for (const depth of ["1", "infinity"]) {
    const listing = await dav("PROPFIND", "/d", { depth });
    expect([listing.status, hrefsOf(await listing.text())]).toEqual([
      207,
      ["/node/static-webdav/site/d/", "/node/static-webdav/site/d/mine.txt"],
    ]);
  }
  expect([look(), names(join(folder, "d")), read("d/mine.txt")]).toEqual([before, inFolder, "mine"]);
  // With the folder that holds them they go as links: copied without, moved along, deleted without what they lead to.
  expect([await status("COPY", "/d", "/copy"), names(join(folder, "copy"))]).toEqual([201, ["mine.txt"]]);
  expect([await status("MOVE", "/d", "/moved"), names(join(folder, "moved"))]).toEqual([201, inFolder]);
  expect([await status("COPY", "/copy", "/moved"), await status("DELETE", "/moved"), names()]).toEqual([
    204,
    204,
    ["copy", "copy/mine.txt"],
  ]);
  expect(look()).toEqual(before);
});
