import { expect } from "bun:test";
import { createHash } from "node:crypto";
import { eachStore, everyStore, testNode } from "../support/node.ts";
import { codeOf, type S3Request, s3Client, s3Host, s3Options, s3Site, textsIn } from "../support/s3.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";
import { leftToAll } from "../support/tier.ts";
import { randomBytes } from "../support/tools.ts";
import { webdavSite } from "../support/webdav.ts";

const openNode = sharedNodes();
const md5 = (text: string) => `"${createHash("md5").update(text).digest("hex")}"`;

everyStore("an object is put, read, listed and deleted, with its metadata and checksum", async (options) => {
  await using node = await openNode({ ...options, ...s3Options });
  const { s3, put, bucket } = await s3Site(node);
  const path = `/${bucket}/docs/a%20file%2B.txt`;
  const stored = await put(path, "hello", {
    "content-type": "text/x-note",
    "cache-control": "max-age=60",
    "x-amz-meta-mtime": "1700000000.5",
    "x-amz-checksum-crc32c": "mnG7TA==",
  });
  expect(stored.status).toBe(200);
  expect(stored.headers.get("etag")).toBe(md5("hello"));
  const got = await s3({ path, headers: { "x-amz-checksum-mode": "ENABLED" } });
  expect(await got.text()).toBe("hello");
  expect(Object.fromEntries(got.headers)).toMatchObject({
    etag: md5("hello"),
    "content-type": "text/x-note",
    "cache-control": "max-age=60",
    "x-amz-meta-mtime": "1700000000.5",
    "x-amz-checksum-crc32c": "mnG7TA==",
    "x-amz-checksum-type": "FULL_OBJECT",
  });
  const head = await s3({ method: "HEAD", path });
  expect([head.status, head.headers.get("content-length"), head.headers.get("etag")]).toEqual([
    200,
    "5",
    md5("hello"),
  ]);
  const part = await s3({ path, headers: { range: "bytes=1-3" } });
  expect([part.status, await part.text(), part.headers.get("content-range")]).toEqual([
    206,
    "ell",
    "bytes 1-3/5",
  ]);
  expect(await codeOf(await s3({ path, headers: { range: "bytes=9-" } }))).toBe("416 InvalidRange");
  const listed = await (await s3({ path: `/${bucket}`, query: { "list-type": "2" } })).text();
  expect(textsIn(listed, "Key")).toEqual(["docs/a file+.txt"]);
  expect(textsIn(listed, "ETag")).toEqual([md5("hello").replaceAll('"', "&quot;")]);
  expect((await s3({ method: "DELETE", path })).status).toBe(204);
  expect((await s3({ method: "DELETE", path })).status).toBe(204);
  expect(await codeOf(await s3({ path }))).toBe("404 NoSuchKey");
});

everyStore("a wrong body is refused, and the old object stays", async (options) => {
  await using node = await openNode({ ...options, ...s3Options });
  const { s3, put, bucket } = await s3Site(node);
  const path = `/${bucket}/a`;
  expect((await put(path, "old")).status).toBe(200);
  const refused = async (headers: Record<string, string>, more: { payload?: string } = {}) =>
    codeOf(await s3({ method: "PUT", path, body: "new", headers, ...more }));
  expect(await refused({ "content-md5": createHash("md5").update("x").digest("base64") })).toBe(
    "400 BadDigest",
  );
  expect(await refused({ "content-md5": "short" })).toBe("400 InvalidDigest");
  expect(await refused({ "x-amz-checksum-sha256": createHash("sha256").update("x").digest("base64") })).toBe(
    "400 BadDigest",
  );
  expect(await refused({ "x-amz-checksum-crc64nvme": "AAAAAAAAAAA=" })).toBe("400 BadDigest");
  expect(await refused({}, { payload: createHash("sha256").update("x").digest("hex") })).toBe(
    "400 XAmzContentSHA256Mismatch",
  );
  expect(await refused({ "x-amz-acl": "public-read" })).toBe("501 NotImplemented");
  expect(await refused({ "if-none-match": "*" })).toBe("412 PreconditionFailed");
  expect(await refused({ "if-match": md5("other") })).toBe("412 PreconditionFailed");
  expect(await (await s3({ path })).text()).toBe("old");
  expect(
    await codeOf(await s3({ method: "PUT", path, body: "new", headers: { "if-match": md5("old") } })),
  ).toBe("200");
  expect(await (await s3({ path, payload: "UNSIGNED-PAYLOAD" })).text()).toBe("new");
});

everyStore(
  "a file has the same tag in every answer, that of its content only if S3 has put it",
  async (options) => {
    await using node = await openNode({ ...options, ...s3Options });
    const { dav } = await webdavSite(node);
    const { s3, put } = await s3Client(node);
    const path = `/${node.bucket}/a`;
    const tags = async () => {
      const listed = await (await s3({ path: `/${node.bucket}` })).text();
      return [
        (await s3({ path })).headers.get("etag"),
        (await s3({ method: "HEAD", path })).headers.get("etag"),
        textsIn(listed, "ETag")[0]?.replaceAll("&quot;", '"'),
      ];
    };
    await put(path, "one", { "x-amz-meta-a": "1" });
    expect(new Set(await tags())).toEqual(new Set([md5("one")]));
    await dav("PUT", "/a", {}, "two");
    const [tag, ...others] = await tags();
    expect(tag).toMatch(/^"[0-9a-f]{32}-1"$/);
    expect(others).toEqual([tag, tag]);
    expect((await s3({ path, headers: { "if-none-match": tag ?? "" } })).status).toBe(304);
    const copied = await s3({
      method: "PUT",
      path: `/${node.bucket}/b`,
      headers: { "x-amz-copy-source": `/${node.bucket}/a` },
    });
    expect(textsIn(await copied.text(), "ETag")).toEqual([md5("two").replaceAll('"', "&quot;")]);
    expect(await (await dav("GET", "/b")).text()).toBe("two");
  },
);

everyStore("lists are in the order of the bytes of keys, in pages that survive changes", async (options) => {
  await using node = await openNode({ ...options, ...s3Options });
  const { s3, put, bucket } = await s3Site(node);
  const keys = [
    "a!b",
    "a-b/x",
    "a-b/y",
    "a.txt",
    "a/b/c",
    "a/b.txt",
    "a/z",
    "a0",
    "b",
    "ä",
    "\u{ff21}",
    "😀",
  ];
  for (const key of keys)
    await put(`/${bucket}/${key.split("/").map(encodeURIComponent).join("/").replace("!", "%21")}`, "");
  const sorted = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const list = async (query: Record<string, string>) => {
    const text = await (await s3({ path: `/${bucket}`, query: { "list-type": "2", ...query } })).text();
    const prefixes = [...text.matchAll(/<CommonPrefixes><Prefix>([^<]*)</g)].map(([, prefix = ""]) => prefix);
    return { keys: textsIn(text, "Key"), prefixes, next: textsIn(text, "NextContinuationToken")[0] };
  };
  expect((await list({})).keys).toEqual(sorted);
  for (const size of ["1", "2", "5"]) {
    const found: string[] = [];
    let token: string | undefined;
    do {
      const page = await list({
        "max-keys": size,
        ...(token === undefined ? {} : { "continuation-token": token }),
      });
      found.push(...page.keys);
      token = page.next;
    } while (token !== undefined);
    expect(found).toEqual(sorted);
  }
  const flat = await list({ delimiter: "/" });
  expect(flat.prefixes).toEqual(["a-b/", "a/"]);
  expect(flat.keys).toEqual(sorted.filter((key) => !key.includes("/")));
  const pages: string[] = [];
  for (let token: string | undefined = ""; token !== undefined; ) {
    const page = await list({
      delimiter: "/",
      "max-keys": "1",
      ...(token === "" ? {} : { "continuation-token": token }),
    });
    pages.push(...page.keys, ...page.prefixes);
    token = page.next;
  }
  expect(pages.sort()).toEqual([...flat.keys, ...flat.prefixes].sort());
  expect((await list({ prefix: "a/" })).keys).toEqual(["a/b.txt", "a/b/c", "a/z"]);
  expect(await list({ prefix: "a/", delimiter: "/" })).toMatchObject({
    keys: ["a/b.txt", "a/z"],
    prefixes: ["a/b/"],
  });
  expect((await list({ prefix: "a-" })).keys).toEqual(["a-b/x", "a-b/y"]);
  expect((await list({ "start-after": "a-b/x" })).keys).toEqual(sorted.slice(sorted.indexOf("a-b/x") + 1));
  expect((await list({ "start-after": "a/b" })).keys).toEqual(sorted.slice(sorted.indexOf("a/b.txt")));
  expect(await list({ delimiter: "b" })).toMatchObject({ prefixes: ["a!b", "a-b", "a/b", "b"] });
  expect((await list({ prefix: "none/" })).keys).toEqual([]);
});

everyStore(
  "a folder is a key with a slash, and what a tree cannot hold is refused clearly",
  async (options) => {
    await using node = await openNode({ ...options, ...s3Options });
    const { s3, put, bucket } = await s3Site(node);
    expect((await put(`/${bucket}/x/y/`, "", { "x-amz-meta-mode": "16877" })).status).toBe(200);
    const head = await s3({ method: "HEAD", path: `/${bucket}/x/y/` });
    expect([head.status, head.headers.get("x-amz-meta-mode")]).toEqual([200, "16877"]);
    const listed = await (await s3({ path: `/${bucket}` })).text();
    expect(textsIn(listed, "Key")).toEqual(["x/y/"]);
    expect(await codeOf(await put(`/${bucket}/x/y`, "file"))).toBe("409 ExistingObjectIsDirectory");
    expect((await put(`/${bucket}/x/f`, "file")).status).toBe(200);
    expect(await codeOf(await put(`/${bucket}/x/f/g`, "file"))).toBe("409 ObjectParentIsFile");
    expect(await codeOf(await put(`/${bucket}/x/f/g/h`, "file"))).toBe("409 ObjectParentIsFile");
    expect(await codeOf(await put(`/${bucket}/x//z`, "file"))).toBe("400 InvalidArgument");
    expect(await codeOf(await put(`/${bucket}/x%5Cz`, "file"))).toBe("400 InvalidArgument");
    expect(await codeOf(await put(`/${bucket}/${"n".repeat(256)}`, "file"))).toBe("400 KeyTooLongError");
    expect(await codeOf(await s3({ path: `/${bucket}/x` }))).toBe("404 NoSuchKey");
    expect((await s3({ method: "DELETE", path: `/${bucket}/x/y/` })).status).toBe(204);
    expect(await codeOf(await s3({ method: "HEAD", path: `/${bucket}/x/y/` }))).toBe("404");
  },
);

everyStore("a lock of WebDAV keeps S3 out", async (options) => {
  await using node = await openNode({ ...options, ...s3Options });
  const { dav } = await webdavSite(node);
  const { s3, put } = await s3Client(node);
  const path = `/${node.bucket}/a`;
  await put(path, "one");
  const body = `<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>`;
  expect((await dav("LOCK", "/a", { timeout: "Second-60" }, body)).status).toBe(200);
  expect(await codeOf(await put(path, "two"))).toBe("409 OperationAborted");
  expect(await codeOf(await s3({ method: "DELETE", path }))).toBe("409 OperationAborted");
  expect(await (await s3({ path })).text()).toBe("one");
});

test("several objects are deleted at once, each with its own outcome", async () => {
  await using node = await openNode(s3Options);
  const { s3, put, bucket } = await s3Site(node);
  for (const key of ["a", "b", "d/e"]) await put(`/${bucket}/${key}`, "x");
  const document = `<Delete><Object><Key>a</Key></Object><Object><Key>d/e</Key></Object><Object><Key>n//o</Key></Object></Delete>`;
  const answer = await s3({ method: "POST", path: `/${bucket}`, query: { delete: "" }, body: document });
  const text = await answer.text();
  expect(textsIn(text, "Code")).toEqual(["InvalidArgument"]);
  expect(textsIn(text, "Key")).toEqual(["a", "d/e", "n//o"]);
  expect(textsIn(await (await s3({ path: `/${bucket}` })).text(), "Key")).toEqual(["b"]);
});

test("buckets are made, listed, found and deleted by tokens that may", async () => {
  await using node = await openNode(s3Options);
  const { s3, put } = await s3Client(node);
  const name = node.own("made");
  expect((await put(`/${name}`)).status).toBe(200);
  expect(await codeOf(await put(`/${name}`))).toBe("409 BucketAlreadyOwnedByYou");
  expect(await codeOf(await put("/a%20b"))).toBe("400 InvalidBucketName");
  expect((await s3({ method: "HEAD", path: `/${name}` })).headers.get("x-amz-bucket-region")).toBe(
    "us-east-1",
  );
  expect(await node.call("static-bucket_read", { token: node.superToken, name })).toMatchObject({
    public: false,
  });
  const other = await node.newToken([
    { scopes: [{ static_bucket: name }], permissions: [{ static_bucket_file: "read" }] },
  ]);
  const reader = await s3Client(node, other);
  expect(textsIn(await (await reader.s3({ path: "/" })).text(), "Name")).toEqual([name]);
  expect(await codeOf(await reader.s3({ path: `/${name}` }))).toBe("403 AccessDenied");
  expect(await codeOf(await reader.put(`/${name}/a`, "x"))).toBe("403 AccessDenied");
  expect(await codeOf(await reader.s3({ path: `/${node.own("none")}/a` }))).toBe("403 AccessDenied");
  expect(await codeOf(await reader.s3({ path: `/${name}/a` }))).toBe("404 NoSuchKey");
  await put(`/${name}/d/a`, "x");
  expect(await codeOf(await s3({ method: "DELETE", path: `/${name}` }))).toBe("409 BucketNotEmpty");
  await s3({ method: "DELETE", path: `/${name}/d/a` });
  expect(await codeOf(await s3({ method: "DELETE", path: `/${name}` }))).toBe("204");
  expect(await codeOf(await s3({ method: "HEAD", path: `/${name}` }))).toBe("404");
});

test("a bucket is named by the path or by the host name; without a signature nothing is told", async () => {
  await using node = await openNode({ env: { ...s3Options.env, NODE_SERVER_S3_ANONYMOUS: "true" } });
  const { s3, put, raw, bucket } = await s3Site(node);
  await put(`/${bucket}/a`, "content");
  const host = `${bucket}.${s3Host}`;
  expect(await (await s3({ path: "/a", host })).text()).toBe("content");
  expect(await codeOf(await raw({ path: `/${bucket}/a` }))).toBe("403 AccessDenied");
  expect(await codeOf(await raw({ path: `/${node.own("none")}/a` }))).toBe("403 AccessDenied");
  await node.call("static-bucket_update", { token: node.superToken, name: bucket, public: true });
  expect(await (await raw({ path: `/${bucket}/a` })).text()).toBe("content");
  expect(await codeOf(await raw({ path: `/${bucket}` }))).toBe("403 AccessDenied");
  expect(await codeOf(await raw({ path: `/${bucket}/a`, method: "PUT", body: "x" }))).toBe(
    "403 AccessDenied",
  );
});

everyStore("what is read often is answered from memory, and never when it has changed", async (options) => {
  await using node = await openNode({ ...options, ...s3Options });
  const { s3, put, bucket } = await s3Site(node);
  const path = `/${bucket}/a`;
  const read = async () => {
    const answer = await s3({ path });
    return [await answer.text(), answer.headers.get("etag"), answer.headers.get("x-amz-meta-a")];
  };
  await put(path, "one", { "x-amz-meta-a": "1" });
  for (let n = 0; n < 4; n += 1) expect(await read()).toEqual(["one", md5("one"), "1"]);
  expect((await s3({ path, headers: { "if-none-match": md5("one").replaceAll('"', "") } })).status).toBe(304);
  expect(await codeOf(await s3({ path, headers: { "if-match": md5("two") } }))).toBe(
    "412 PreconditionFailed",
  );
  expect(await (await s3({ path, headers: { range: "bytes=-2" } })).text()).toBe("ne");
  expect((await s3({ path, query: { "response-content-type": "text/x" } })).headers.get("content-type")).toBe(
    "text/x",
  );
  const copied = await s3({
    method: "PUT",
    path,
    headers: {
      "x-amz-copy-source": `${bucket}/a`,
      "x-amz-metadata-directive": "REPLACE",
      "x-amz-meta-a": "2",
    },
  });
  expect(copied.status).toBe(200);
  for (let n = 0; n < 3; n += 1) expect(await read()).toEqual(["one", md5("one"), "2"]);
  await put(path, "two");
  for (let n = 0; n < 3; n += 1) expect(await read()).toEqual(["two", md5("two"), null]);
});

everyStore("pages with a delimiter inside of names have every key once", async (options) => {
  await using node = await openNode({ ...options, ...s3Options });
  const { s3, put, bucket } = await s3Site(node);
  const keys = ["foo-", "foo-a", "foo-b-1", "foo-b-2", "foo-d/e-1/x", "foo-d/e-2", "foo-d/f", "zed"];
  for (const key of keys) await put(`/${bucket}/${key}`, "x");
  const list = async (query: Record<string, string>) => {
    const text = await (await s3({ path: `/${bucket}`, query: { "list-type": "2", ...query } })).text();
    const found = [...text.matchAll(/<Key>([^<]*)|<CommonPrefixes><Prefix>([^<]*)/g)];
    return {
      found: found.map(([, key, common]) => key ?? common ?? ""),
      next: textsIn(text, "NextContinuationToken")[0],
    };
  };
  const pages = async (query: Record<string, string>) => {
    const found: string[] = [];
    for (let token: string | undefined = ""; token !== undefined; ) {
      const page = await list({
        ...query,
        "max-keys": "1",
        ...(token !== "" && { "continuation-token": token }),
      });
      found.push(...page.found);
      token = page.next;
    }
    return found.sort();
  };
  const within = { prefix: "foo-", delimiter: "-" };
  const expected = ["foo-", "foo-a", "foo-b-", "foo-d/e-", "foo-d/f"];
  expect((await list(within)).found.sort()).toEqual(expected);
  expect(await pages(within)).toEqual(expected);
  expect(await pages({ delimiter: "-" })).toEqual(["foo-", "zed"]);
  expect(await pages({ delimiter: "o-" })).toEqual(["foo-", "zed"]);
});

test("a header that could not be answered is not taken", async () => {
  await using node = await openNode(s3Options);
  const { s3, put, bucket } = await s3Site(node);
  const path = `/${bucket}/a`;
  expect(await codeOf(await put(path, "x", { "x-amz-meta-a": "a\x7fb" }))).toBe("400 InvalidArgument");
  expect(await codeOf(await put(path, "x", { "content-type": "text/\x7f" }))).toBe("400 InvalidArgument");
  expect(await codeOf(await s3({ path }))).toBe("404 NoSuchKey");
});

everyStore("a bucket that is deleted can be made again by the token that made it", async (options) => {
  await using node = await openNode({ ...options, ...s3Options });
  const name = node.own("made");
  const token = await node.newToken([
    {
      scopes: [{ static_bucket: name }],
      permissions: [
        ...["write", "delete"].map((one) => ({ static_bucket: one })),
        ...["read", "write", "list", "delete"].map((one) => ({ static_bucket_file: one })),
      ],
    },
  ]);
  const { s3, put } = await s3Client(node, token);
  // The owner of a new bucket could restore what was deleted of the old one.
  const afterFiles = node.store === "disk" ? "200" : "409 BucketAlreadyExists";
  const authorization = `Basic ${Buffer.from(node.superToken).toString("base64")}`;
  const dav = (method: string, path: string) =>
    fetch(`${node.url}/node/static-webdav/${name}${path}`, { method, headers: { authorization } });
  const bucket = (method: string, path = `/${name}`) => s3({ method, path });
  expect(await codeOf(await bucket("PUT"))).toBe("200");
  expect((await dav("MKCOL", "/a")).status).toBe(201);
  expect((await dav("MKCOL", "/a/b")).status).toBe(201);
  expect((await put(`/${name}/c/`)).status).toBe(200);
  expect(await codeOf(await bucket("DELETE"))).toBe("409 BucketNotEmpty");
  expect((await dav("HEAD", "/a/b")).status).toBe(200);
  expect((await bucket("DELETE", `/${name}/c/`)).status).toBe(204);
  expect((await bucket("DELETE")).status).toBe(204);
  expect(await codeOf(await bucket("PUT"))).toBe("200");
  await put(`/${name}/a`, "content");
  expect((await bucket("DELETE", `/${name}/a`)).status).toBe(204);
  expect((await bucket("DELETE")).status).toBe(204);
  expect(await codeOf(await bucket("PUT"))).toBe(afterFiles);
});

leftToAll(eachStore)(
  "a copy of a large object holds little of it in memory",
  async (options) => {
    await using node = await testNode({ ...options, ...s3Options });
    const { s3, bucket } = await s3Site(node);
    const path = `/${bucket}/big`;
    const part = randomBytes(16 * 1024 * 1024);
    const partCount = 16;
    const begun = await s3({ method: "POST", path, query: { uploads: "" } });
    const uploadId = textsIn(await begun.text(), "UploadId")[0] ?? "";
    const parts: string[] = [];
    for (let number = 1; number <= partCount; number += 1) {
      const query = { partNumber: String(number), uploadId };
      const { headers } = await s3({ method: "PUT", path, query, body: part });
      const tag = (headers.get("etag") ?? "").replaceAll('"', "");
      parts.push(`<Part><PartNumber>${number}</PartNumber><ETag>${tag}</ETag></Part>`);
    }
    const body = `<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`;
    expect((await s3({ method: "POST", path, query: { uploadId }, body })).status).toBe(200);
    Bun.gc(true);
    const before = process.memoryUsage.rss();
    let highest = before;
    const watch = setInterval(() => {
      highest = Math.max(highest, process.memoryUsage.rss());
    }, 5);
    const source = { "x-amz-copy-source": path };
    const copied = await s3({ method: "PUT", path: `/${bucket}/copy`, headers: source });
    clearInterval(watch);
    const whole = createHash("md5");
    for (let number = 1; number <= partCount; number += 1) whole.update(part);
    expect(textsIn(await copied.text(), "ETag")).toEqual([`&quot;${whole.digest("hex")}&quot;`]);
    expect((highest - before) / part.length).toBeLessThan(partCount - 2);
  },
  60_000,
);

test("each operation needs its own permission, and each change is in the audit log and in the trash", async () => {
  const keeping = { logging: 'memory_log_filter = "info"', top: "keep_removed_days = 7\n" };
  await using node = await testNode({ ...s3Options, ...keeping });
  const { put, bucket } = await s3Site(node);
  const path = `/${bucket}/a`;
  await put(path, "old");
  const requests = {
    read: [{ path }, "200", []],
    list: [{ path: `/${bucket}` }, "200", []],
    write: [{ method: "PUT", path, body: "new" }, "200", ["file.written"]],
    delete: [{ method: "DELETE", path }, "204", ["file.deleted"]],
  } satisfies Record<string, [Partial<S3Request> & { path: string }, string, string[]]>;
  const audited = () => node.node.ring.entries().filter(({ target }) => target === "audit");
  for (const permission of Object.keys(requests)) {
    const permissions = [{ static_bucket_file: permission }];
    const { s3 } = await s3Client(
      node,
      await node.newToken([{ scopes: [{ static_bucket: bucket }], permissions }]),
    );
    for (const [needed, [request, allowed, events]] of Object.entries(requests)) {
      const before = audited().length;
      const answer = await codeOf(await s3(request));
      const entries = audited()
        .slice(before)
        .map(({ fields }) => fields.event);
      const expected = needed === permission ? [allowed, events] : ["403 AccessDenied", []];
      expect([permission, needed, answer, entries]).toEqual([permission, needed, ...expected]);
    }
  }
  const named = { token: node.superToken, name: bucket, path: "a" };
  expect(await node.call("static-bucket-file_history", named)).toHaveLength(2);
});
