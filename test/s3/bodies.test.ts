import { expect } from "bun:test";
import { Body } from "../../src/http/s3/chunked-body.ts";
import { Signature } from "../../src/http/s3/signature.ts";
import { everyStore } from "../support/node.ts";
import { codeOf, s3Options, s3Site, signed } from "../support/s3.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";

const openNode = sharedNodes();
const payload = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";
const keys = { access_key_id: "AKIAIOSFODNN7EXAMPLE", secret_access_key: "secret" };

/** The body of a request in chunks that says it has so many bytes, as it arrives in these pieces. */
function bodyOf(length: number, pieces: Iterable<string>): Body {
  const headers = signed(keys, {
    method: "PUT",
    path: "/bucket/a",
    payload,
    headers: { "x-amz-decoded-content-length": String(length) },
  });
  const arriving = pieces[Symbol.iterator]();
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const { done, value } = arriving.next();
      if (done) controller.close();
      else controller.enqueue(Buffer.from(value));
    },
  });
  const request = new Request("http://s3.test/bucket/a", { method: "PUT", headers, body });
  const signature = Signature.read({ request, rawPath: "/bucket/a", rawQuery: "" }, Date.now());
  if (signature === undefined) throw new Error("the request has no signature");
  return new Body(request, signature);
}

async function piecesOf(body: Body): Promise<string[]> {
  const pieces: string[] = [];
  for await (const piece of body.chunks()) pieces.push(Buffer.from(piece).toString());
  return pieces;
}

test("a body that goes on behind the length that it names is refused at once", async () => {
  let sent = 0;
  function* endless() {
    for (; sent < 1000; sent += 1) yield `400\r\n${"a".repeat(1024)}\r\n`;
  }
  const [outcome] = await Promise.allSettled([piecesOf(bodyOf(0, endless()))]);
  expect(outcome).toMatchObject({ status: "rejected", reason: { s3Code: "IncompleteBody" } });
  expect(sent).toBeLessThan(10);
});

test("chunks of one byte that arrive together are written together", async () => {
  const chunks = "1\r\na\r\n".repeat(5000);
  const half = chunks.slice(0, 15_001);
  const arrived = await piecesOf(bodyOf(5000, [half, `${chunks.slice(half.length)}0\r\n\r\n`]));
  expect(arrived.join("")).toBe("a".repeat(5000));
  expect(arrived.length).toBeLessThan(5);
});

test("a body whose trailer is not what the request announces is refused", async () => {
  await using node = await openNode(s3Options);
  const { s3, bucket } = await s3Site(node);
  const path = `/${bucket}/a`;
  const put = async (trailer: string) =>
    codeOf(
      await s3({
        method: "PUT",
        path,
        payload,
        headers: { "x-amz-decoded-content-length": "5", "x-amz-trailer": "x-amz-checksum-crc32c" },
        body: `5\r\nhello\r\n0\r\n${trailer}\r\n`,
      }),
    );
  const right = "x-amz-checksum-crc32c:mnG7TA==\r\n";
  expect(await put("")).toBe("400 MalformedTrailerError");
  expect(await put("x-amz-checksum-crc32:NhCmhg==\r\n")).toBe("400 MalformedTrailerError");
  expect(await put(`x-amz-checksum-crc32c:AAAAAA==\r\n${right}`)).toBe("400 InvalidRequest");
  expect(await codeOf(await s3({ path }))).toBe("404 NoSuchKey");
  expect(await put(right)).toBe("200");
});

everyStore("a long body that is refused on its way is refused for what it is", async (options) => {
  await using node = await openNode({ ...options, ...s3Options, top: "max_upload_size = 100000\n" });
  const { s3, bucket } = await s3Site(node);
  const path = `/${bucket}/a`;
  const put = async (length: number, ...chunks: number[]) =>
    codeOf(
      await s3({
        method: "PUT",
        path,
        payload,
        headers: { "x-amz-decoded-content-length": String(length) },
        body: `${chunks.map((size) => `${size.toString(16)}\r\n${"a".repeat(size)}\r\n`).join("")}0\r\n\r\n`,
      }),
    );
  expect(await put(50_000, 20_000, 20_000)).toBe("400 IncompleteBody");
  expect(await put(20_000, 20_000, 1)).toBe("400 IncompleteBody");
  expect(await put(200_000, 90_000, 110_000)).toBe("400 EntityTooLarge");
  expect(await codeOf(await s3({ path }))).toBe("404 NoSuchKey");
  expect(await put(40_000, 20_000, 20_000)).toBe("200");
});
