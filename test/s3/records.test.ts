import { expect } from "bun:test";
import { everyStore } from "../support/node.ts";
import { codeOf, s3Client, s3Options, s3Site } from "../support/s3.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { webdavSite } from "../support/webdav.ts";

const openNode = sharedNodes();

everyStore("a record that was written over WebDAV sets no header that a PUT cannot set", async (options) => {
  await using node = await openNode({ ...options, ...s3Options });
  const { dav } = await webdavSite(node);
  const { s3, put } = await s3Client(node);
  const path = `/${node.bucket}/a`;
  const headersWith = async (headers: Record<string, string>) => {
    await put(path, "content", { "x-amz-meta-a": "1" });
    const record = `<n:object xmlns:n="https://node-server.dev/s3">${JSON.stringify({ headers }).replaceAll('"', "&quot;")}</n:object>`;
    const body = `<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop>${record}</D:prop></D:set></D:propertyupdate>`;
    expect((await dav("PROPPATCH", "/a", {}, body)).status).toBe(207);
    return (await s3({ path })).headers;
  };
  expect((await headersWith({ "x-amz-meta-b": "2" })).get("x-amz-meta-b")).toBe("2");
  const refused = await headersWith({ "set-cookie": "a=b", "x-amz-meta-b": "2" });
  expect([refused.get("set-cookie"), refused.get("x-amz-meta-b")]).toEqual([null, null]);
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

everyStore("a header that no answer could repeat is refused", async (options) => {
  await using node = await openNode({ ...options, ...s3Options });
  const { s3, put, bucket } = await s3Site(node);
  const path = `/${bucket}/a`;
  await put(path, "old");
  for (const name of ["content-type", "x-amz-meta-a"])
    expect(await codeOf(await put(path, "new", { [name]: "text/x\x7fy" }))).toBe("400 InvalidArgument");
  expect(await (await s3({ path })).text()).toBe("old");
});
