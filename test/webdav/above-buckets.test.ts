import { expect } from "bun:test";
import { eachStore } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { storedFiles } from "../support/stored-site.ts";
import { hrefsOf, webdavSite } from "../support/webdav.ts";

const sharedNode = sharedNodes();
const all = ["read", "write", "delete", "list"].map((action) => ({ static_bucket_file: action }));

eachStore(
  "the folder above the buckets lists those that a token opens, and nobody can add to it",
  async (store) => {
    await using node = await sharedNode(store);
    const names = [node.own("a-one"), node.own("a-two"), node.own("b-three"), node.own("a-off")];
    const [one = "", two = "", , off = ""] = names;
    for (const name of names) await node.call("static-bucket_create", { token: node.superToken, name });
    await node.call("static-bucket_update", { token: node.superToken, name: off, enable: false });
    const scopes = [one, two, off].map((static_bucket) => ({ static_bucket }));
    const some = await node.newToken([{ scopes, permissions: all }]);
    const reader = await node.newToken([{ scopes: ["global"], permissions: all.slice(0, 1) }]);
    const ask = (method: string, path: string, token?: string, headers: Record<string, string> = {}) =>
      fetch(node.url + path, {
        method,
        headers: {
          depth: "1",
          ...headers,
          ...(token && { authorization: `Basic ${Buffer.from(token).toString("base64")}` }),
        },
      });
    const listed = async (path: string, token: string, depth = "1") => {
      const answer = await ask("PROPFIND", path, token, { depth });
      return answer.status === 207 ? hrefsOf(await answer.text()) : answer.status;
    };
    const buckets = "/node/static-webdav/";
    for (const path of ["/node/static-webdav", buckets]) {
      expect(await listed(path, some)).toEqual([buckets, `${buckets}${one}/`, `${buckets}${two}/`]);
      expect(await listed(path, some, "0")).toEqual([buckets]);
      expect(await listed(path, some, "infinity")).toBe(403);
      expect(await listed(path, reader)).toEqual([buckets]);
    }
    for (const path of ["/node", "/node/"]) expect(await listed(path, some)).toEqual(["/node/", buckets]);
    const text = await (await ask("PROPFIND", buckets, some)).text();
    expect(text.match(/<D:collection\/>/g)).toHaveLength(3);
    expect(text).toContain(`<D:displayname>${one}</D:displayname>`);
    for (const path of ["/node/", "/node", buckets]) {
      const made = await ask("MKCOL", path, some);
      expect([path, made.status, made.headers.get("allow")]).toEqual([path, 405, "OPTIONS, PROPFIND"]);
      const options = await ask("OPTIONS", path);
      expect([options.status, options.headers.get("dav")]).toEqual([200, "1, 2, 3"]);
      for (const method of ["PROPFIND", "MKCOL"]) {
        const refused = await ask(method, path);
        expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([
          401,
          'Basic realm="Node Static WebDAV", charset="UTF-8"',
        ]);
      }
    }
    for (const method of ["PUT", "DELETE", "GET", "LOCK"])
      expect((await ask(method, buckets, some)).status).toBe(405);
    expect((await ask("GET", "/node/", some)).status).toBe(404);
  },
);

eachStore("checksums in the form of ownCloud are told where they are known", async (store) => {
  await using node = await sharedNode(store);
  const { dav } = await webdavSite(node);
  await dav("PUT", "/a.txt", {}, "words");
  const asked =
    '<D:propfind xmlns:D="DAV:"><D:prop><oc:checksums xmlns:oc="http://owncloud.org/ns"/></D:prop></D:propfind>';
  const text = await (await dav("PROPFIND", "/a.txt", { depth: "0" }, asked)).text();
  const sum = new Bun.CryptoHasher("sha256").update(await storedFiles(node).text("a.txt")).digest("hex");
  expect(/>([A-Z0-9]+:[0-9a-f]+)</.exec(text)?.[1]).toBe(node.store === "disk" ? undefined : `SHA256:${sum}`);
  expect(text).toContain(node.store === "disk" ? "404 Not Found" : "200 OK");
});
