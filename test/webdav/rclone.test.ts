import { expect } from "bun:test";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { clientStory, type TestNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { storedFiles } from "../support/stored-site.ts";
import { findTool, randomBytes } from "../support/tools.ts";
import { webdavSite } from "../support/webdav.ts";

const sharedNode = sharedNodes();

/** rclone with the story's bucket as its remote `:webdav:`, set up by its environment alone. */
async function openRclone(node: TestNode, vendor = "other") {
  const tool = await findTool("the rclone story", "rclone");
  if (tool === undefined) return undefined;
  const { base } = await webdavSite(node);
  const [key = "", secret = ""] = node.superToken.split(":");
  const config = join(tool.home, "none.conf");
  const quiet = { RCLONE_CONFIG: config };
  const obscured = await tool.does(["obscure", "-"], { stdin: secret, env: quiet });
  const env = {
    ...quiet,
    RCLONE_WEBDAV_URL: base,
    RCLONE_WEBDAV_VENDOR: vendor,
    RCLONE_WEBDAV_USER: key,
    RCLONE_WEBDAV_PASS: obscured.trim(),
    // A wrong answer is to be seen, not tried again.
    RCLONE_RETRIES: "1",
    RCLONE_LOW_LEVEL_RETRIES: "1",
  };
  const local = join(tool.home, "local");
  await mkdir(local);
  return {
    local,
    stored: storedFiles(node),
    rclone: (...args: string[]) => tool.does(args, { env }),
    attempt: (...args: string[]) => tool.run(args, { env }),
    [Symbol.asyncDispose]: () => tool[Symbol.asyncDispose](),
  };
}

const sha256 = (content: string | Uint8Array) => createHash("sha256").update(content).digest("hex");

/** Everything below a folder: a file with the hash of its content, a folder with a slash. */
function treeOf(folder: string): Record<string, string> {
  const found: Array<[string, string]> = [];
  for (const name of readdirSync(folder, { recursive: true }).map(String)) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) found.push([`${name}/`, "folder"]);
    else found.push([name, sha256(readFileSync(path))]);
  }
  return Object.fromEntries(found.sort(([one], [other]) => (one < other ? -1 : 1)));
}

async function fill(folder: string, files: Record<string, string | Uint8Array>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

const composed = "Ångström café ü".normalize("NFC");
const oddNames = [
  "with space",
  "two  spaces",
  "100%",
  "%41 is no A",
  "%2e%2e%2fup",
  "a#b",
  "a&b;c",
  "a+b",
  "a=b,c@d!e$f",
  "what?",
  `${composed} NFC`,
  `${composed.normalize("NFD")} NFD`,
  "한국어".normalize("NFD"),
  "日本語",
  "😀 👩‍👩‍👧‍👦",
  "'single'",
  '"double"',
  "`back`",
  "[x]{y}(z)",
  "<tag>&amp;",
  "a:b|c*d^e~f",
  ".hidden",
  "..two",
  "...",
  "trailing.",
  "-rf",
  "n".repeat(200),
  "ü".repeat(100),
];

clientStory(
  "five rclones at once copy 250 files into a bucket, and each finds its own there unchanged",
  async (store) => {
    await using node = await sharedNode(store);
    await using site = await openRclone(node);
    if (site === undefined) return;
    const { local, stored, rclone, attempt } = site;
    const files: Record<string, string> = {};
    for (let n = 0; n < 250; n += 1) files[`part ${n % 5}/${n % 3}/file ${n}.txt`] = `content of ${n}`;
    await fill(local, files);
    // One rclone sends a hundred requests in a second at most, however fast the server is.
    const parts = [0, 1, 2, 3, 4].map((n) => [join(local, `part ${n}`), `:webdav:part ${n}`] as const);
    await Promise.all(parts.map(([from, to]) => rclone("copy", "--transfers", "8", from, to)));
    expect(await stored.tree()).toEqual(treeOf(local));
    const checks = await Promise.all(parts.map(([from, to]) => attempt("check", "--download", from, to)));
    for (const { code, stderr } of checks) {
      expect(stderr).toContain("0 differences found");
      expect(stderr).toContain("50 matching files");
      expect(code).toBe(0);
    }
    const listed = (await rclone("lsf", "-R", ":webdav:")).trimEnd().split("\n");
    expect(listed.sort()).toEqual(Object.keys(treeOf(local)).sort());
    expect(JSON.parse(await rclone("size", "--json", ":webdav:"))).toMatchObject({
      count: 250,
      bytes: Object.values(files).join("").length,
    });
  },
);

clientStory(
  "rclone copies files and folders of every odd name to a bucket and back, byte for byte, empty folders too",
  async (store) => {
    await using node = await sharedNode(store);
    await using site = await openRclone(node);
    if (site === undefined) return;
    const { local, stored, rclone, attempt } = site;
    const files: Record<string, string> = { "empty.txt": "" };
    for (const name of oddNames) {
      files[`odd/${name}`] = `I am ${name}`;
      files[`odd folders/${name}/in.txt`] = `I am in ${name}`;
    }
    await fill(local, files);
    await mkdir(join(local, "hollow/in/deep"), { recursive: true });
    await mkdir(join(local, "hollow/#%&+ 😀"));
    await rclone("copy", "--create-empty-src-dirs", local, ":webdav:");
    const tree = treeOf(local);
    expect(await stored.tree()).toEqual(tree);
    const compared = await attempt("check", "--download", local, ":webdav:");
    expect(compared.stderr).toContain("0 differences found");
    expect(compared.stderr).toContain(`${Object.keys(files).length} matching files`);
    expect(compared.code).toBe(0);
    const listed = (await rclone("lsf", "-R", ":webdav:")).trimEnd().split("\n");
    expect(listed.sort()).toEqual(Object.keys(tree).sort());
    const back = join(dirname(local), "back");
    await rclone("copy", "--create-empty-src-dirs", ":webdav:", back);
    expect(treeOf(back)).toEqual(tree);
  },
);

clientStory(
  "of many who make the same folder at once, as the transfers of one rclone do, one makes it and the others hear that it is there",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav } = await webdavSite(node);
    for (let round = 0; round < 5; round += 1) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => dav("MKCOL", `/folder${round}`)));
      const told = answers.map(({ status }) => status).sort();
      expect(told).toEqual([201, ...Array<number>(19).fill(405)]);
    }
  },
);

clientStory("rclone tells a file whose content alone differs", async (store) => {
  await using node = await sharedNode(store);
  await using site = await openRclone(node);
  if (site === undefined) return;
  await fill(site.local, { "a.txt": "same", "b.txt": "here" });
  await site.stored.write({ "a.txt": "same", "b.txt": "gone" });
  const compared = await site.attempt("check", "--download", site.local, ":webdav:");
  expect(compared.stderr).toContain("1 differences found");
  expect(compared.code).toBe(1);
});

clientStory(
  "rclone sync makes the bucket equal to a folder in which files were changed, added, renamed and deleted",
  async (store) => {
    await using node = await sharedNode(store);
    await using site = await openRclone(node);
    if (site === undefined) return;
    const { local, stored, rclone } = site;
    await fill(local, {
      "kept.txt": "kept",
      "changed.txt": "short",
      "gone & #1.txt": "gone",
      "folder/renamed %.txt": "renamed",
      "folder/gone.txt": "gone",
      "gone folder/deep/a.txt": "a",
      "turned/into/a file.txt": "x",
    });
    await rclone("sync", "--create-empty-src-dirs", local, ":webdav:");
    expect(await stored.tree()).toEqual(treeOf(local));
    await writeFile(join(local, "changed.txt"), "much longer than it was");
    for (const path of ["gone & #1.txt", "folder/gone.txt", "gone folder"])
      await rm(join(local, path), { recursive: true });
    await rename(join(local, "folder/renamed %.txt"), join(local, "folder/renamed +.txt"));
    await fill(local, { "added/new 😀.txt": "new" });
    await rclone("sync", "--create-empty-src-dirs", local, ":webdav:");
    expect(await stored.tree()).toEqual(treeOf(local));
    expect(Object.keys(await stored.tree())).not.toContain("gone folder/");
    const again = await site.attempt("sync", "-v", "--create-empty-src-dirs", local, ":webdav:");
    expect(again.code).toBe(0);
    expect(again.stderr).toContain("There was nothing to transfer");
  },
);

clientStory(
  "rclone moves a file and a folder on the server, and purges a folder with all that is in it",
  async (store) => {
    await using node = await sharedNode(store);
    await using site = await openRclone(node);
    if (site === undefined) return;
    const { local, stored, rclone } = site;
    await fill(local, {
      "a b.txt": "a",
      "from #1/x%.txt": "x",
      "from #1/deep/y+.txt": "y",
      "stays.txt": "s",
    });
    await rclone("copy", local, ":webdav:");
    // Renamed where they are: nothing went through the client.
    const inode = (path: string) => statSync(join(node.folder, "static", node.bucket, path)).ino;
    const before = node.store === "disk" ? [inode("a b.txt"), inode("from #1")] : [];
    await rclone("moveto", ":webdav:a b.txt", ":webdav:new place/ä & 😀.txt");
    await rclone("moveto", ":webdav:from #1", ":webdav:new place/to [2]");
    const moved = {
      "new place/": "folder",
      "new place/to [2]/": "folder",
      "new place/to [2]/deep/": "folder",
      "new place/to [2]/deep/y+.txt": sha256("y"),
      "new place/to [2]/x%.txt": sha256("x"),
      "new place/ä & 😀.txt": sha256("a"),
      "stays.txt": sha256("s"),
    };
    expect(await stored.tree()).toEqual(moved);
    if (node.store === "disk")
      expect([inode("new place/ä & 😀.txt"), inode("new place/to [2]")]).toEqual(before);
    await rclone("copyto", ":webdav:stays.txt", ":webdav:copied.txt");
    await rclone("deletefile", ":webdav:stays.txt");
    await rclone("purge", ":webdav:new place");
    expect(await stored.tree()).toEqual({ "copied.txt": sha256("s") });
    const missing = await site.attempt("lsf", ":webdav:new place");
    expect([missing.code, missing.stderr]).toEqual([3, expect.stringContaining("directory not found")]);
  },
);

clientStory(
  "a file of 20 MB goes up and comes back through rclone with every byte in its place",
  async (store) => {
    await using node = await sharedNode(store);
    await using site = await openRclone(node);
    if (site === undefined) return;
    const content = randomBytes(20_000_000);
    const hash = sha256(content);
    await fill(site.local, { "big.bin": content });
    await site.rclone("copyto", join(site.local, "big.bin"), ":webdav:big.bin");
    expect(sha256(await site.stored.bytes("big.bin"))).toBe(hash);
    const back = join(site.local, "back.bin");
    await site.rclone("copyto", ":webdav:big.bin", back);
    expect(sha256(readFileSync(back))).toBe(hash);
    // The sum that rclone makes of what it reads in parts.
    expect(await site.rclone("hashsum", "sha256", "--download", ":webdav:big.bin")).toStartWith(hash);
  },
);

for (const vendor of ["owncloud", "nextcloud"]) {
  clientStory(
    `rclone keeps the times of files when it takes the server for a ${vendor}, and copies only what is newer`,
    async (store) => {
      await using node = await sharedNode(store);
      await using site = await openRclone(node, vendor);
      if (site === undefined) return;
      const { local, stored, rclone } = site;
      await fill(local, { "old.txt": "from 2001", "deep/older ä.txt": "from 1985" });
      const times = { "old.txt": 1_000_000_000, "deep/older ä.txt": 500_000_000 };
      for (const [path, seconds] of Object.entries(times)) await utimes(join(local, path), seconds, seconds);
      await rclone("copy", local, ":webdav:");
      const timesStored = async () => {
        const found: Record<string, number> = {};
        for (const path of Object.keys(times)) found[path] = (await stored.stats(path)).modifiedMs / 1000;
        return found;
      };
      expect(await timesStored()).toEqual(times);
      expect(
        (await rclone("lsf", "-R", "--format", "tp", "--files-only", ":webdav:")).split("\n").sort(),
      ).toEqual(["", "1985-11-05 00:53:20;deep/older ä.txt", "2001-09-09 01:46:40;old.txt"]);
      const unchanged = await site.attempt("copy", "-v", local, ":webdav:");
      expect(unchanged.stderr).toContain("There was nothing to transfer");
      await writeFile(join(local, "old.txt"), "from 2002");
      await utimes(join(local, "old.txt"), 1_020_000_000, 1_020_000_000);
      await rclone("copy", local, ":webdav:");
      expect(await timesStored()).toEqual({ ...times, "old.txt": 1_020_000_000 });
      expect(await stored.text("old.txt")).toBe("from 2002");
      const back = join(dirname(local), "back");
      await rclone("copy", ":webdav:", back);
      expect(statSync(join(back, "deep/older ä.txt")).mtimeMs / 1000).toBe(500_000_000);
    },
  );
}
