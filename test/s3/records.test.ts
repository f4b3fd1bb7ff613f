import { expect } from "bun:test";
import { join } from "node:path";
import { recordProperty, toRecordProperty } from "../../src/buckets/metadata/properties.ts";
import { treePath } from "../../src/buckets/path.ts";
import { readObject } from "../../src/http/s3/object-record.ts";
import { everyStore, testNode } from "../support/node.ts";
import { codeOf, s3Client, s3Options, s3Site } from "../support/s3.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";
import { webdavSite } from "../support/webdav.ts";
import { mounted } from "../support/webdav-disk.ts";

const openNode = sharedNodes();

everyStore("WebDAV cannot change what S3 knows of a file", async (options) => {
  await using node = await openNode({ ...options, ...s3Options });
  const { dav } = await webdavSite(node);
  const { s3, put } = await s3Client(node);
  const path = `/${node.bucket}/a`;
  await put(path, "content", { "x-amz-meta-a": "1" });
  const shown = async () => (await s3({ path })).headers.get("x-amz-meta-a");
  for (let n = 0; n < 3; n += 1) expect(await shown()).toBe("1");
  const name = '<n:object xmlns:n="https://node-server.dev/s3">';
  const record = `${name}{&quot;headers&quot;:{&quot;set-cookie&quot;:&quot;a=b&quot;}}</n:object>`;
  for (const [change, content] of [
    ["set", record],
    ["remove", `${name}</n:object>`],
  ] as const) {
    const body = `<D:propertyupdate xmlns:D="DAV:"><D:${change}><D:prop>${content}</D:prop></D:${change}></D:propertyupdate>`;
    const answer = await (await dav("PROPPATCH", "/a", {}, body)).text();
    expect(answer).toContain("cannot-modify-protected-property");
    expect([change, await shown()]).toEqual([change, "1"]);
  }
});

test("a record that no PUT has made sets no header that a PUT cannot set", async () => {
  const stats = { etag: '"1"', size: 1, modifiedMs: 0, createdMs: 0 };
  const shown = async (headers: Record<string, string>) => {
    const properties = {
      isKnownEmpty: false,
      get: async () => ({ [recordProperty]: toRecordProperty({ headers }) }),
    };
    const metadata = { properties };
    return (await readObject({ metadata } as never, { path: treePath("a"), kind: "folder", stats } as never))
      .headers;
  };
  expect(await shown({ "x-amz-meta-b": "2" })).toEqual({ "x-amz-meta-b": "2" });
  expect(await shown({ "set-cookie": "a=b", "x-amz-meta-b": "2" })).toEqual({});
});

everyStore("whatever its type, no object runs in the origin of the server", async (options) => {
  await using node = await openNode({ ...options, ...s3Options });
  const { s3, put, bucket } = await s3Site(node);
  for (const type of ["text/html", "Text/HTML", "IMAGE/SVG+XML", "text/plain, text/html", "text/plain"]) {
    await put(`/${bucket}/a`, "<script>", { "content-type": type });
    const { headers } = await s3({ path: `/${bucket}/a` });
    expect([headers.get("content-type"), headers.get("content-security-policy")]).toEqual([type, "sandbox"]);
  }
});

everyStore("a PDF is not in a sandbox, in which no browser would show it", async (options) => {
  await using node = await openNode({ ...options, ...s3Options });
  const { s3, put, bucket } = await s3Site(node);
  const policy = async (type: string) => {
    await put(`/${bucket}/a`, "%PDF", { "content-type": type });
    return (await s3({ path: `/${bucket}/a` })).headers.get("content-security-policy");
  };
  expect(await policy("application/pdf")).toBe(null);
  expect(await policy("application/pdf; a=b")).toBe(null);
  expect(await policy("application/pdf, text/html")).toBe("sandbox");
});

everyStore("a header that no answer could repeat is refused", async (options) => {
  await using node = await openNode({ ...options, ...s3Options });
  const { s3, put, bucket } = await s3Site(node);
  const path = `/${bucket}/a`;
  await put(path, "old");
  for (const name of ["content-type", "x-amz-meta-a"])
    expect(await codeOf(await put(path, "new", { [name]: "text/x\x7fy" }))).toBe("400 InvalidArgument");
  expect(await (await s3({ path })).text()).toBe("old");
});

everyStore("what S3 knows of an object stays with its content", async (options) => {
  await using node = await openNode({ ...options, ...s3Options });
  const { dav } = await webdavSite(node);
  const { s3, put } = await s3Client(node);
  const at = (path: string) => `/${node.bucket}${path}`;
  const shown = async (path: string) => {
    const { headers } = await s3({
      method: "HEAD",
      path: at(path),
      headers: { "x-amz-checksum-mode": "ENABLED" },
    });
    const names = ["etag", "content-type", "x-amz-meta-a", "x-amz-checksum-crc32", "content-encoding"];
    return names.map((name) => headers.get(name));
  };
  const to = (path: string) => ({ destination: `${node.url}/node/static-webdav/${node.bucket}${path}` });
  const date = "<D:getlastmodified>Sat, 01 Jan 2022 00:00:00 GMT</D:getlastmodified>";
  const body = `<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop>${date}</D:prop></D:set></D:propertyupdate>`;
  // On plain files, a long record is a property.
  for (const metadata of ["1", "x".repeat(6000)]) {
    await put(at("/a"), "hello", {
      "content-type": "text/x-a",
      "content-encoding": "x-a",
      "x-amz-meta-a": metadata,
      "x-amz-checksum-crc32": "NhCmhg==",
    });
    const known = ['"5d41402abc4b2a76b9719d911017c592"', "text/x-a", metadata, "NhCmhg==", "x-a"];
    expect(await shown("/a")).toEqual(known);
    expect((await dav("MOVE", "/a", to("/b"))).status).toBe(201);
    expect(await shown("/b")).toEqual(known);
    expect((await dav("COPY", "/b", to("/c"))).status).toBe(201);
    expect(await shown("/c")).toEqual(known);
    expect((await dav("PROPPATCH", "/c", {}, body)).status).toBe(207);
    expect(await shown("/c")).toEqual(known);
    // Content of the same size and time is another one, too.
    const put2022 = { "x-oc-mtime": String(Date.parse("2022-01-01T00:00:00Z") / 1000) };
    expect((await dav("PUT", "/c", put2022, "other")).status).toBe(204);
    await put(at("/b"), "hello");
    expect((await shown("/b"))[2]).toBeNull();
    await dav("PUT", "/b", {}, "other");
    for (const path of ["/b", "/c"]) {
      const [etag, , ...rest] = await shown(path);
      expect(etag).toMatch(/-1"$/);
      expect(rest).toEqual([null, null, null]);
      await dav("DELETE", path);
    }
  }
});

everyStore(
  "a PUT is not refused for the properties of WebDAV, which end with their file",
  async (options) => {
    await using node = await openNode({ ...options, ...s3Options });
    const { dav } = await webdavSite(node);
    const { s3, put } = await s3Client(node);
    const path = `/${node.bucket}/a`;
    await put(path, "old");
    const property = `<b xmlns="x:">${"x".repeat(1_045_000)}</b>`;
    const body = `<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop>${property}</D:prop></D:set></D:propertyupdate>`;
    expect(await (await dav("PROPPATCH", "/a", {}, body)).text()).toContain("200 OK");
    const metadata = "y".repeat(6000);
    expect(await codeOf(await put(path, "new", { "x-amz-meta-a": metadata }))).toBe("200");
    const read = await s3({ path });
    expect([await read.text(), read.headers.get("x-amz-meta-a")]).toEqual(["new", metadata]);
  },
);

test("a version comes back to another file system with what S3 knows of it", async () => {
  await using node = await testNode({ ...s3Options, top: "keep_removed_days = 7\n" });
  using disk = mounted("another file system", join(node.folder, "static", node.bucket), "size=8m");
  if (disk === undefined) return;
  const { s3, put } = await s3Site(node);
  const path = `/${node.bucket}/a`;
  await put(path, "hello", { "content-type": "text/x-a", "x-amz-meta-a": "1" });
  await put(path, "newer");
  const named = { token: node.superToken, name: node.bucket, path: "a" };
  const [version] = (await node.call("static-bucket-file_history", named)) as Array<{ version: number }>;
  await node.call("static-bucket-file_restore", { ...named, version: version?.version });
  const { headers } = await s3({ method: "HEAD", path });
  expect(["etag", "content-type", "x-amz-meta-a"].map((name) => headers.get(name))).toEqual([
    '"5d41402abc4b2a76b9719d911017c592"',
    "text/x-a",
    "1",
  ]);
});

everyStore("plain HTTP, WebDAV and links show the headers that a file was put with", async (options) => {
  await using node = await openNode({ ...options, ...s3Options });
  const { dav } = await webdavSite(node);
  const { put } = await s3Client(node);
  const shown = async (response: Response, names: readonly string[]) => {
    await response.arrayBuffer();
    return [response.status, ...names.map((name) => response.headers.get(name))];
  };
  const http = (path: string) => fetch(`${node.url}/node/static/${node.bucket}${path}`);
  const names = ["content-type", "cache-control", "content-disposition", "x-amz-meta-a"];
  const headers = {
    "content-type": "text/x-note",
    "cache-control": "max-age=60",
    "content-disposition": 'attachment; filename="b.txt"',
    "x-amz-meta-a": "1",
  };
  const all = Object.values(headers);
  await put(`/${node.bucket}/app-Ba5e64f0.txt`, "hello".repeat(1000), headers);
  for (let n = 0; n < 3; n += 1)
    expect(await shown(await http("/app-Ba5e64f0.txt"), names)).toEqual([200, ...all]);
  expect(await shown(await dav("GET", "/app-Ba5e64f0.txt"), names)).toEqual([
    200,
    "text/plain; charset=utf-8",
    "no-cache",
    ...all.slice(2),
  ]);
  const link = (await node.call("static-bucket-file_link", {
    token: node.superToken,
    name: node.bucket,
    path: "app-Ba5e64f0.txt",
  })) as { address: string };
  expect(await shown(await fetch(node.url + link.address), ["content-type", "cache-control"])).toEqual([
    200,
    "text/x-note",
    "private, no-store",
  ]);
  // What is encoded is sent as it is.
  const zipped = Bun.gzipSync("hello".repeat(1000));
  await put(`/${node.bucket}/a.txt`, zipped, { "content-encoding": "gzip", "content-type": "text/plain" });
  for (let n = 0; n < 3; n += 1) {
    const encoded = await http("/a.txt");
    expect([await encoded.text(), encoded.headers.get("content-encoding")]).toEqual([
      "hello".repeat(1000),
      "gzip",
    ]);
  }
  // Nobody makes an image a page by its type.
  for (const type of [
    "text/html",
    "Image/SVG+xml; a=b",
    "text/xsl",
    "text/x+xml",
    "image/rdf+xml",
    "text/javascript",
    "text/css",
    "a/b, text/html",
    "binary/octet-stream",
  ]) {
    await put(`/${node.bucket}/photo.jpg`, "<script>", { "content-type": type });
    expect([type, ...(await shown(await http("/photo.jpg"), ["content-type"]))]).toEqual([
      type,
      200,
      "image/jpeg",
    ]);
  }
  await put(`/${node.bucket}/page.html`, "<p>", { "content-type": "application/octet-stream" });
  expect(await shown(await http("/page.html"), ["content-type"])).toEqual([200, "text/html; charset=utf-8"]);
  await dav("PUT", "/page.html", {}, "new");
  expect(await shown(await http("/page.html"), ["x-amz-meta-a"])).toEqual([200, null]);
});
