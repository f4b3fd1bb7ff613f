import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { AuthType, type CreateReadStreamOptions, createClient, type DiskQuota, type FileStat } from "webdav";
import { clientStory, type TestNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { storedFiles } from "../support/stored-site.ts";
import { findTool, randomBytes } from "../support/tools.ts";
import { webdavSite } from "../support/webdav.ts";

const sharedNode = sharedNodes();

/** curl with the story's bucket; `-w` tells the last status. */
async function openCurl(node: TestNode) {
  const tool = await findTool("the curl story", "curl");
  if (tool === undefined) return undefined;
  const { base } = await webdavSite(node);
  return {
    home: tool.home,
    base,
    stored: storedFiles(node),
    curl: (args: readonly string[], stdin?: string | Uint8Array<ArrayBuffer>) =>
      tool.run(
        ["-sS", "-v", "--max-time", "30", "-w", "%{http_code}", ...args],
        stdin === undefined ? {} : { stdin },
      ),
    [Symbol.asyncDispose]: () => tool[Symbol.asyncDispose](),
  };
}

/** The status lines of every answer on the way. */
const statuses = (stderr: string) =>
  [...stderr.matchAll(/^< HTTP\/1\.1 (\d+)/gm)].map((line) => Number(line[1]));

clientStory(
  "curl uploads a file of known length and one of unknown length from a pipe, and downloads parts of them",
  async (store) => {
    await using node = await sharedNode(store);
    await using site = await openCurl(node);
    if (site === undefined) return;
    const { home, base, curl, stored } = site;
    const login = ["-u", node.superToken];
    await writeFile(join(home, "a.txt"), "0123456789");
    const known = await curl([...login, "-T", "a.txt", `${base}/`]);
    expect([known.code, known.stdout]).toEqual([0, "201"]);
    expect(known.stderr).toMatch(/^> Content-Length: 10/im);
    expect(await stored.text("a.txt")).toBe("0123456789");
    const bytes = randomBytes(3_000_000);
    const piped = await curl([...login, "-T", "-", `${base}/piped%20%23.bin`], bytes);
    expect([piped.code, piped.stdout]).toEqual([0, "201"]);
    expect(piped.stderr).toMatch(/^> Transfer-Encoding: chunked/im);
    expect((await stored.bytes("piped #.bin")).equals(bytes)).toBe(true);
    const again = await curl([...login, "-T", "-", `${base}/a.txt`], "abcdefghij");
    expect([again.code, again.stdout]).toEqual([0, "204"]);
    const part = await curl([...login, "-r", "2-4", `${base}/a.txt`]);
    expect(part.stdout).toBe("cde206");
    expect(part.stderr).toMatch(/^< Content-Range: bytes 2-4\/10/im);
    const end = await curl([...login, "-r", "-3", `${base}/a.txt`]);
    expect(end.stdout).toBe("hij206");
    await curl([...login, "-C", "1000000", "-o", "rest.bin", `${base}/piped%20%23.bin`]);
    const rest = readFileSync(join(home, "rest.bin"));
    expect(rest.equals(bytes.subarray(1_000_000))).toBe(true);
  },
);

clientStory("curl waits for 100 Continue before a body of 2 MB, and is given it", async (store) => {
  await using node = await sharedNode(store);
  await using site = await openCurl(node);
  if (site === undefined) return;
  const bytes = randomBytes(2 * 1024 * 1024);
  await writeFile(join(site.home, "two.bin"), bytes);
  const wait = ["--expect100-timeout", "20", "-H", "Expect: 100-continue"];
  const sent = await site.curl([...wait, "-u", node.superToken, "-T", "two.bin", `${site.base}/two.bin`]);
  expect([sent.code, sent.stdout, statuses(sent.stderr)]).toEqual([0, "201", [100, 201]]);
  expect(sent.stderr).not.toContain("Done waiting for 100-continue");
  expect((await site.stored.bytes("two.bin")).equals(bytes)).toBe(true);
});

clientStory(
  "curl without credentials at first is asked for them once, and its upload arrives whole",
  async (store) => {
    await using node = await sharedNode(store);
    await using site = await openCurl(node);
    if (site === undefined) return;
    for (const size of [10, 2 * 1024 * 1024]) {
      const bytes = randomBytes(size);
      const name = `${size}.bin`;
      await writeFile(join(site.home, name), bytes);
      const sent = await site.curl(["--anyauth", "-u", node.superToken, "-T", name, `${site.base}/${name}`]);
      expect([sent.code, sent.stdout]).toEqual([0, "201"]);
      const answers = statuses(sent.stderr).filter((status) => status !== 100);
      expect(answers).toEqual([401, 201]);
      expect((await site.stored.bytes(name)).equals(bytes)).toBe(true);
    }
  },
);

clientStory(
  "an upload of 20 MB with a wrong password ends with 401, however it is sent, and leaves nothing",
  async (store) => {
    await using node = await sharedNode(store);
    await using site = await openCurl(node);
    if (site === undefined) return;
    const bytes = randomBytes(20_000_000);
    await writeFile(join(site.home, "big.bin"), bytes);
    const login = ["-u", "nobody:wrong"];
    const to = `${site.base}/big.bin`;
    const ways: Array<[string[], Uint8Array<ArrayBuffer>?]> = [
      [["-T", "big.bin"]],
      [["-H", "Expect:", "-T", "big.bin"]],
      [["-H", "Expect:", "-T", "-"], bytes],
      [["--anyauth", "-T", "big.bin"]],
    ];
    for (const [how, stdin] of ways) {
      const { stdout } = await site.curl([...login, ...how, "-o", "answer.txt", to], stdin);
      expect({ how, status: stdout }).toEqual({ how, status: "401" });
    }
    expect(await site.stored.names()).toEqual([]);
    const right = await site.curl(["-u", node.superToken, "-T", "big.bin", to]);
    expect(right.stdout).toBe("201");
  },
);

/** The npm client on the story's bucket, which is new. */
async function openClient(node: TestNode) {
  const { base } = await webdavSite(node);
  const [username = "", password = ""] = node.superToken.split(":");
  const open = (given = password) =>
    createClient(base, { authType: AuthType.Password, username, password: given });
  return { client: open(), open };
}

clientStory("the npm client webdav does all that it can do", async (store) => {
  await using node = await sharedNode(store);
  const { client } = await openClient(node);
  expect(await client.exists("/deep")).toBe(false);
  await client.createDirectory("/deep/er/folder #1 100%", { recursive: true });
  expect(await client.exists("/deep/er/folder #1 100%")).toBe(true);
  const name = "/deep/er/ä & 😀 +.txt";
  expect(await client.putFileContents(name, "content ü")).toBe(true);
  expect(await client.putFileContents(name, "other", { overwrite: false })).toBe(false);
  expect(await client.getFileContents(name, { format: "text" })).toBe("content ü");
  const bytes = randomBytes(200_000);
  await client.putFileContents("/bytes.bin", Buffer.from(bytes));
  expect(Buffer.from((await client.getFileContents("/bytes.bin")) as ArrayBuffer).equals(bytes)).toBe(true);
  const plain = await fetch(`${node.url}/node/static/${node.bucket}/bytes.bin`, { method: "HEAD" });
  expect(await client.stat("/bytes.bin")).toMatchObject({
    filename: "/bytes.bin",
    basename: "bytes.bin",
    type: "file",
    size: 200_000,
    etag: plain.headers.get("etag")?.replaceAll('"', "") ?? "none",
    mime: "application/octet-stream",
  });
  await client.copyFile("/bytes.bin", "/deep/copy.bin");
  await client.moveFile("/bytes.bin", "/deep/er/folder #1 100%/moved.bin");
  await client.copyFile("/deep/er", "/whole");
  const found = (await client.getDirectoryContents("/", { deep: true })) as FileStat[];
  expect(found.map(({ filename, type, size }) => `${type} ${filename} ${size}`).sort()).toEqual([
    "directory /deep 0",
    "directory /deep/er 0",
    "directory /deep/er/folder #1 100% 0",
    "directory /whole 0",
    "directory /whole/folder #1 100% 0",
    "file /deep/copy.bin 200000",
    "file /deep/er/folder #1 100%/moved.bin 200000",
    "file /deep/er/ä & 😀 +.txt 10",
    "file /whole/folder #1 100%/moved.bin 200000",
    "file /whole/ä & 😀 +.txt 10",
  ]);
  expect((await client.getDirectoryContents("/deep")) as FileStat[]).toHaveLength(2);
  // It asks for all properties and hopes for these two, which are given only to who names them.
  expect(await client.getQuota()).toBeNull();
  const named = '<propfind xmlns="DAV:"><prop><quota-used-bytes/><quota-available-bytes/></prop></propfind>';
  const quota = (await client.getQuota({ data: named })) as DiskQuota | null;
  expect(quota?.available).toBeGreaterThan(0);
  expect(quota?.used).toBeGreaterThanOrEqual(0);
  await client.deleteFile("/whole");
  await client.deleteFile("/deep/copy.bin");
  expect(await storedFiles(node).paths()).toEqual([
    "deep",
    "deep/er",
    "deep/er/folder #1 100%",
    "deep/er/folder #1 100%/moved.bin",
    "deep/er/ä & 😀 +.txt",
  ]);
  await expect(client.deleteFile("/whole")).rejects.toMatchObject({ status: 404 });
});

clientStory(
  "the npm client webdav locks a file against another, unlocks it, and streams in both directions",
  async (store) => {
    await using node = await sharedNode(store);
    const { client: one, open } = await openClient(node);
    const other = open();
    await one.putFileContents("/a.txt", "first");
    const { token } = await one.lock("/a.txt");
    await expect(other.putFileContents("/a.txt", "second")).rejects.toMatchObject({ status: 423 });
    await expect(other.deleteFile("/a.txt")).rejects.toMatchObject({ status: 423 });
    await one.putFileContents("/a.txt", "mine", { headers: { If: `(<${token}>)` } });
    await one.unlock("/a.txt", `<${token}>`);
    await other.putFileContents("/a.txt", "second");
    expect(await one.getFileContents("/a.txt", { format: "text" })).toBe("second");
    const line = "a line of a stream\n";
    await new Promise<void>((resolve, reject) => {
      const stream = one.createWriteStream("/streamed #.txt", {}, () => resolve());
      stream.on("error", reject);
      for (let n = 0; n < 10_000; n += 1) stream.write(line);
      stream.end();
    });
    const read = (options?: CreateReadStreamOptions) =>
      text(one.createReadStream("/streamed #.txt", options) as Readable);
    expect(await read()).toBe(line.repeat(10_000));
    expect(await read({ range: { start: 2, end: 5 } })).toBe("line");
    await expect(open("wrong").getDirectoryContents("/")).rejects.toMatchObject({ status: 401 });
  },
);

clientStory(
  "the npm client webdav unlocks a file with the token as lock() gave it, without the brackets of RFC 4918",
  async (store) => {
    await using node = await sharedNode(store);
    const { client } = await openClient(node);
    await client.putFileContents("/a.txt", "first");
    const { token } = await client.lock("/a.txt");
    await client.unlock("/a.txt", token);
    expect(await client.putFileContents("/a.txt", "second")).toBe(true);
  },
);
