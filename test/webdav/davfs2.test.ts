import { expect } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { clientStory, type TestNode, testNode } from "../support/node.ts";
import { storedFiles } from "../support/stored-site.ts";
import { findProgram, openTool } from "../support/tools.ts";
import { webdavSite } from "../support/webdav.ts";

/** The bucket mounted by davfs2 until the end of the scope; undefined, and told, where that is not allowed. */
async function mountBucket(node: TestNode, files: Record<string, string>) {
  const refused = (why: string) => void console.log(`note: davfs2 cannot mount here: ${why}`);
  const mount = findProgram("the davfs2 story", "mount.davfs", "davfs2");
  if (mount === undefined) return undefined;
  if (process.getuid?.() !== 0) return refused("only root may");
  if (!existsSync("/dev/fuse")) return refused("there is no /dev/fuse");
  const { base } = await webdavSite(node);
  const stored = storedFiles(node);
  await stored.write(files);
  const shell = await openTool("/bin/sh");
  const { home } = shell;
  const drive = join(home, "drive");
  const cache = join(home, "cache");
  for (const folder of [drive, cache]) await mkdir(folder);
  // The daemon runs as a user of its own.
  for (const folder of [dirname(home), home]) await chmod(folder, 0o711);
  await chmod(cache, 0o1777);
  const secret = { mode: 0o600 };
  await writeFile(join(home, "secrets"), `${drive} ${node.superToken.replace(":", " ")}\n`, secret);
  // With its own buffer of 16 KiB it cannot list a folder on Linux 6.16 and later.
  const settings = ["ask_auth 0", "delay_upload 0", "gui_optimize 0", "dir_refresh 0", "buf_size 64"];
  const conf = [`secrets ${join(home, "secrets")}`, `cache_dir ${cache}`, ...settings, ""].join("\n");
  await writeFile(join(home, "conf"), conf, secret);
  const sh = (command: string) => shell.run(["-c", command], { patienceMs: 25_000 });
  // Its daemon keeps the outputs it was started with.
  const mounted = await sh(`${mount} -o conf=conf ${base}/ drive >said 2>&1 </dev/null`);
  if (mounted.code !== 0) {
    const said = readFileSync(join(home, "said"), "utf8");
    await shell[Symbol.asyncDispose]();
    // What the server did wrong is no matter of permission.
    expect(said).toMatch(/not permitted|permission denied|fuse|kernel/i);
    return refused(said.trim().replaceAll("\n", " "));
  }
  const unmount = async () => {
    const { code } = await sh("if mountpoint -q drive; then umount drive; fi");
    if (code !== 0) await sh("umount -l drive");
    return code;
  };
  return {
    stored,
    // The server lives in this process: only another one may wait for the drive.
    sh: (command: string) => sh(`cd drive && ${command}`),
    unmount,
    async [Symbol.asyncDispose]() {
      await unmount();
      await shell[Symbol.asyncDispose]();
    },
  };
}

clientStory(
  "a bucket mounted by davfs2 is a drive: files are written, read, listed, moved and removed",
  async (store) => {
    await using node = await testNode(store);
    await using drive = await mountBucket(node, { "before #1.txt": "was there\n" });
    if (drive === undefined) return;
    const { stored, sh } = drive;
    const first = await sh(
      "mkdir -p 'new folder/deep' && printf hello > 'new folder/ä & 😀.txt' && cat 'new folder/ä & 😀.txt' && ls && cat 'before #1.txt'",
    );
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(first.stdout).toMatch(/^hellobefore #1\.txt\n(lost\+found\n)?new folder\nwas there\n$/);
    const second = await sh(
      "head -c 3000000 /dev/urandom > big.bin && cp big.bin copy.bin && cmp big.bin copy.bin && mv big.bin 'new folder/deep/moved.bin' && mv 'new folder' renamed && rm 'before #1.txt' && ls renamed renamed/deep",
    );
    expect(second).toMatchObject({ code: 0, stderr: "" });
    expect(second.stdout).toBe("renamed:\ndeep\nä & 😀.txt\n\nrenamed/deep:\nmoved.bin\n");
    expect(await drive.unmount()).toBe(0);
    expect(await stored.paths()).toEqual([
      "copy.bin",
      "renamed",
      "renamed/deep",
      "renamed/deep/moved.bin",
      "renamed/ä & 😀.txt",
    ]);
    expect(await stored.text("renamed/ä & 😀.txt")).toBe("hello");
    const copied = await stored.bytes("copy.bin");
    expect(copied.length).toBe(3_000_000);
    expect(copied.equals(await stored.bytes("renamed/deep/moved.bin"))).toBe(true);
  },
);
