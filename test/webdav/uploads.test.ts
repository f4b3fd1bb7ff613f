import { expect } from "bun:test";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { Wire } from "../support/hostile.ts";
import { configText, eachStore, type TestNode, type TestNodeOptions, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { storedSite } from "../support/stored-site.ts";
import { test } from "../support/test.ts";
import { until } from "../support/until.ts";
import { mounted, openSite } from "../support/webdav-disk.ts";

const sharedNode = sharedNodes();

async function openUploads(node: TestNode, files: Record<string, string> = {}) {
  const site = await storedSite(node, files);
  return {
    ...site,
    /** A PUT with this head, of which no byte of the body is sent yet. */
    async begin(path: string, ...headers: string[]): Promise<Wire> {
      const wire = await Wire.open(node.url);
      const all = [`Authorization: ${site.authorization}`, "Host: here", ...headers];
      wire.write(`PUT /node/static-webdav/${node.bucket}${path} HTTP/1.1\r\n${all.join("\r\n")}\r\n\r\n`);
      return wire;
    },
  };
}

/** What uploads left behind: every file below `static_path` that is not of a bucket, or unfinished blobs. */
function strays(node: TestNode): string[] {
  if (node.store !== "disk") {
    const unfinished = join(node.folder, "blobs/unfinished");
    return readdirSync(unfinished).map((name) => join(unfinished, name));
  }
  const folder = join(node.folder, "static");
  const found = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = found
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name));
  return files.filter((path) => !/^site(_\d+)?\//.test(relative(folder, path)));
}

/** Undefined when it has been moved to its place since it was listed. */
const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size;

const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

eachStore(
  "a file is taken with its length told, in chunks, and empty; 201 when it is new, 204 when it was there, always with the tag that GET and plain HTTP give",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav, bytes: stored } = await openUploads(node);
    const bytes = new Uint8Array(3_000_001).map((_, index) => (index * 31 + (index >> 8)) % 251);
    const inPieces = () =>
      new ReadableStream({
        start(controller) {
          for (let from = 0; from < bytes.length; from += 77_777)
            controller.enqueue(bytes.slice(from, from + 77_777));
          controller.close();
        },
      });
    for (const [name, body, content] of [
      ["known.bin", () => bytes, bytes],
      ["pieces.bin", inPieces, bytes],
      ["empty.bin", () => new Uint8Array(), new Uint8Array()],
    ] as const) {
      const tags = new Set<string | null>();
      for (const status of [201, 204, 204]) {
        const answer = await dav("PUT", `/${name}`, {}, body());
        expect([name, answer.status, await answer.text()]).toEqual([name, status, ""]);
        const tag = answer.headers.get("etag");
        expect(tag).toMatch(/^"[^"]+"$/);
        const read = await dav("GET", `/${name}`);
        const plain = await fetch(`${node.url}/node/static/${node.bucket}/${name}`, {
          headers: { "accept-encoding": "identity" },
        });
        expect([read.headers.get("etag"), plain.headers.get("etag")]).toEqual([tag, tag]);
        for (const got of [await read.bytes(), await plain.bytes(), await stored(name)])
          expect(Buffer.from(content).equals(got)).toBe(true);
        tags.add(tag);
      }
      // The tag of an object is that of its content.
      expect(tags.size).toBe(node.store === "disk" ? 3 : 1);
    }
    expect(strays(node)).toEqual([]);
  },
);

eachStore(
  "the time that a client sends with a file becomes the file's, and this is told; what is not a time is refused",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav, stats } = await openUploads(node);
    const answer = await dav("PUT", "/a.txt", { "x-oc-mtime": "1234567890" }, "a");
    expect([answer.status, answer.headers.get("x-oc-mtime")]).toEqual([201, "accepted"]);
    expect((await stats("a.txt")).modifiedMs).toBe(1_234_567_890_000);
    const read = await dav("HEAD", "/a.txt");
    expect(read.headers.get("last-modified")).toBe("Fri, 13 Feb 2009 23:31:30 GMT");
    expect(read.headers.get("etag")).toBe(answer.headers.get("etag"));
    for (const time of ["soon", "", "1e99", "NaN"]) {
      const other = await dav("PUT", "/a.txt", { "x-oc-mtime": time }, "b");
      expect([time, other.status, other.headers.get("x-oc-mtime")]).toEqual([time, 400, null]);
    }
    expect((await stats("a.txt")).modifiedMs).toBe(1_234_567_890_000);
  },
);

eachStore("a body that is not what its digest says is refused, and the old file stays", async (store) => {
  await using node = await sharedNode(store);
  const { dav, text } = await openUploads(node, { "a.txt": "old" });
  const long = "a long body, in many pieces ".repeat(4000);
  const sum = (name: "md5" | "sha1" | "sha256" | "sha512" | "sha3-256", body: string) =>
    new Bun.CryptoHasher(name).update(body);
  const headersOf = (body: string): ReadonlyArray<Record<string, string>> => [
    { "oc-checksum": `SHA1:${sum("sha1", body).digest("hex")}` },
    { "oc-checksum": `MD5:${sum("md5", body).digest("hex").toUpperCase()}` },
    { "oc-checksum": `SHA256:${sum("sha256", body).digest("hex")}` },
    { "oc-checksum": `SHA3-256:${sum("sha3-256", body).digest("hex")}` },
    { "oc-checksum": `Adler32:${Bun.hash.adler32(body).toString(16)}` },
    { "content-md5": sum("md5", body).digest("base64") },
    { "repr-digest": `sha-256=:${sum("sha256", body).digest("base64")}:` },
    { "repr-digest": `sha-256=:${sum("sha256", body).digest("base64")}:;x=1;y="a,b"` },
    { "repr-digest": `SHA-256=:${sum("sha256", body).digest("base64")}:` },
    { "content-digest": `unixsum=:AAA=:, sha-512=:${sum("sha512", body).digest("base64")}:` },
  ];
  for (const body of ["short", long])
    for (const headers of headersOf(body)) {
      for (const changed of [`${body}!`, body.replace("o", "0")]) {
        const refused = await dav("PUT", "/a.txt", headers, changed);
        expect([headers, refused.status, refused.headers.get("x-error-reason")]).toEqual([
          headers,
          400,
          "digest_mismatch",
        ]);
      }
      expect(await text("a.txt")).toBe("old");
      expect([headers, (await dav("PUT", "/b.txt", headers, body)).status < 300]).toEqual([headers, true]);
      expect(await text("b.txt")).toBe(body);
    }
  for (const headers of [
    { "content-md5": "no digest" },
    { "oc-checksum": "SHA1:abc!" },
    { "oc-checksum": "MD5:" },
    { "repr-digest": "sha-256" },
    { "repr-digest": "sha-256=abc" },
    { "repr-digest": "sha-256=:;x=1" },
    { "repr-digest": "sha-256=:YWJj:" },
  ] as Record<string, string>[])
    expect([headers, (await dav("PUT", "/a.txt", headers, "x")).status]).toEqual([headers, 400]);
  // Algorithms of others are theirs.
  for (const headers of [{ "oc-checksum": "CRC9:12" }, { "repr-digest": "id-sha-9=:YWJj:" }] as Record<
    string,
    string
  >[])
    expect((await dav("PUT", "/c.txt", headers, "x")).status).toBeLessThan(300);
  expect(strays(node)).toEqual([]);
});

eachStore(
  "an upload that trickles in is taken whole, and until its last byte everybody reads the old file",
  async (store) => {
    await using node = await testNode(store);
    const { begin, dav, text } = await openUploads(node, { "a.txt": "old" });
    const content = "trickled in byte by byte".repeat(3);
    using known = await begin("/a.txt", `Content-Length: ${content.length}`);
    using pieces = await begin("/b.txt", "Transfer-Encoding: chunked");
    for (const letter of content) {
      known.write(letter);
      pieces.write(chunk(letter));
      await Bun.sleep(3);
      if (letter === "y") {
        expect(await (await dav("GET", "/a.txt")).text()).toBe("old");
        expect((await dav("GET", "/b.txt")).status).toBe(404);
      }
    }
    await until("all bytes of the second are on the disk", () =>
      strays(node).some((path) => sizeOf(path) === content.length),
    );
    // But not the word that it is complete.
    expect((await dav("GET", "/b.txt")).status).toBe(404);
    pieces.write("0\r\n\r\n");
    await known.hears(/^HTTP\/1\.1 204 /);
    await pieces.hears(/^HTTP\/1\.1 201 /);
    expect([await text("a.txt"), await text("b.txt")]).toEqual([content, content]);
  },
);

eachStore("an upload that is cut off leaves the old file, or none, and nothing else", async (store) => {
  await using node = await sharedNode(store);
  const { begin, exists, text, dav } = await openUploads(node, { "a.txt": "old" });
  const part = "x".repeat(300_000);
  for (const [path, header, body] of [
    ["/a.txt", "Content-Length: 1000000", part],
    ["/a.txt", "Transfer-Encoding: chunked", chunk(part)],
    ["/new.txt", "Content-Length: 1000000", part],
    ["/new.txt", "Transfer-Encoding: chunked", chunk(part)],
    ["/new.txt", "Content-Length: 1000000", ""],
  ] as const) {
    for (const how of ["destroyed", "half closed"]) {
      const wire = await begin(path, header);
      wire.write(body);
      if (body !== "")
        await until(`${path} ${header} ${how}: it is on its way`, () => strays(node).length === 1);
      if (how === "destroyed") wire[Symbol.dispose]();
      else wire.end();
      await until(`${path} ${header} ${how}: nothing is left of it`, () => strays(node).length === 0);
      expect(wire.heard).not.toMatch(/^HTTP\/1\.1 2/);
      wire[Symbol.dispose]();
      expect([await text("a.txt"), await exists("new.txt")]).toEqual(["old", false]);
    }
  }
  expect((await dav("PUT", "/a.txt", {}, "new")).status).toBe(204);
  expect(await text("a.txt")).toBe("new");
});

async function setLimit(node: TestNode, bytes: number): Promise<void> {
  const top = `static_path = ${JSON.stringify(join(node.folder, "static"))}\nmax_upload_size = ${bytes}\n`;
  await node.editConfig(configText(node.databaseUrl, { top, files: node.files }));
}

eachStore(
  "an upload above max_upload_size is refused before its body is sent, in chunks once it is above; a reload changes the limit",
  async (store) => {
    const options: TestNodeOptions = {
      ...store,
      top: "max_upload_size = 1000\n",
      logging: 'memory_log_filter = "info"',
    };
    await using node = await sharedNode(options);
    const { begin, dav, text } = await openUploads(node, { "a.txt": "old" });
    for (const limit of [1000, 5000]) {
      if (limit !== 1000) await setLimit(node, limit);
      for (const headers of [
        [`Content-Length: ${limit + 1}`],
        ["Content-Length: 99999999999999"],
        ["Transfer-Encoding: chunked", `X-Expected-Entity-Length: ${limit + 1}`],
      ]) {
        using wire = await begin("/a.txt", ...headers);
        await wire.hears(/^HTTP\/1\.1 413 [\s\S]*max_upload_size/);
      }
      using wire = await begin("/a.txt", "Transfer-Encoding: chunked");
      wire.write(chunk("x".repeat(limit)));
      await until("that much is on the disk", () => strays(node).some((path) => sizeOf(path) === limit));
      expect(wire.heard).toBe("");
      wire.write(chunk("x"));
      await wire.hears(/^HTTP\/1\.1 413 [\s\S]*max_upload_size/);
      expect([(await text("a.txt")).startsWith("x"), strays(node)]).toEqual([limit !== 1000, []]);
      expect((await dav("PUT", "/a.txt", {}, "x".repeat(limit))).status).toBe(204);
      expect((await text("a.txt")).length).toBe(limit);
    }
    await setLimit(node, 0);
    expect((await dav("PUT", "/a.txt", {}, "x".repeat(1_000_000))).status).toBe(204);
  },
);

eachStore("what cannot be a file is refused with its own status, and nothing is made", async (store) => {
  await using node = await sharedNode(store);
  const { dav, paths, text } = await openUploads(node, { "folder/in.txt": "in", "file.txt": "file" });
  const long = "n".repeat(256);
  for (const [path, headers, expected] of [
    ["/folder", {}, [405]],
    ["/folder/", {}, [405]],
    ["/", {}, [405]],
    ["", {}, [405]],
    ["/file.txt/below.txt", {}, [409]],
    ["/missing/a.txt", {}, [409]],
    ["/new/", {}, [400, 405, 409]],
    ["/a.txt", { "content-encoding": "gzip" }, [415]],
    ["/file.txt", { "content-encoding": "br" }, [415]],
    ["/file.txt", { "content-range": "bytes 0-2/10" }, [400]],
    [`/${long}`, {}, [400, 409, 414]],
    [`/${"%C3%BC".repeat(128)}`, {}, [400, 409, 414]],
    [`/folder/${long}`, {}, [400, 409, 414]],
  ] as const) {
    const answer = await dav("PUT", path, headers, "new");
    const right = expected.some((status) => status === answer.status);
    expect([path, answer.status, right]).toEqual([path, answer.status, true]);
    expect(await answer.text()).toMatch(/[a-z]{3}/);
    if (answer.status === 405) expect(answer.headers.get("allow")).toContain("PROPFIND");
    expect(await paths()).toEqual(["file.txt", "folder", "folder/in.txt"]);
    expect(strays(node)).toEqual([]);
  }
  expect([await text("file.txt"), await text("folder/in.txt")]).toEqual(["file", "in"]);
  expect((await dav("PUT", "/file.txt", { "content-encoding": "identity" }, "new")).status).toBe(204);
});

for (const place of ["static", "static/site"]) {
  test(`a disk that fills up at ${place} is a 507; the old file stays and nothing stray takes the last room`, async () => {
    await using node = await testNode();
    using disk = mounted("a full disk", join(node.folder, place), "size=512k");
    if (disk === undefined) return;
    const { dav, at, text } = await openSite(node, { "a.txt": "old" });
    const body = "x".repeat(2_000_000);
    const inPieces = () => new Response(body).body ?? body;
    for (const [path, content] of [
      ["/a.txt", body],
      ["/a.txt", inPieces()],
      ["/new.txt", body],
    ] as const) {
      const answer = await dav("PUT", path, {}, content);
      expect([answer.status, await answer.text()]).toEqual([507, expect.stringMatching(/full/)]);
      expect([text("a.txt"), readdirSync(at("")), strays(node)]).toEqual(["old", ["a.txt"], []]);
    }
    expect((await dav("PUT", "/a.txt", {}, "x".repeat(300_000))).status).toBe(204);
  });

  test(`a disk without room for a single name at ${place} is a 507, even for the first upload of all`, async () => {
    await using node = await testNode();
    using disk = mounted("a full disk", join(node.folder, place), "size=1m,nr_inodes=8");
    if (disk === undefined) return;
    const { dav, at } = await openSite(node);
    const fill = () => {
      for (let number = 0; number < 10; number += 1) writeFileSync(at(`fill-${number}`), "");
    };
    expect(fill).toThrow("ENOSPC");
    expect([(await dav("PUT", "/a.txt", {}, "a")).status, existsSync(at("a.txt"))]).toEqual([507, false]);
    expect([(await dav("MKCOL", "/folder")).status, existsSync(at("folder"))]).toEqual([507, false]);
    expect(strays(node)).toEqual([]);
  });

  test(`a read-only disk at ${place} is a 403 for every upload, even the first, and the files are still read`, async () => {
    await using node = await testNode();
    using disk = mounted("a read-only disk", join(node.folder, place), "size=1m");
    if (disk === undefined) return;
    const { dav, at } = await openSite(node, { "a.txt": "old" });
    disk.remount("ro");
    for (const [method, path, body] of [
      ["PUT", "/a.txt", "new"],
      ["PUT", "/new.txt", "new"],
      ["MKCOL", "/new", undefined],
      ["DELETE", "/a.txt", undefined],
    ] as const) {
      const answer = await dav(method, path, {}, body);
      expect([method, path, answer.status]).toEqual([method, path, 403]);
    }
    expect(await (await dav("GET", "/a.txt")).text()).toBe("old");
    expect([readdirSync(at("")), strays(node)]).toEqual([["a.txt"], []]);
  });
}
