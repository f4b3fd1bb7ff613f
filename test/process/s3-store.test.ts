import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { newHome, refused } from "../support/process.ts";
import { hasSeaweed, readerKeys, seaweed } from "../support/seaweed.ts";
import { randomBytes } from "../support/tools.ts";

interface Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

async function filesIn(bucket: string, keys?: Keys): Promise<string> {
  const { location } = await seaweed();
  const { accessKeyId, secretAccessKey } = keys ?? location;
  return [
    `url = "s3://${bucket}/${crypto.randomUUID()}"`,
    `endpoint = ${JSON.stringify(location.endpoint)}`,
    `access_key_id = "${accessKeyId}"`,
    `secret_access_key = "${secretAccessKey}"`,
    "",
  ].join("\n");
}

test.if(hasSeaweed)(
  "a server keeps its files in S3 and sends them from its cache after a restart",
  async () => {
    await using home = await newHome({ files: await filesIn("test") });
    const first = await home.serve();
    const token = first.superToken;
    await first.call("static-bucket_create", { token, name: "site" });
    const headers = { authorization: `Basic ${Buffer.from(token).toString("base64")}` };
    const large = randomBytes(20_000_000);
    for (const [path, body] of [
      ["small.txt", "hello"],
      ["empty.txt", ""],
      ["large.bin", large],
    ] as const) {
      const put = await fetch(`${first.url}/node/static-webdav/site/${path}`, {
        method: "PUT",
        headers,
        body,
      });
      expect([path, put.status]).toEqual([path, 201]);
    }
    const check = async (url: string) => {
      const get = (path: string, more: Record<string, string> = {}) =>
        fetch(`${url}/node/static/site/${path}`, { headers: more });
      expect(await (await get("small.txt")).text()).toBe("hello");
      expect(await (await get("empty.txt")).text()).toBe("");
      const whole = await get("large.bin");
      const hash = createHash("sha256").update(large).digest();
      expect(whole.headers.get("etag")).toBe(`"${hash.toString("base64url")}"`);
      expect(Buffer.from(await whole.bytes()).equals(large)).toBe(true);
      const part = await get("large.bin", { range: "bytes=10000000-10000009" });
      expect([
        part.status,
        Buffer.from(await part.bytes()).equals(large.subarray(10_000_000, 10_000_010)),
      ]).toEqual([206, true]);
    };
    await check(first.url);
    await first.stop();
    expect(await readdir(home.file("data/blob-cache"))).toContain("blobs");
    const second = await home.serve();
    await check(second.url);
    await second.stop();
  },
);

test.if(hasSeaweed)("neither a reload nor a start goes on with an S3 store without the files", async () => {
  const files = await filesIn("test");
  const other = files.replace(/(url = "s3:..test.)[^"]*/, `$1${crypto.randomUUID()}`);
  await using home = await newHome({ files });
  const first = await home.serve();
  const token = first.superToken;
  await first.call("static-bucket_create", { token, name: "site" });
  await first.call("static-bucket-file_upload", { token, name: "site", path: "a.txt", body: "hello" });
  await home.configure({ files: other });
  expect(await first.reload()).toMatchObject({
    ...refused,
    line: expect.stringMatching(/s3:.*`node-server migrate --files s3:/),
  });
  expect(await (await fetch(`${first.url}/node/static/site/a.txt`)).text()).toBe("hello");
  await first.stop();
  for (const args of [["check", "--connect"], ["serve"]]) {
    const { code, stderr } = await home.run(args);
    expect({ args, code, stderr }).toEqual({
      args,
      code: 1,
      stderr: expect.stringMatching(/were last in s3:.*: set \[files\] url to that/),
    });
  }
});

test.if(hasSeaweed)("an S3 store that cannot be used is refused at the start, with what to do", async () => {
  await using home = await newHome();
  const wrong = { accessKeyId: "admin-key", secretAccessKey: "not-the-secret" };
  for (const [files, expected] of [
    [await filesIn("test", wrong), /secret_access_key/],
    [await filesIn("test", readerKeys), /s3:PutObject|write/],
    [await filesIn("no-such-bucket"), /no-such-bucket/],
  ] as const) {
    await home.configure({ files });
    for (const args of [["check", "--connect"], ["serve"]]) {
      const { code, stdout, stderr } = await home.run(args);
      expect({ args, code }).toEqual({ args, code: 1 });
      expect(stderr).toMatch(expected);
      expect(stdout + stderr).not.toMatch(/not-the-secret|reader-secret|admin-secret/);
    }
  }
});
