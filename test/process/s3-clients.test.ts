import { describe, expect, test } from "bun:test";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { S3Site } from "../support/s3-site.ts";
import { hasSeaweed } from "../support/seaweed.ts";
import { findTool, randomBytes } from "../support/tools.ts";

const requestTimeoutMs = 20_000;

const baseOf = ({ server }: S3Site) => `${server.url}/node/static-webdav/site`;
const keysOf = ({ token }: S3Site): [key: string, secret: string] => {
  const [key = "", secret = ""] = token.split(":");
  return [key, secret];
};

describe.skipIf(!hasSeaweed)("the compiled server with files in S3", () => {
  test("passes all 104 tests of litmus, with no warning and none skipped", async () => {
    await using tool = await findTool("the litmus story on S3", "litmus");
    if (tool === undefined) return;
    await using site = await S3Site.open(requestTimeoutMs);
    const args = ["--keep-going", `${baseOf(site)}/`, ...keysOf(site)];
    const { code, stdout } = await tool.run(args, {
      env: { TESTS: "basic copymove props locks http" },
      patienceMs: 170_000,
    });
    const lines = stdout.split(/[\r\n]+/);
    const usual = /^$|^-> running `\w+':$|^<- summary for|^ *\d+\. [\w.]+ (pass)?$/;
    expect({
      otherwise: lines.filter((line) => !usual.test(line)),
      passed: lines.filter((line) => /^ *\d+\. [\w.]+ pass$/.test(line)).length,
      code,
    }).toEqual({ otherwise: [], passed: 104, code: 0 });
  }, 180_000);

  test("keeps what rclone syncs, and gives it back unchanged", async () => {
    await using tool = await findTool("the rclone story on S3", "rclone");
    if (tool === undefined) return;
    await using site = await S3Site.open(requestTimeoutMs);
    const [user, secret] = keysOf(site);
    const quiet = { RCLONE_CONFIG: join(tool.home, "none.conf") };
    const env = {
      ...quiet,
      RCLONE_WEBDAV_URL: baseOf(site),
      RCLONE_WEBDAV_VENDOR: "other",
      RCLONE_WEBDAV_USER: user,
      RCLONE_WEBDAV_PASS: (await tool.does(["obscure", "-"], { stdin: secret, env: quiet })).trim(),
      RCLONE_RETRIES: "1",
      RCLONE_LOW_LEVEL_RETRIES: "1",
    };
    const rclone = (...args: string[]) => tool.run(args, { env, patienceMs: 120_000 });
    const local = join(tool.home, "local");
    for (const folder of ["a/b", "c", "empty"]) await mkdir(join(local, folder), { recursive: true });
    for (let at = 0; at < 60; at += 1)
      await writeFile(join(local, ["", "a", "a/b", "c"][at % 4] ?? "", `é ${at}.txt`), `content of ${at}`);
    await writeFile(join(local, "none.txt"), "");
    await writeFile(join(local, "large.bin"), randomBytes(20 * 1024 * 1024));
    const sync = ["sync", "--create-empty-src-dirs", local, ":webdav:"];
    expect(await rclone(...sync)).toMatchObject({ code: 0 });
    const checked = await rclone("check", "--download", local, ":webdav:");
    expect(checked.stderr).toContain("0 differences found");
    expect(checked.stderr).toContain("62 matching files");
    expect(await rclone("moveto", ":webdav:a", ":webdav:moved")).toMatchObject({ code: 0 });
    expect(await rclone(...sync)).toMatchObject({ code: 0 });
    expect((await rclone("check", "--download", local, ":webdav:")).stderr).toContain("0 differences found");
  }, 180_000);

  test("is used by cadaver for files, folders and locks", async () => {
    await using tool = await findTool("the cadaver story on S3", "cadaver");
    if (tool === undefined) return;
    await using site = await S3Site.open(requestTimeoutMs);
    const [login, password] = keysOf(site);
    await writeFile(join(tool.home, ".netrc"), `machine 127.0.0.1 login ${login} password ${password}\n`, {
      mode: 0o600,
    });
    await writeFile(join(tool.home, "a.txt"), "content of a");
    const commands = [
      "mkcol folder",
      "put a.txt",
      "copy a.txt folder/copied.txt",
      "lock a.txt",
      "put a.txt",
      "unlock a.txt",
      "move a.txt folder/moved.txt",
      "get folder/moved.txt back.txt",
      "delete folder/copied.txt",
      "ls folder",
      "quit",
    ];
    const said = await tool.does([`${baseOf(site)}/`], { stdin: `${commands.join("\n")}\n` });
    expect(said).not.toMatch(/fail|error|could not/i);
    expect(said).toMatch(/ moved\.txt +12 /);
    expect(await readFile(join(tool.home, "back.txt"), "utf8")).toBe("content of a");
  }, 180_000);
});
