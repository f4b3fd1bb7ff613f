import { expect } from "bun:test";
import { Wire } from "../support/hostile.ts";
import { testNode } from "../support/node.ts";
import { freePort } from "../support/postgres.ts";
import { clientWith, codeOf, s3Site } from "../support/s3.ts";
import { test } from "../support/test.ts";

/** A node with a listener for S3 alone, and a public bucket that strangers may read. */
async function openPublic() {
  const address = `127.0.0.1:${await freePort()}`;
  const node = await testNode({
    env: { NODE_SERVER_S3_LISTENER: address, NODE_SERVER_S3_ANONYMOUS: "true" },
  });
  const { bucket, keys } = await s3Site(node);
  await node.call("static-bucket_update", { token: node.superToken, name: bucket, public: true });
  const url = `http://${address}`;
  expect((await clientWith({ url }, keys).put(`/${bucket}/X-Amz-Signature%3D/a`, "hello")).status).toBe(200);
  return { node, url, path: `/${bucket}/X-Amz-Signature=/a` };
}

test("a request without a host is refused, and is no bug", async () => {
  const { node, url, path } = await openPublic();
  await using _ = node;
  using wire = await Wire.open(url);
  wire.write(`GET ${path} HTTP/1.0\r\nIf-None-Match: ${"a".repeat(32)}\r\n\r\n`);
  await wire.hears(/<\/Error>/);
  expect(wire.heard).toMatch(/^HTTP\/1\.[01] 400 /);
  expect(wire.heard).toContain("<Code>InvalidRequest</Code>");
});

test("a path that looks like a signature does not open a bucket to pages of other origins", async () => {
  const { node, url, path } = await openPublic();
  await using _ = node;
  const plain = await fetch(url + path);
  expect([plain.status, plain.headers.get("access-control-allow-origin")]).toEqual([200, null]);
  const forged = await fetch(`${url}${path}?a=1&X-Amz-Signature=x`);
  expect([forged.headers.get("access-control-allow-origin"), (await codeOf(forged)).slice(0, 1)]).toEqual([
    "*",
    "4",
  ]);
});

test("strangers read nothing for which _headers asks for a password, and not the password", async () => {
  const { node, url, path } = await openPublic();
  await using _ = node;
  const site = path.split("/", 2).join("/");
  const upload = (path: string, body: string) =>
    node.call("static-bucket-file_upload", { token: node.superToken, name: site.slice(1), path, body });
  await upload("locked/a.txt", "hush-hush");
  await upload("_headers", "/locked/*\n  Basic-Auth: bob:hush-hush\n");
  for (const [key, status] of Object.entries({
    "locked/a.txt": 403,
    _headers: 403,
    "X-Amz-Signature=/a": 200,
  }))
    for (const method of ["GET", "HEAD"]) {
      const answer = await fetch(`${url}${site}/${key}`, { method });
      expect([method, key, answer.status]).toEqual([method, key, status]);
      expect(await answer.text()).not.toContain("hush-hush");
    }
});
