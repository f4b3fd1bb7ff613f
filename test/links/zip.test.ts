import { expect } from "bun:test";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CentralDirectory, centralHeader, localHeader, type Member } from "../../src/http/zip.ts";
import { eachStore, type TestNode } from "../support/node.ts";
import { openFilesBelow } from "../support/open-files.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";
import { leftToAll } from "../support/tier.ts";
import { inSite, linkSite, notValid, until } from "./link-site.ts";

const sharedNode = sharedNodes();
const further = leftToAll(test);

interface Read {
  readonly bad: string | null;
  readonly infos: ReadonlyArray<{
    name: string;
    size: number;
    compressed: number;
    offset: number;
    at: number[];
    sha: string;
  }>;
}

/** What Python's zipfile reads of an archive, and what Info-ZIP says of it. */
async function readBack(archive: Uint8Array, { content = true } = {}): Promise<Read> {
  const folder = await mkdtemp(join(tmpdir(), "node-server-zip-"));
  try {
    const file = join(folder, "x.zip");
    await writeFile(file, archive);
    const script = `
import hashlib, json, sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
content = sys.argv[2] == "true"
print(json.dumps({"bad": z.testzip() if content else None, "infos": [{"name": i.filename, "size": i.file_size, "compressed": i.compress_size,
  "offset": i.header_offset, "at": list(i.date_time), "sha": hashlib.sha256(z.read(i)).hexdigest() if content else ""} for i in z.infolist()]}))`;
    const python = Bun.spawnSync(["python3", "-c", script, file, String(content)]);
    expect(python.stderr.toString()).toBe("");
    if (content && Bun.which("unzip") === null)
      console.log("SKIPPED: archives needs unzip (apt install unzip)");
    else if (content) {
      const unzip = Bun.spawnSync(["unzip", "-tqq", file]);
      expect([unzip.exitCode, unzip.stderr.toString()]).toEqual([0, ""]);
    }
    return JSON.parse(python.stdout.toString()) as Read;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function sha(content: string | Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(content).digest("hex");
}

const large = Buffer.alloc(900_000, "a line of text that repeats itself\n");
const noise = crypto.getRandomValues(new Uint8Array(65_000));
const files = {
  "docs/år 2026/été #1.txt": "small",
  "docs/large.txt": large,
  "docs/photo.jpg": Buffer.concat([noise, noise, noise]),
  "docs/empty": "",
  "docs/text.html": "<p>".repeat(500),
  "docs/sub/deep/x": "x",
  "other/secret.txt": "not in the archive",
};

eachStore("a folder is downloaded as a ZIP archive by a link, and every reader takes it", async (options) => {
  await using node = await sharedNode(options);
  const { make, ask } = await linkSite(node, files);
  const { address } = await make("docs", { zip: true });
  expect(address).toEndWith(`/${node.bucket}/docs/docs.zip`);
  const response = await ask(address);
  expect([
    response.status,
    response.headers.get("content-type"),
    response.headers.get("content-disposition"),
  ]).toEqual([200, "application/zip", "attachment; filename*=UTF-8''docs.zip"]);
  const { bad, infos } = await readBack(await response.bytes());
  expect(bad).toBeNull();
  const inDocs = Object.entries(files).filter(([path]) => path.startsWith("docs/"));
  const found = infos.filter(({ name }) => !name.endsWith("/"));
  expect(Object.fromEntries(found.map(({ name, sha }) => [name, sha]))).toEqual(
    Object.fromEntries(inDocs.map(([path, content]) => [path, sha(content)])),
  );
  expect(
    infos
      .filter(({ name }) => name.endsWith("/"))
      .map(({ name }) => name)
      .sort(),
  ).toEqual(["docs/", "docs/sub/", "docs/sub/deep/", "docs/år 2026/"]);
  const sizeOf = (name: string) => found.find((info) => info.name === name)?.compressed ?? 0;
  expect(sizeOf("docs/large.txt")).toBeLessThan(20_000);
  expect(sizeOf("docs/text.html")).toBeLessThan(100);
  expect(found[0]?.at[0]).toBeGreaterThan(2020);
  const head = await ask(address, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
  const whole = await readBack(await (await ask((await make("", { zip: true })).address)).bytes());
  expect(whole.infos.map(({ name }) => name)).toContain(`${node.bucket}/other/secret.txt`);
});

eachStore("an archive of a selection has what was selected, and what still exists", async (options) => {
  await using node = await sharedNode(options);
  const { make, refused, ask, answer } = await linkSite(node, files);
  const { address, id } = await make("docs", {
    zip: true,
    paths: ["empty", "sub/", "sub/deep/x", "text.html"],
  });
  expect(id).toBeString();
  const names = async () =>
    (await readBack(await (await ask(address)).bytes())).infos.map(({ name }) => name).sort();
  expect(await names()).toEqual([
    "docs/",
    "docs/empty",
    "docs/sub/",
    "docs/sub/deep/",
    "docs/sub/deep/x",
    "docs/text.html",
  ]);
  const remove = (path: string) =>
    node.call("static-bucket-file_delete", { token: node.superToken, name: node.bucket, path });
  await remove("docs/empty");
  expect(await names()).toEqual([
    "docs/",
    "docs/sub/",
    "docs/sub/deep/",
    "docs/sub/deep/x",
    "docs/text.html",
  ]);
  const listed = await node.call("static-bucket_links", { token: node.superToken, name: node.bucket });
  expect(listed).toMatchObject([{ id, kind: "zip", path: "docs", selected: 3 }]);
  await node.call("static-bucket_unlink", { token: node.superToken, name: node.bucket, id });
  expect((await answer(address))[0]).toBe(410);
  const refusals = [
    await refused("docs", { zip: true, paths: ["../other/secret.txt"] }),
    await refused("docs", { zip: true, paths: ["missing"] }),
    await refused("docs", { zip: true, upload: true }),
    await refused("docs", { paths: ["empty"] }),
    await refused("missing", { zip: true }),
    await refused("docs/text.html", { zip: true }),
  ];
  expect(refusals.map(({ data }) => [data.kind, data.field])).toEqual([
    ["InvalidInput", "path"],
    ["NotFound", "paths"],
    ["InvalidInput", "zip"],
    ["InvalidInput", "paths"],
    ["NotFound", "path"],
    ["InvalidInput", "path"],
  ]);
});

eachStore(
  "a link to an archive opens that archive alone, while its token may read and list",
  async (options) => {
    await using node = await sharedNode(options);
    const { make, refused, ask, answer } = await linkSite(node, files);
    const { address } = await make("docs/sub", { zip: true });
    const code = address.split("/")[3];
    for (const path of ["docs/docs.zip", `${node.bucket}.zip`, "docs/sub/", "docs/sub", "docs/large.txt"])
      expect([path, ...(await answer(`/node/link/${code}/${node.bucket}/${path}`))]).toEqual([
        path,
        404,
        notValid,
      ]);
    const reader = await node.newToken(inSite(node, "read"));
    const denied = await refused("docs", { zip: true, token: reader });
    expect(denied.data).toMatchObject({
      reason: "missing_permission",
      permissions: [{ static_bucket_file: "list" }],
      scope: { static_bucket: node.bucket },
    });
    const target_token = await node.newToken(inSite(node, "read", "list"));
    const ofToken = await make("docs", { zip: true, token: target_token });
    expect((await ask(ofToken.address, { method: "HEAD" })).status).toBe(200);
    await node.call("token_edit", { token: node.superToken, target_token, limit: inSite(node, "read") });
    expect(await answer(ofToken.address)).toEqual([404, notValid]);
    const counted = await make("docs", { zip: true, max_downloads: 1 });
    expect((await (await ask(counted.address)).bytes()).length).toBeGreaterThan(0);
    expect((await ask(counted.address)).status).toBe(410);
  },
);

/** Whether the whole answer arrives. */
async function arrives(response: Response): Promise<boolean> {
  return response.bytes().then(
    () => true,
    () => false,
  );
}

test("an archive breaks off visibly when a file cannot be read to its end, and follows no symbolic link", async () => {
  await using node = await sharedNode();
  const { make, ask, folder } = await diskSite(node);
  await symlink("/etc", join(folder, "docs/outside"));
  await symlink("/etc/hostname", join(folder, "docs/name"));
  const { address } = await make("docs", { zip: true });
  const { infos } = await readBack(await (await ask(address)).bytes());
  expect(infos.map(({ name }) => name)).toEqual(["docs/", "docs/a.txt", "docs/b.bin"]);
  // Larger than what the sockets hold, so that most of it is unread when it becomes shorter.
  await writeFile(join(folder, "docs/b.bin"), Buffer.alloc(64 * 1024 * 1024));
  const response = await ask(address);
  await writeFile(join(folder, "docs/b.bin"), "short", { flag: "r+" });
  await Bun.spawn(["truncate", "-s", "5", join(folder, "docs/b.bin")]).exited;
  expect(await arrives(response)).toBe(false);
});

test("a client that leaves ends the making of its archive", async () => {
  await using node = await sharedNode();
  const { make, ask, folder } = await diskSite(node);
  await writeFile(join(folder, "docs/b.bin"), Buffer.alloc(64 * 1024 * 1024));
  const { address } = await make("docs", { zip: true });
  const left = new AbortController();
  const response = await ask(address, { signal: left.signal });
  await response.body?.getReader().read();
  const open = async () => openFilesBelow(join(folder, "docs/b.bin")).length;
  await until(open, 1);
  left.abort();
  await until(open, 0);
});

async function diskSite(node: TestNode) {
  const site = await linkSite(node, { "docs/a.txt": "a", "docs/b.bin": "b" });
  const folder = join(node.folder, "static", node.bucket);
  await mkdir(folder, { recursive: true });
  return { ...site, folder };
}

further("archives beyond the limits of the old format have the records of ZIP64", async () => {
  const directory = new CentralDirectory();
  const parts: Uint8Array[] = [];
  let offset = 0;
  const member = (name: string, isLarge: boolean): Member => ({
    name: Buffer.from(name),
    kind: "file",
    modifiedMs: Date.UTC(2026, 1, 3, 4, 5, 6),
    method: "stored",
    hasDescriptor: false,
    isLarge,
  });
  for (let count = 0; count < 66_000; count += 1) {
    const one = member(`f${count}`, false);
    const header = localHeader(one);
    directory.add(centralHeader(one, { crc: 0, compressed: 0, size: 0 }, { offset }));
    parts.push(header);
    offset += header.length;
  }
  const huge = { crc: 1, compressed: 5_000_000_000, size: 6_000_000_000 };
  directory.add(centralHeader(member("huge", true), huge, { offset: 7_000_000_000 }));
  const { infos } = await readBack(Buffer.concat([...parts, ...directory.pieces(offset)]), {
    content: false,
  });
  expect(infos.length).toBe(66_001);
  expect(infos[65_999]?.name).toBe("f65999");
  expect(infos[66_000]).toMatchObject({
    size: 6_000_000_000,
    compressed: 5_000_000_000,
    offset: 7_000_000_000,
    at: [2026, 2, 3, 4, 5, 6],
  });
});
