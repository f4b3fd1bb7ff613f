import { expect, test } from "bun:test";
import {
  closeSync,
  constants,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../src/base/fault.ts";
import {
  contentOf,
  openAndCompare,
  openWithoutLinks,
  readNamesInTurns,
  stateAt,
  stateIn,
  stateOf,
} from "../../src/base/local-fs/local-calls.ts";
import { tempFolder } from "../support/node.ts";
import { randomFrom } from "../support/random.ts";

// These calls are of Linux; elsewhere Node's are used.
const isLinux = process.platform === "linux";

/** A folder that is open until it is disposed. */
async function openFolder() {
  const folder = await tempFolder();
  const fd = openSync(folder.path, constants.O_RDONLY | constants.O_DIRECTORY);
  return {
    fd,
    path: folder.path,
    at: (name: string) => join(folder.path, name),
    async [Symbol.asyncDispose]() {
      closeSync(fd);
      await folder[Symbol.asyncDispose]();
    },
  };
}

const numbers = [
  "dev",
  "ino",
  "mode",
  "size",
  "blocks",
  "mtimeMs",
  "ctimeMs",
  "atimeMs",
  "birthtimeMs",
] as const;

test.skipIf(!isLinux)("the state of a name has the numbers of Node, to the last digit", async () => {
  await using folder = await openFolder();
  const random = randomFrom("states of files");
  const names = Array.from({ length: 300 }, (_, at) => `file-${at}`);
  for (const name of names) {
    writeFileSync(folder.at(name), "x".repeat(random() * 9000));
    // Before 1970 as well, with any fraction of a second.
    utimesSync(folder.at(name), random() * 2e9, (random() - 0.3) * 4e9);
  }
  mkdirSync(folder.at("folder"), { mode: 0o750 });
  symlinkSync("file-1", folder.at("link"));
  symlinkSync("nowhere", folder.at("loose link"));
  Bun.spawnSync(["mkfifo", folder.at("pipe")]);
  writeFileSync(folder.at("hole"), "");
  truncateSync(folder.at("hole"), 5 * 2 ** 32 + 7);
  for (const name of [...names, "folder", "link", "loose link", "pipe", "hole", ".", "é".repeat(127)]) {
    if (name.startsWith("é")) writeFileSync(folder.at(name), "é");
    const [state, expected] = [stateIn(folder.fd, name), lstatSync(folder.at(name))];
    expect([name, ...numbers.map((key) => state?.[key])]).toEqual([
      name,
      ...numbers.map((key) => expected[key]),
    ]);
    expect([state?.isFile(), state?.isDirectory(), state?.isSymbolicLink()]).toEqual([
      expected.isFile(),
      expected.isDirectory(),
      expected.isSymbolicLink(),
    ]);
  }
});

test("what cannot be looked at has no state", async () => {
  await using folder = await openFolder();
  writeFileSync(folder.at("file"), "x");
  for (const name of [
    "missing",
    "file/below",
    "x".repeat(256),
    "x".repeat(5000),
    "é".repeat(600),
    "",
    "file\0",
  ])
    expect(stateIn(folder.fd, name)).toBeUndefined();
  for (const name of ["file\0", "file\0.png", "\0"]) {
    expect(stateAt(folder.at(name))).toBeUndefined();
    for (const open of [openWithoutLinks, openAndCompare])
      expect(open(`${realpathSync(folder.path)}/${name}`, constants.O_RDONLY)).toBeUndefined();
  }
});

test.skipIf(!isLinux)(
  "a small folder is read as a whole, sorted by name, as often as one likes",
  async () => {
    await using folder = await openFolder();
    expect(contentOf(folder.fd, 100)).toEqual([]);
    const names = [
      "b",
      "a",
      ".hidden",
      "...",
      "日本",
      "é".repeat(127),
      "x".repeat(255),
      "12345",
      "123456",
      "\u{1f600}",
    ];
    for (const name of names) writeFileSync(folder.at(name), name);
    mkdirSync(folder.at("folder"));
    const expected = [...names, "folder"].sort().map((name) => [name, lstatSync(folder.at(name)).ino]);
    for (let turn = 0; turn < 3; turn += 1)
      expect(contentOf(folder.fd, 100)?.map(([name, { ino }]) => [name, ino] as [string, number])).toEqual(
        expected as Array<[string, number]>,
      );
    unlinkSync(folder.at("b"));
    expect(contentOf(folder.fd, 100)).toHaveLength(names.length);
    expect(contentOf(folder.fd, names.length)).toHaveLength(names.length);
    expect(contentOf(folder.fd, names.length - 1)).toBeUndefined();
  },
);

test("a name that is no UTF-8 is left to the other reader, which cannot reach it", async () => {
  await using folder = await openFolder();
  writeFileSync(folder.at("a"), "");
  const name = Buffer.from([0x66, 0xff, 0x66]);
  writeFileSync(Buffer.concat([Buffer.from(`${folder.path}/`), name]), "");
  expect(contentOf(folder.fd, 100)).toBeUndefined();
  expect((await readNamesInTurns(folder.path)).sort()).toEqual(["a", name.toString()]);
  expect(stateIn(folder.fd, name.toString())).toBeUndefined();
});

test("a folder whose names do not fit into one call is left to the other reader", async () => {
  await using folder = await openFolder();
  for (let at = 0; at < 200; at += 1) writeFileSync(folder.at(`${at}`.padEnd(250, "x")), "");
  expect(contentOf(folder.fd, 1000)).toBeUndefined();
});

test("a large folder has the names that Node finds, and others get the event loop meanwhile", async () => {
  await using folder = await openFolder();
  // Names of one file: ext4 searches long for an inode where many were deleted lately.
  writeFileSync(folder.at("file"), "");
  for (let at = 0; at < 20_000; at += 1)
    linkSync(folder.at("file"), folder.at(`${"é".repeat(at % 40)}-${at}`));
  let turns = 0;
  let isReading = true;
  const count = () => {
    turns += 1;
    if (isReading) setImmediate(count);
  };
  setImmediate(count);
  const names = await readNamesInTurns(folder.path);
  isReading = false;
  expect(names.sort()).toEqual((await readdir(folder.path)).sort());
  expect(turns).toBeGreaterThan(1);
});

test("a folder that cannot be read is an error with the system's code", async () => {
  await using folder = await openFolder();
  writeFileSync(folder.at("file"), "");
  for (const [path, code] of [
    ["missing", "ENOENT"],
    ["file", "ENOTDIR"],
  ] as const) {
    const error = await readNamesInTurns(folder.at(path)).catch((error: unknown) => error);
    expect(codeOf(error)).toBe(code);
  }
});

for (const [form, open] of Object.entries({ openat2: openWithoutLinks, "open and compare": openAndCompare }))
  test.skipIf(!isLinux)(`a path is opened only if no part of it is a link (${form})`, async () => {
    await using folder = await openFolder();
    const root = realpathSync(folder.path);
    mkdirSync(join(root, "deep/ü"), { recursive: true });
    writeFileSync(join(root, "deep/ü/file"), "four");
    symlinkSync("deep", join(root, "to deep"));
    symlinkSync("file", join(root, "deep/ü/link"));
    symlinkSync("nowhere", join(root, "loose"));
    symlinkSync(root, `${root}-link`);
    const sizeAt = (path: string, flags = constants.O_RDONLY) => {
      const fd = open(path, flags);
      if (fd === undefined) return undefined;
      const state = stateOf(fd);
      closeSync(fd);
      expect(stateAt(path)).toEqual(state);
      return state?.isFile() ? state.size : "folder";
    };
    try {
      expect(sizeAt(join(root, "deep/ü/file"))).toBe(4);
      expect(sizeAt(join(root, "deep/ü"))).toBe("folder");
      expect(sizeAt("/")).toBe("folder");
      expect(sizeAt(join(root, "deep/ü/file"), constants.O_RDONLY | constants.O_DIRECTORY)).toBeUndefined();
      for (const path of [
        "to deep/ü/file",
        "to deep",
        "deep/ü/link",
        "loose",
        "missing",
        "deep/ü/file/below",
      ])
        expect([path, sizeAt(join(root, path))]).toEqual([path, undefined]);
      expect(sizeAt(join(`${root}-link`, "deep/ü/file"))).toBeUndefined();
      expect(sizeAt(`${root}/${"x/".repeat(3000)}`)).toBeUndefined();
    } finally {
      unlinkSync(`${root}-link`);
    }
  });
