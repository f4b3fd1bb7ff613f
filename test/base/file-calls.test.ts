import { expect, test } from "bun:test";
import { lstatSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../../src/base/fault.ts";
import {
  asyncFileCalls,
  type FileCalls,
  fileCallsFor,
  syncFileCalls,
} from "../../src/base/local-fs/file-calls.ts";
import { tempFolder } from "../support/node.ts";

const forms: Record<string, FileCalls> = { synchronous: syncFileCalls, asynchronous: asyncFileCalls };

for (const [form, calls] of Object.entries(forms)) {
  test(`names and attributes are read and changed (${form})`, async () => {
    await using folder = await tempFolder();
    const at = (name: string) => join(folder.path, name);
    writeFileSync(at("a.txt"), "four");
    symlinkSync("a.txt", at("link"));
    expect((await calls.stat(at("link"))).size).toBe(4);
    expect((await calls.lstat(at("link"))).isSymbolicLink()).toBe(true);
    expect(await calls.readlink(at("link"))).toBe("a.txt");
    expect(await calls.realpath(at("link"))).toBe(await calls.realpath(at("a.txt")));
    await calls.mkdir(at("deep"));
    await calls.rename(at("a.txt"), at("deep/b.txt"));
    expect((await calls.readdir(folder.path, 4096)).sort()).toEqual(["deep", "link"]);
    const day = new Date("2001-02-03T04:05:06Z");
    await calls.utimes(at("deep/b.txt"), day, day);
    expect(lstatSync(at("deep/b.txt")).mtime).toEqual(day);
    await calls.unlink(at("link"));
    expect(await calls.readdir(folder.path, 4096)).toEqual(["deep"]);
  });

  test(`an open file is read, written and synced at the positions that are named (${form})`, async () => {
    await using folder = await tempFolder();
    const path = join(folder.path, "a.txt");
    const file = await calls.open(path, "wx+", 0o600);
    expect(await file.write(Buffer.from("xhello"), 1, 5, null)).toMatchObject({ bytesWritten: 5 });
    expect(await file.write(Buffer.from("J"), 0, 1, 0)).toMatchObject({ bytesWritten: 1 });
    await file.datasync();
    await file.sync();
    const buffer = Buffer.alloc(8);
    expect(await file.read(buffer, 2, 4, 1)).toMatchObject({ bytesRead: 4 });
    expect(buffer.toString("latin1")).toBe("\0\0ello\0\0");
    expect(await file.stat()).toMatchObject({ size: 5, mode: 0o100600 });
    await file.close();
    await file.close();
    expect(readFileSync(path, "utf8")).toBe("Jello");
  });

  test(`a failure has the code of the operating system (${form})`, async () => {
    await using folder = await tempFolder();
    const missing = join(folder.path, "missing");
    const failed = async (work: () => unknown) => {
      try {
        await work();
      } catch (error) {
        return codeOf(error);
      }
      return "no failure";
    };
    expect(await failed(() => calls.stat(missing))).toBe("ENOENT");
    expect(await failed(() => calls.open(missing, "r"))).toBe("ENOENT");
    expect(await failed(() => calls.realpath(`${missing}/below`))).toBe("ENOENT");
    expect(await failed(() => calls.mkdir(folder.path))).toBe("EEXIST");
    expect(await failed(() => calls.rename(missing, `${missing}2`))).toBe("ENOENT");
  });
}

test("a local disk gets the synchronous form, every other file system the asynchronous one", async () => {
  if (process.platform !== "linux") {
    console.log("SKIPPED: types of file systems are known on Linux only");
    return;
  }
  await using folder = await tempFolder();
  expect(fileCallsFor(folder.path)).toBe(syncFileCalls);
  expect(fileCallsFor(join(folder.path, "not/made/yet"))).toBe(syncFileCalls);
  expect(fileCallsFor("/proc/self")).toBe(asyncFileCalls);
});
