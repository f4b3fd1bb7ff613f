import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { testNode } from "../support/node.ts";
import { storedSite } from "../support/stored-site.ts";
import { leftToAll } from "../support/tier.ts";
import { asUser, hrefs, openSite, staged } from "../support/webdav-disk.ts";

const name = "n".repeat(100);
const levels = (count: number, of = name) => Array.from({ length: count }, () => of).join("/");
/** As many levels as the disk takes in one path, because every move of a tree looks at all of its levels. */
const longest = levels(309, "n".repeat(9));

for (const verb of ["MOVE", "COPY"] as const)
  test(`a ${verb} that would make a path longer than the disk takes is refused before anything changes`, async () => {
    await using node = await testNode({ top: "sync_uploads = false\n" });
    const { at, base, dav, to } = await openSite(node, { "old/kept.txt": "kept" });
    // Each of the two fits; one in the other does not.
    mkdirSync(join(at("a"), levels(25)), { recursive: true });
    writeFileSync(join(at("a"), levels(25), "end.txt"), "end");
    mkdirSync(join(at("b"), levels(25)), { recursive: true });
    const inside = `/b/${levels(25)}/a`;
    const answer = await dav(verb, "/a", { destination: base + inside });
    expect([answer.status, await answer.text()]).toEqual([409, expect.stringContaining("too deep")]);
    expect(existsSync(join(at("a"), levels(25), "end.txt"))).toBe(true);
    expect(readdirSync(join(at("b"), levels(25)))).toEqual([]);
    expect(staged(node)).toEqual([]);
    // Elsewhere, and over something that exists, it goes as ever, and back onto a shorter path.
    expect(await to(verb, "/a", `/${name}`)).toBe(201);
    expect(await to(verb, `/${name}`, "/old")).toBe(204);
    expect(await Bun.file(join(at("old"), levels(25), "end.txt")).text()).toBe("end");
  });

test("a folder that is 1,550 levels deep, with paths longer than the disk takes, can be moved and removed", async () => {
  await using node = await testNode({ top: "sync_uploads = false\n" });
  const { at, dav, to } = await openSite(node);
  // As MOVE once could make it: each chain of folders is put at the end of the next one.
  const chain = (folder: string, end: string) => {
    mkdirSync(join(at(folder), longest), { recursive: true });
    writeFileSync(join(at(folder), longest, "../file.txt"), "words");
    if (end !== "") renameSync(at(end), join(at(folder), longest, "next"));
  };
  for (let at = 0; at < 5; at += 1) chain(`chain${at}`, at === 0 ? "" : `chain${at - 1}`);
  expect(await to("MOVE", "/chain4", "/deep")).toBe(201);
  expect((await dav("DELETE", "/deep")).status).toBe(204);
  expect(readdirSync(at(""))).toEqual([]);
  expect(staged(node)).toEqual([]);
});

// Each level is a statement of its own, which takes many times as long on PostgreSQL.
for (const [store, declare] of [
  ["objects over sqlite", test],
  ["objects over postgres", leftToAll(test)],
] as const)
  declare(
    `a folder that is 1,550 levels deep is made by moves, listed, moved and removed (${store})`,
    async () => {
      await using node = await testNode({ store, top: "sync_uploads = false\n" });
      const { dav, to, write } = await storedSite(node);
      const list = () => node.call("static-bucket-file_list", [node.superToken, "site"]);
      for (let at = 0; at < 5; at += 1) {
        await write({ [`chain${at}/${longest}/file.txt`]: "words" });
        if (at > 0) expect(await to("MOVE", `/chain${at - 1}`, `/chain${at}/${longest}/next`)).toBe(201);
      }
      expect(await to("MOVE", "/chain4", "/deep")).toBe(201);
      expect(await list()).toHaveLength(5);
      expect((await dav("DELETE", "/deep")).status).toBe(204);
      expect(await list()).toEqual([]);
    },
  );

test("a folder that may be listed but not searched stays with all that it holds, is named, and empty ones like it go", async () => {
  await using node = await testNode();
  const { dav, text } = await openSite(node, { "top/a/shut/kept.txt": "kept", "top/a/b/gone.txt": "gone" });
  await dav("MKCOL", "/top/a/empty");
  await asUser(node, { "top/a/shut": 0o444, "top/a/empty": 0o444 }, async () => {
    const answer = await dav("DELETE", "/top");
    expect([answer.status, hrefs(await answer.text())]).toEqual([207, [["top/a/shut", 403]]]);
    expect(readdirSync(join(node.folder, "static/site/top/a"))).toEqual(["shut"]);
    expect(staged(node)).toEqual([]);
  });
  expect(text("top/a/shut/kept.txt")).toBe("kept");
});
