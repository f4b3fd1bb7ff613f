import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { testNode } from "../support/node.ts";
import { scaled, tier } from "../support/tier.ts";
import { until } from "../support/until.ts";
import { asUser, hrefs, openSite, staged } from "../support/webdav-disk.ts";

const files = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`from/${at % 50}/${at}.txt`, `file ${at}`]));

test(
  scaled("files that cannot be read among many are named, and all the others are copied whole"),
  async () => {
    await using node = await testNode({ top: "sync_uploads = false\n" });
    const count = tier === "fast" ? 400 : 4000;
    const unreadable = `0/${count / 2}.txt`;
    const { dav, base, contents } = await openSite(node, {
      ...files(count),
      "from/deep/a b.txt": "a",
      "to/old.txt": "old",
    });
    expect((await dav("PUT", "/first.txt", {}, "so that the folders of the server are there")).status).toBe(
      201,
    );
    const { [unreadable]: _, "deep/a b.txt": __, ...rest } = contents("from");
    await asUser(node, { [`from/${unreadable}`]: 0, "from/deep/a b.txt": 0 }, async () => {
      for (const target of ["new", "to"]) {
        const answer = await dav("COPY", "/from", { destination: `${base}/${target}` });
        expect([answer.status, hrefs(await answer.text()).sort()]).toEqual([
          207,
          [
            [`${target}/${unreadable}`, 403],
            [`${target}/deep/a b.txt`, 403],
          ],
        ]);
        expect([Bun.deepEquals(contents(target), rest), staged(node)]).toEqual([true, []]);
      }
    });
  },
);

for (const [what, mode] of [
  ["opened", 0o000],
  ["looked into", 0o444],
] as const) {
  test(`a folder inside that cannot be ${what} is told, never left out in silence, and nothing stays in the staging folder`, async () => {
    await using node = await testNode();
    const big = Object.fromEntries(
      Array.from({ length: 8 }, (_, number) => [`from/${number}.bin`, "x".repeat(8_000_000)]),
    );
    const { dav, base, contents, at } = await openSite(node, {
      ...big,
      "from/shut/a.txt": "a",
      "to/old.txt": "old",
    });
    expect((await dav("PUT", "/first.txt", {}, "so that the folders of the server are there")).status).toBe(
      201,
    );
    await asUser(node, { "from/shut": mode }, async () => {
      for (const target of ["new", "to"]) {
        const answer = await dav("COPY", "/from", { destination: `${base}/${target}` });
        const told = await answer.text();
        if (answer.status === 207) {
          expect(hrefs(told).map(([href]) => String(href).replace(/\/$/, ""))).toEqual([
            expect.stringMatching(new RegExp(`^${target}/shut(/a.txt)?$`)),
          ]);
          for (const [path, content] of Object.entries(big))
            expect(readFileSync(at(path.replace("from", target)), "utf8") === content).toBe(true);
        } else {
          expect([answer.status, Object.keys(contents(target))]).toEqual([
            403,
            target === "to" ? ["old.txt"] : [],
          ]);
        }
        await until("nothing stays staged", () => staged(node).length === 0);
      }
    });
  });
}

test("what cannot be removed from a folder is named and stays where it is; the rest is gone", async () => {
  await using node = await testNode();
  const { dav, contents } = await openSite(node, {
    ...files(200),
    "from/shut/kept.txt": "kept",
    "to/shut/kept.txt": "kept",
  });
  expect(
    (await dav("PUT", "/from/first.txt", {}, "so that the folders of the server are there")).status,
  ).toBe(201);
  await asUser(node, { "from/shut": 0o555 }, async () => {
    const answer = await dav("DELETE", "/from");
    expect([answer.status, hrefs(await answer.text())]).toEqual([207, [["from/shut/kept.txt", 403]]]);
    expect([contents("from"), staged(node)]).toEqual([{ "shut/": "", "shut/kept.txt": "kept" }, []]);
    expect((await dav("GET", "/from/shut/kept.txt")).status).toBe(200);
  });
  expect((await dav("DELETE", "/from")).status).toBe(204);
});

test("a folder whose mode keeps the server out takes no upload, and what was staged for it is gone", async () => {
  await using node = await testNode();
  const { dav, contents } = await openSite(node, { "shut/a.txt": "old" });
  expect((await dav("PUT", "/first.txt", {}, "so that the folders of the server are there")).status).toBe(
    201,
  );
  await asUser(node, { shut: 0o555 }, async () => {
    for (const path of ["/shut/a.txt", "/shut/new.txt"])
      expect([path, (await dav("PUT", path, {}, "new")).status]).toEqual([path, 403]);
    expect([contents("shut"), staged(node)]).toEqual([{ "a.txt": "old" }, []]);
  });
});

test("a folder that cannot be removed whole is not half replaced: nothing of it is lost, and nothing of it is hidden", async () => {
  await using node = await testNode();
  const { dav, base, contents, write } = await openSite(node, {
    "to/shut/kept.txt": "kept",
    "to/old.txt": "old",
  });
  expect((await dav("PUT", "/first.txt", {}, "so that the folders of the server are there")).status).toBe(
    201,
  );
  write({ "from/a.txt": "a" });
  await asUser(node, { "to/shut": 0o555 }, async () => {
    for (const method of ["COPY", "MOVE"]) {
      const answer = await dav(method, "/from", { destination: `${base}/to` });
      const told = await answer.text();
      // Whoever hears of a success finds the new folder alone; whoever hears of a failure finds what stayed.
      if (answer.status === 204) expect([contents("to"), staged(node)]).toEqual([{ "a.txt": "a" }, []]);
      else
        expect([method, told, contents("to")]).toMatchObject([
          method,
          expect.stringMatching(/403|shut/),
          { "shut/kept.txt": "kept" },
        ]);
      expect([method, staged(node)]).toEqual([method, []]);
    }
  });
});
