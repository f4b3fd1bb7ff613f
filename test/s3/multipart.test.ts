import { expect } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { eachWaitingStore, heldChanges } from "../support/held-changes.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { everyStore, type TestNode, testNode } from "../support/node.ts";
import { codeOf, s3Client, s3Options, s3Site, textsIn } from "../support/s3.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";
import { webdavSite } from "../support/webdav.ts";

const openNode = sharedNodes();
const md5 = (content: string | Buffer) => createHash("md5").update(content).digest("hex");
type Client = Pick<Awaited<ReturnType<typeof s3Site>>, "s3">;

async function begin({ s3 }: Client, path: string, headers: Record<string, string> = {}): Promise<string> {
  const answer = await s3({ method: "POST", path, query: { uploads: "" }, headers });
  return textsIn(await answer.text(), "UploadId")[0] ?? "";
}

function part({ s3 }: Client, path: string, of: { uploadId: string; number: number; body: string }) {
  const query = { partNumber: String(of.number), uploadId: of.uploadId };
  return s3({ method: "PUT", path, query, body: of.body });
}

function complete({ s3 }: Client, path: string, uploadId: string, parts: Array<[number, string]>) {
  const body = `<CompleteMultipartUpload>${parts
    .map(([number, etag]) => `<Part><PartNumber>${number}</PartNumber><ETag>"${etag}"</ETag></Part>`)
    .join("")}</CompleteMultipartUpload>`;
  return s3({ method: "POST", path, query: { uploadId }, body });
}

everyStore("parts arrive in any order, and become one object", async (options) => {
  await using node = await openNode({ ...options, ...s3Options });
  const site = await s3Site(node);
  const { s3, put, bucket } = site;
  const path = `/${bucket}/d/whole`;
  const uploadId = await begin(site, path, { "content-type": "text/x-whole", "x-amz-meta-a": "1" });
  const send = async (number: number, body: string) =>
    expect((await part(site, path, { uploadId, number, body })).headers.get("etag")).toBe(`"${md5(body)}"`);
  await send(7, "seven");
  await send(2, "wrong");
  await send(2, "two");
  await put(`/${bucket}/source`, "0123456789");
  const copied = await s3({
    method: "PUT",
    path,
    query: { partNumber: "9", uploadId },
    headers: { "x-amz-copy-source": `${bucket}/source`, "x-amz-copy-source-range": "bytes=3-5" },
  });
  expect(textsIn(await copied.text(), "ETag")).toEqual([`&quot;${md5("345")}&quot;`]);
  const listed = await (await s3({ path, query: { uploadId, "max-parts": "2" } })).text();
  expect(textsIn(listed, "PartNumber")).toEqual(["2", "7"]);
  expect(textsIn(listed, "NextPartNumberMarker")).toEqual(["7"]);
  const uploads = await (await s3({ path: `/${bucket}`, query: { uploads: "" } })).text();
  expect(textsIn(uploads, "UploadId")).toEqual([uploadId]);
  expect(await codeOf(await s3({ path }))).toBe("404 NoSuchKey");
  const parts: Array<[number, string]> = [
    [2, md5("two")],
    [7, md5("seven")],
    [9, md5("345")],
  ];
  expect(await codeOf(await complete(site, path, uploadId, [...parts].reverse()))).toBe(
    "400 InvalidPartOrder",
  );
  expect(await codeOf(await complete(site, path, uploadId, [[2, md5("wrong")]]))).toBe("400 InvalidPart");
  const etag = `${md5(Buffer.concat(parts.map(([, one]) => Buffer.from(one, "hex"))))}-3`;
  for (const attempt of ["first", "again"]) {
    const answer = await (await complete(site, path, uploadId, parts)).text();
    expect([attempt, ...textsIn(answer, "ETag")]).toEqual([attempt, `&quot;${etag}&quot;`]);
  }
  const whole = await s3({ path });
  expect(await whole.text()).toBe("twoseven345");
  expect([
    whole.headers.get("etag"),
    whole.headers.get("content-type"),
    whole.headers.get("x-amz-meta-a"),
  ]).toEqual([`"${etag}"`, "text/x-whole", "1"]);
  const second = await s3({ path, query: { partNumber: "2" } });
  expect([second.status, await second.text(), second.headers.get("x-amz-mp-parts-count")]).toEqual([
    206,
    "seven",
    "3",
  ]);
  expect(
    textsIn(await (await s3({ path: `/${bucket}`, query: { uploads: "" } })).text(), "UploadId"),
  ).toEqual([]);
});

everyStore("an aborted upload leaves nothing, and nobody else can use one", async (options) => {
  await using node = await openNode({ ...options, ...s3Options });
  const site = await s3Site(node);
  const { s3, bucket } = site;
  const path = `/${bucket}/a`;
  const uploadId = await begin(site, path);
  await part(site, path, { uploadId, number: 1, body: "content" });
  const token = await node.newToken([
    {
      scopes: [{ static_bucket: bucket }],
      permissions: [{ static_bucket_file: "write" }, { static_bucket_file: "list" }],
    },
  ]);
  const other = await s3Client(node, token);
  expect(await codeOf(await part(other, path, { uploadId, number: 2, body: "x" }))).toBe("404 NoSuchUpload");
  expect(
    textsIn(await (await other.s3({ path: `/${bucket}`, query: { uploads: "" } })).text(), "UploadId"),
  ).toEqual([]);
  expect((await s3({ method: "DELETE", path, query: { uploadId } })).status).toBe(204);
  expect(await codeOf(await part(site, path, { uploadId, number: 2, body: "x" }))).toBe("404 NoSuchUpload");
  expect(await codeOf(await complete(site, path, uploadId, [[1, md5("content")]]))).toBe("404 NoSuchUpload");
  if (node.store === "disk") expect(namesIn(join(node.folder, "static", "~uploads"))).not.toContain(uploadId);
});

everyStore("a Complete that is sent again does not replace a newer object", async (options) => {
  await using node = await openNode({ ...options, ...s3Options });
  const site = await s3Site(node);
  const { s3, put, bucket } = site;
  const path = `/${bucket}/a`;
  const content = Buffer.alloc(8 * 1024 * 1024, "part");
  for (const delayMs of [5, 20]) {
    const uploadId = await begin(site, path);
    const query = { partNumber: "1", uploadId };
    await s3({ method: "PUT", path, query, body: content });
    const first = complete(site, path, uploadId, [[1, md5(content)]]);
    await Bun.sleep(delayMs);
    const second = complete(site, path, uploadId, [[1, md5(content)]]);
    expect((await first).status).toBe(200);
    expect((await put(path, "newer")).status).toBe(200);
    const answer = await second;
    expect([answer.status, await (await s3({ path })).text()]).toEqual([200, "newer"]);
  }
});

eachWaitingStore(
  "a PUT between two Completes of an upload is not replaced by the second",
  async (options) => {
    await using node = await openNode({ ...options, ...s3Options, top: "keep_removed_days = 7\n" });
    const dav = await webdavSite(node);
    await dav.dav("MKCOL", "/from");
    const site = await s3Client(node);
    const path = `/${node.bucket}/from/a`;
    const uploadId = await begin(site, path);
    await part(site, path, { uploadId, number: 1, body: "content" });
    // In whatever order they come to their turn, the second Complete changes nothing.
    const answers = await heldChanges(node, dav, {
      send: () => [
        complete(site, path, uploadId, [[1, md5("content")]]),
        site.put(path, "newer"),
        complete(site, path, uploadId, [[1, md5("content")]]),
      ],
      meanwhile: async () => {},
    });
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const history = await node.call("static-bucket-file_history", {
      token: node.superToken,
      name: node.bucket,
      path: "from/a",
    });
    expect(history).toHaveLength(1);
  },
);

eachWaitingStore("a Complete that waited while its upload was aborted changes nothing", async (options) => {
  await using node = await openNode({ ...options, ...s3Options });
  const dav = await webdavSite(node);
  await dav.dav("MKCOL", "/from");
  const site = await s3Client(node);
  const path = `/${node.bucket}/from/a`;
  const uploadId = await begin(site, path);
  await part(site, path, { uploadId, number: 1, body: "content" });
  const [answer] = await heldChanges(node, dav, {
    send: () => [complete(site, path, uploadId, [[1, md5("content")]])],
    meanwhile: async () =>
      expect((await site.s3({ method: "DELETE", path, query: { uploadId } })).status).toBe(204),
  });
  expect(answer && (await codeOf(answer))).toBe("404 NoSuchUpload");
  expect(await codeOf(await site.s3({ path }))).toBe("404 NoSuchKey");
});

test("a Complete whose outcome could not be written is not done again over a newer object", async () => {
  await using node = await testNode(s3Options);
  const site = await s3Site(node);
  const path = `/${site.bucket}/a`;
  const uploadId = await begin(site, path);
  await part(site, path, { uploadId, number: 1, body: "content" });
  await node.sql(
    `CREATE TRIGGER refused BEFORE UPDATE ON kv WHEN NEW.key = '${uploadId}' BEGIN SELECT RAISE(ABORT, 'refused'); END`,
  );
  const ends = async () => {
    const answer = await complete(site, path, uploadId, [[1, md5("content")]]);
    return [answer.status, ...textsIn(await answer.text(), "ETag")];
  };
  const first = await ends();
  expect(first[0]).toBe(200);
  await site.put(path, "newer");
  expect(await ends()).toEqual(first);
  await node.sql("DROP TRIGGER refused");
  expect(await ends()).toEqual(first);
  expect(await (await site.s3({ path })).text()).toBe("newer");
});

everyStore("the end of an upload can name the checksum and the size of the whole", async (options) => {
  await using node = await openNode({ ...options, ...s3Options });
  const site = await s3Site(node);
  const { s3, bucket } = site;
  const path = `/${bucket}/a`;
  const [right, wrong] = ["NhCmhg==", "AAAAAA=="];
  const ended = async (
    begun: Record<string, string>,
    headers: Record<string, string>,
    partSum?: string,
  ): Promise<string> => {
    const uploadId = await begin(site, path, begun);
    const query = { partNumber: "1", uploadId };
    await s3({ method: "PUT", path, query, body: "hello", headers: { "x-amz-checksum-crc32": right } });
    const sum = partSum === undefined ? "" : `<ChecksumCRC32>${partSum}</ChecksumCRC32>`;
    const body = `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${md5("hello")}</ETag>${sum}</Part></CompleteMultipartUpload>`;
    return codeOf(await s3({ method: "POST", path, query: { uploadId }, body, headers }));
  };
  const whole = { "x-amz-checksum-algorithm": "CRC32", "x-amz-checksum-type": "FULL_OBJECT" };
  for (const begun of [whole, {}]) {
    expect(await ended(begun, { "x-amz-checksum-crc32": wrong })).toBe("400 BadDigest");
    expect(await ended(begun, { "x-amz-mp-object-size": "6" })).toBe("400 InvalidRequest");
    expect(await ended(begun, {}, wrong)).toBe("400 InvalidPart");
    expect(await codeOf(await s3({ path }))).toBe("404 NoSuchKey");
    const named = { "x-amz-checksum-crc32": right, "x-amz-mp-object-size": "5" };
    expect(await ended(begun, named, right)).toBe("200");
    const read = await s3({ path, headers: { "x-amz-checksum-mode": "ENABLED" } });
    expect([await read.text(), read.headers.get("x-amz-checksum-crc32")]).toEqual(["hello", right]);
    await s3({ method: "DELETE", path });
  }
  expect(await ended(whole, { "x-amz-checksum-sha256": md5("") })).toBe("400 InvalidRequest");
});

everyStore("the checksum of a whole object is that of its parts, also without their own", async (options) => {
  await using node = await openNode({ ...options, ...s3Options });
  const site = await s3Site(node);
  const { s3, bucket } = site;
  const parts = ["first ".repeat(100_000), "x", "last"];
  const known = async (path: string, algorithm: string) => {
    const { headers } = await s3({ method: "HEAD", path, headers: { "x-amz-checksum-mode": "ENABLED" } });
    return headers.get(`x-amz-checksum-${algorithm}`);
  };
  for (const algorithm of ["crc32", "crc32c", "crc64nvme"]) {
    const path = `/${bucket}/${algorithm}`;
    const uploadId = await begin(site, path, {
      "x-amz-checksum-algorithm": algorithm.toUpperCase(),
      "x-amz-checksum-type": "FULL_OBJECT",
    });
    for (const [at, body] of parts.entries()) await part(site, path, { uploadId, number: at + 1, body });
    const ended = await complete(
      site,
      path,
      uploadId,
      parts.map((body, at) => [at + 1, md5(body)]),
    );
    expect(ended.status).toBe(200);
    const body = parts.join("");
    const headers = { "x-amz-sdk-checksum-algorithm": algorithm.toUpperCase() };
    await s3({ method: "PUT", path: `${path}-whole`, body, headers });
    expect(await (await s3({ path })).text()).toBe(body);
    expect(await known(path, algorithm)).toEqual(expect.any(String));
    expect(await known(path, algorithm)).toBe(await known(`${path}-whole`, algorithm));
  }
});

everyStore("the parts of an upload are together no larger than one upload may be", async (options) => {
  await using node = await openNode({ ...options, ...s3Options, top: "max_upload_size = 10\n" });
  const site = await s3Site(node);
  const path = `/${site.bucket}/a`;
  const uploadId = await begin(site, path);
  for (const number of [1, 2]) await part(site, path, { uploadId, number, body: "123456" });
  const one = md5("123456");
  expect(
    await codeOf(
      await complete(site, path, uploadId, [
        [1, one],
        [2, one],
      ]),
    ),
  ).toBe("400 EntityTooLarge");
  expect(await codeOf(await complete(site, path, uploadId, [[1, one]]))).toBe("200");
});

/** The files with content that belongs to no file of a bucket yet. */
function pieces(node: TestNode): number {
  const folder = join(node.folder, node.store === "disk" ? "static/~uploads" : "blobs/blobs");
  if (!existsSync(folder)) return 0;
  const found = readdirSync(folder, { recursive: true, withFileTypes: true });
  return found.filter((entry) => entry.isFile()).length;
}

everyStore("a day after it began, nothing is left of an upload that was not completed", async (options) => {
  const clock = new ManualClock();
  await using node = await testNode({ ...options, ...s3Options, clock });
  const site = await s3Site(node);
  const path = `/${site.bucket}/a`;
  const uploadId = await begin(site, path);
  await part(site, path, { uploadId, number: 1, body: "content" });
  await part(site, path, { uploadId, number: 1, body: "other content" });
  expect(pieces(node)).toBe(1);
  const isSqlite = node.databaseUrl.startsWith("sqlite");
  await node.sql(
    isSqlite
      ? `UPDATE kv SET value = json_set(value, '$.expires', 1) WHERE key = '${uploadId}'`
      : `UPDATE kv SET value = value || '{"expires": 1}'::jsonb WHERE key = '${uploadId}'`,
  );
  expect(await codeOf(await part(site, path, { uploadId, number: 2, body: "x" }))).toBe("404 NoSuchUpload");
  await clock.until("what is left of it is removed", 1000, () => pieces(node) === 0);
});

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
