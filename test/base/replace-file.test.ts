import { expect, test } from "bun:test";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createFile, replaceFile } from "../../src/base/local-fs/replace-file.ts";
import { tempFolder } from "../support/node.ts";

test("a file is made or replaced whole, readable by its owner alone unless told otherwise", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "state");
  await replaceFile(path, "first");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  await replaceFile(path, "second, ünï", { mode: 0o640 });
  expect(await readFile(path, "utf8")).toBe("second, ünï");
  expect((await stat(path)).mode & 0o777).toBe(0o640);
  expect(await readdir(folder.path)).toEqual(["state"]);
});

test("a reader sees the old file or the whole new one, never a part", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "state");
  const versions = ["a", "b"].map((letter) => letter.repeat(200_000));
  await replaceFile(path, versions[0] ?? "");
  let writing = true;
  const seen = new Set<string>();
  const reading = (async () => {
    while (writing) seen.add(await readFile(path, "utf8"));
  })();
  for (let i = 1; i <= 20; i += 1) await replaceFile(path, versions[i % 2] ?? "");
  writing = false;
  await reading;
  expect([...seen].filter((text) => !versions.includes(text)).map((text) => text.length)).toEqual([]);
  expect(seen.size).toBeGreaterThan(0);
});

test("a replacement that fails leaves what stood there and no stray file", async () => {
  await using folder = await tempFolder();
  const occupied = join(folder.path, "occupied");
  await mkdir(occupied);
  await writeFile(join(occupied, "kept"), "kept");
  await expect(replaceFile(occupied, "text")).rejects.toThrow();
  expect(await readdir(folder.path)).toEqual(["occupied"]);
  expect(await readFile(join(occupied, "kept"), "utf8")).toBe("kept");
});

test("a file in a folder that does not exist is refused", async () => {
  await using folder = await tempFolder();
  await expect(replaceFile(join(folder.path, "none", "state"), "text")).rejects.toThrow("ENOENT");
  expect(await readdir(folder.path)).toEqual([]);
});

test("many replacements at once leave one of them, and nothing else", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "state");
  const texts = Array.from({ length: 10 }, (_, i) => `writer ${i}`);
  await Promise.all(texts.map((text) => replaceFile(path, text)));
  expect(texts).toContain(await readFile(path, "utf8"));
  expect(await readdir(folder.path)).toEqual(["state"]);
});

test("of many creations at once one succeeds, the others leave its file alone, and nothing else", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "state");
  const texts = Array.from({ length: 10 }, (_, i) => `writer ${i}`);
  const outcomes = await Promise.all(
    texts.map((text) =>
      createFile(path, text, { mode: 0o640 }).then(
        () => text,
        (error) => error.code,
      ),
    ),
  );
  const kept = await readFile(path, "utf8");
  expect(outcomes.sort()).toEqual([...Array(9).fill("EEXIST"), kept]);
  expect((await stat(path)).mode & 0o777).toBe(0o640);
  expect(await readdir(folder.path)).toEqual(["state"]);
});

test("a file that cannot be replaced is named by its own path, with the system's code", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "servers.json");
  await mkdir(path);
  const error = await replaceFile(path, "{}").catch((error: Error & { code?: string }) => error);
  expect(error).toMatchObject({ code: "EISDIR" });
  expect(error?.message).toStartWith(`${path} cannot be written: `);
  expect(error?.message).not.toContain("/proc/");
  expect(await readdir(folder.path)).toEqual(["servers.json"]);
});
