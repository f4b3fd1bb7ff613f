import { expect } from "bun:test";
import { Wire } from "../support/hostile.ts";
import { eachStore, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { webdavSite } from "../support/webdav.ts";
import { actions, ask, basic, challenge, inSite } from "./auth-requests.ts";

const sharedNode = sharedNodes();

const allVerbs = "PROPFIND GET HEAD PROPPATCH PUT DELETE MKCOL COPY MOVE LOCK UNLOCK".split(" ");

/** All that an answer says, but for the time. */
async function told(response: Response) {
  const headers = Object.fromEntries(response.headers);
  delete headers.date;
  return { status: response.status, headers, body: await response.text() };
}

eachStore(
  "OPTIONS is answered to anybody on every WebDAV path and on /, in the same words whether the bucket exists or not",
  async (store) => {
    await using node = await testNode(store);
    await webdavSite(node);
    await node.call("static-bucket_create", { token: node.superToken, name: "off" });
    await node.call("static-bucket_update", { token: node.superToken, name: "off", enable: false });
    const paths = ["/", "/node/static-webdav", "/node/static-webdav/"];
    for (const bucket of [node.bucket, "none", "off", "%zz"])
      paths.push(`/node/static-webdav/${bucket}`, `/node/static-webdav/${bucket}/some/file.txt`);
    const answers = await Promise.all(
      paths.flatMap((path) =>
        [undefined, basic("no:body"), "Bearer x"].map(async (authorization) => {
          const headers: Record<string, string> = { origin: "https://elsewhere.example" };
          if (authorization !== undefined) headers.authorization = authorization;
          const answer = await told(await fetch(node.url + path, { method: "OPTIONS", headers }));
          return { path, authorization, ...answer };
        }),
      ),
    );
    for (const { path, authorization, status, headers, body } of answers) {
      const at = `${path} as ${authorization}`;
      expect([at, status === 200 || status === 204, body]).toEqual([at, true, ""]);
      expect([at, headers["www-authenticate"]]).toEqual([at, undefined]);
      expect(headers).toMatchObject({
        dav: "1, 2, 3",
        "ms-author-via": "DAV",
        "access-control-allow-origin": "*",
      });
      // At `/` JSON-RPC is served beside.
      const methods = ["OPTIONS", ...allVerbs, ...(path === "/" ? ["POST"] : [])].sort();
      for (const list of [headers.allow, headers["access-control-allow-methods"]])
        expect([at, list?.split(", ").sort()]).toEqual([at, methods]);
      const allowed = headers["access-control-allow-headers"]?.toLowerCase().split(", ") ?? [];
      for (const name of [
        "authorization",
        "depth",
        "destination",
        "if",
        "lock-token",
        "overwrite",
        "timeout",
      ])
        expect([at, name, allowed.includes(name)]).toEqual([at, name, true]);
      expect(headers["access-control-expose-headers"]).toMatch(/\bDAV\b.*\bETag\b.*\bLock-Token\b/i);
    }
    const elsewhere = answers.filter(({ path }) => path !== "/");
    const onWebdav = elsewhere.map(({ status, headers }) => ({ status, headers }));
    for (const answer of onWebdav) expect(answer).toEqual(onWebdav[0] ?? answer);
    // Also when a bucket has taken `/` for its own files.
    await node.call("static-bucket_create", { token: node.superToken, name: "root", is_http_root: true });
    const root = answers.find(({ path }) => path === "/");
    expect(await told(await fetch(`${node.url}/`, { method: "OPTIONS" }))).toMatchObject({
      headers: root?.headers,
    });
  },
);

eachStore(
  "who has no credentials, or wrong ones, gets one and the same challenge for every verb, whatever they name",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav } = await webdavSite(node);
    await dav("PUT", "/a.txt", {}, "words");
    const [key = ""] = node.superToken.split(":");
    const strangers: Record<string, string | undefined> = {
      "no credentials": undefined,
      "a wrong secret": basic(`${key}:wrong`),
      "a wrong password": basic("root:wrong"),
      "an unknown user": basic("nobody:secret"),
      "a NUL in the name": basic("no\0body:secret"),
      "bytes that are no UTF-8": `Basic ${Buffer.from([0xff, 0x3a, 0xfe]).toString("base64")}`,
      "no colon": basic("nobody"),
      "no secret": basic(`${key}:`),
      "no name": basic(":secret"),
      "no base64": "Basic ***",
      nothing: "Basic",
      "a wrong token by Bearer": `Bearer ${key}:wrong`,
      "no token by Bearer": "Bearer nobody",
      "a broken encoding by Bearer": "Bearer %zz:secret",
      "a text longer than any token by Bearer": `Bearer ${key}:${"x".repeat(5000)}`,
      "the right pair under another scheme": basic(node.superToken).replace("Basic", "Digest"),
    };
    for (const [who, authorization] of Object.entries(strangers)) {
      const there = await told(await ask(node, "PROPFIND", `/${node.bucket}/a.txt`, authorization));
      expect([who, there.status, there.headers["www-authenticate"]]).toEqual([who, 401, challenge]);
      const elsewhere = await told(await ask(node, "PROPFIND", "/none/a.txt", authorization));
      expect([who, elsewhere]).toEqual([who, there]);
    }
    const site = `/${node.bucket}`;
    for (const method of [...allVerbs, "POST", "PATCH"]) {
      for (const path of [`${site}/a.txt`, `${site}/`, "/none/x", "/%zz/x", `${site}/%2e%2e%2fx`, ""]) {
        const { status, headers } = await told(await ask(node, method, path));
        expect([method, path, status, headers["www-authenticate"]]).toEqual([method, path, 401, challenge]);
        expect([method, path, headers["access-control-allow-origin"]]).toEqual([method, path, "*"]);
      }
    }
    expect(await (await dav("GET", "/a.txt")).text()).toBe("words");
  },
);

eachStore("a stranger's request gets a single challenge header on the wire", async (store) => {
  await using node = await sharedNode(store);
  await webdavSite(node);
  using wire = await Wire.open(node.url);
  wire.write(`PROPFIND /node/static-webdav/${node.bucket}/ HTTP/1.1\r\nHost: here\r\nDepth: 1\r\n\r\n`);
  const [head] = await wire.hears(/^[\s\S]*?\r\n\r\n/);
  expect(head.startsWith("HTTP/1.1 401 ")).toBe(true);
  expect(head.match(/^www-authenticate:.*$/gim)?.map((line) => line.trim())).toEqual([
    expect.stringMatching(/^www-authenticate: Basic realm="Node Static WebDAV", charset="UTF-8"$/i),
  ]);
});

eachStore(
  "right credentials that lack any one of the four permissions in the bucket are refused with 403, every verb alike",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav } = await webdavSite(node);
    await dav("PUT", "/a.txt", {}, "words");
    const lacking = await Promise.all(
      actions.map(async (lacks) => ({
        lacks,
        token: await node.newToken(
          inSite(
            actions.filter((action) => action !== lacks),
            node.bucket,
          ),
        ),
      })),
    );
    lacking.push({ lacks: "this bucket", token: await node.newToken(inSite(actions, "other")) });
    for (const { lacks, token } of lacking) {
      for (const method of [...allVerbs, "POST"]) {
        const response = await ask(node, method, `/${node.bucket}/a.txt`, basic(token));
        expect([lacks, method, response.status]).toEqual([lacks, method, 403]);
        expect(response.headers.has("www-authenticate")).toBe(false);
        expect([lacks, (await ask(node, method, "/none/a.txt", basic(token))).status]).toEqual([lacks, 403]);
      }
    }
    expect(await (await dav("GET", "/a.txt")).text()).toBe("words");
  },
);

eachStore("405 names the methods that can be used on the file or the folder at the path", async (store) => {
  await using node = await sharedNode(store);
  const { dav } = await webdavSite(node);
  await dav("MKCOL", "/folder");
  await dav("PUT", "/a.txt", {}, "words");
  const allowed = async (method: string, path: string) => {
    const response = await dav(method, path);
    return [response.status, response.headers.get("allow")?.split(", ").sort()];
  };
  const without = (...methods: string[]) =>
    ["OPTIONS", ...allVerbs].filter((verb) => !methods.includes(verb)).sort();
  expect(await allowed("PUT", "/folder")).toEqual([405, without("PUT", "MKCOL")]);
  expect(await allowed("MKCOL", "/folder")).toEqual([405, without("PUT", "MKCOL")]);
  expect(await allowed("MKCOL", "/a.txt")).toEqual([405, without("MKCOL")]);
});

eachStore(
  "an unknown bucket and a disabled one are 404 for who may ask, and 405 names what an address takes",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav } = await webdavSite(node);
    await dav("PUT", "/a.txt", {}, "words");
    const token = await node.newToken(inSite(actions, "*"));
    for (const pair of [node.superToken, token]) {
      for (const method of allVerbs)
        for (const path of ["/none/a.txt", "/none"])
          expect([method, path, (await ask(node, method, path, basic(pair))).status]).toEqual([
            method,
            path,
            404,
          ]);
      for (const method of ["POST", "PATCH"]) {
        const response = await ask(node, method, `/${node.bucket}/a.txt`, basic(pair));
        const allow = response.headers.get("allow")?.split(", ").sort();
        expect([method, response.status, allow]).toEqual([method, 405, ["OPTIONS", ...allVerbs].sort()]);
      }
    }
    await node.call("static-bucket_update", { token: node.superToken, name: node.bucket, enable: false });
    for (const method of [...allVerbs, "POST"])
      expect([method, (await dav(method, "/a.txt")).status]).toEqual([method, 404]);
    await node.call("static-bucket_update", { token: node.superToken, name: node.bucket, enable: true });
    expect(await (await dav("GET", "/a.txt")).text()).toBe("words");
  },
);
