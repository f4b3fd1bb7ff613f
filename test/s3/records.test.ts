import { expect } from "bun:test";
import { recordProperty, toRecordProperty } from "../../src/buckets/metadata/properties.ts";
import { treePath } from "../../src/buckets/path.ts";
import { readObject } from "../../src/http/s3/object-record.ts";
import { everyStore } from "../support/node.ts";
import { codeOf, s3Client, s3Options, s3Site } from "../support/s3.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";
import { webdavSite } from "../support/webdav.ts";

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
    return (await readObject({ metadata } as never, { path: treePath("a"), kind: "file", stats } as never))
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
    return ["etag", "content-type", "x-amz-meta-a", "x-amz-checksum-crc32"].map((name) => headers.get(name));
  };
  await put(at("/a"), "hello", {
    "content-type": "text/x-a",
    "x-amz-meta-a": "1",
    "x-amz-checksum-crc32": "NhCmhg==",
  });
  const known = ['"5d41402abc4b2a76b9719d911017c592"', "text/x-a", "1", "NhCmhg=="];
  expect(await shown("/a")).toEqual(known);
  const to = (path: string) => ({ destination: `${node.url}/node/static-webdav/${node.bucket}${path}` });
  expect((await dav("MOVE", "/a", to("/b"))).status).toBe(201);
  expect(await shown("/b")).toEqual(known);
  expect((await dav("COPY", "/b", to("/c"))).status).toBe(201);
  expect(await shown("/c")).toEqual(known);
  const date = "<D:getlastmodified>Sat, 01 Jan 2022 00:00:00 GMT</D:getlastmodified>";
  const body = `<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop>${date}</D:prop></D:set></D:propertyupdate>`;
  expect((await dav("PROPPATCH", "/c", {}, body)).status).toBe(207);
  expect(await shown("/c")).toEqual(known);
  // A long record is kept too, wherever it is.
  const long = "x".repeat(6000);
  await put(at("/c"), "hello", { "x-amz-meta-a": long });
  expect((await shown("/c")).slice(0, 3)).toEqual([known[0], expect.any(String), long]);
  await put(at("/c"), "hello");
  expect((await shown("/c"))[2]).toBeNull();
  for (const path of ["/b", "/c"]) {
    await dav("PUT", path, {}, "other");
    const [etag, ...rest] = await shown(path);
    expect(etag).toMatch(/-1"$/);
    expect(rest.slice(1)).toEqual([null, null]);
  }
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
