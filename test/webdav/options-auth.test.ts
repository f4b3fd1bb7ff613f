import { expect, test } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Wire } from "../support/hostile.ts";
import { eachDatabase, type TestNode, testNode } from "../support/node.ts";
import { webdavSite } from "../support/webdav.ts";

const challenge = 'Basic realm="Node Static WebDAV", charset="UTF-8"';
const actions = ["read", "write", "delete", "list"];
const allVerbs = "PROPFIND GET HEAD PROPPATCH PUT DELETE MKCOL COPY MOVE LOCK UNLOCK".split(" ");

const basic = (pair: string) => `Basic ${Buffer.from(pair).toString("base64")}`;

function inSite(permitted: readonly string[], bucket = "site") {
  const permissions = permitted.map((action) => ({ static_bucket_file: action }));
  return [{ scopes: [{ static_bucket: bucket }], permissions }];
}

function ask(node: TestNode, method: string, path: string, authorization?: string) {
  return fetch(`${node.url}/node/static-webdav${path}`, {
    method,
    headers: authorization === undefined ? {} : { authorization },
    redirect: "manual",
    ...(method === "PUT" ? { body: "words" } : {}),
  });
}

/** All that an answer says, but for the time. */
async function told(response: Response) {
  const headers = Object.fromEntries(response.headers);
  delete headers.date;
  return { status: response.status, headers, body: await response.text() };
}

/** What a PROPFIND of the bucket with these credentials is answered. */
async function statusFor(node: TestNode, pair: string, bucket = "site"): Promise<number> {
  const response = await ask(node, "PROPFIND", `/${bucket}/`, basic(pair));
  if (response.status === 401) expect(response.headers.get("www-authenticate")).toBe(challenge);
  await response.body?.cancel();
  return response.status;
}

test("OPTIONS is answered to anybody on every WebDAV path and on /, in the same words whether the bucket exists or not", async () => {
  await using node = await testNode();
  await webdavSite(node);
  await node.call("static-bucket_create", { token: node.superToken, name: "off" });
  await node.call("static-bucket_update", { token: node.superToken, name: "off", enable: false });
  const paths = ["/", "/node/static-webdav", "/node/static-webdav/"];
  for (const bucket of ["site", "none", "off", "%zz"])
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
    for (const name of ["authorization", "depth", "destination", "if", "lock-token", "overwrite", "timeout"])
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
});

eachDatabase(
  "who has no credentials, or wrong ones, gets one and the same challenge for every verb, whatever they name",
  async (database) => {
    await using node = await testNode({ database });
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
      const there = await told(await ask(node, "PROPFIND", "/site/a.txt", authorization));
      expect([who, there.status, there.headers["www-authenticate"]]).toEqual([who, 401, challenge]);
      const elsewhere = await told(await ask(node, "PROPFIND", "/none/a.txt", authorization));
      expect([who, elsewhere]).toEqual([who, there]);
    }
    for (const method of [...allVerbs, "POST", "PATCH"]) {
      for (const path of ["/site/a.txt", "/site/", "/none/x", "/%zz/x", "/site/%2e%2e%2fx", ""]) {
        const { status, headers } = await told(await ask(node, method, path));
        expect([method, path, status, headers["www-authenticate"]]).toEqual([method, path, 401, challenge]);
        expect([method, path, headers["access-control-allow-origin"]]).toEqual([method, path, "*"]);
      }
    }
    expect(await (await dav("GET", "/a.txt")).text()).toBe("words");
  },
);

test("a stranger's request gets a single challenge header on the wire", async () => {
  await using node = await testNode();
  await webdavSite(node);
  using wire = await Wire.open(node.url);
  wire.write("PROPFIND /node/static-webdav/site/ HTTP/1.1\r\nHost: here\r\nDepth: 1\r\n\r\n");
  const [head] = await wire.hears(/^[\s\S]*?\r\n\r\n/);
  expect(head.startsWith("HTTP/1.1 401 ")).toBe(true);
  expect(head.match(/^www-authenticate:.*$/gim)?.map((line) => line.trim())).toEqual([
    expect.stringMatching(/^www-authenticate: Basic realm="Node Static WebDAV", charset="UTF-8"$/i),
  ]);
});

eachDatabase(
  "right credentials that lack any one of the four permissions in the bucket are refused with 403, every verb alike",
  async (database) => {
    await using node = await testNode({ database });
    const { dav } = await webdavSite(node);
    await dav("PUT", "/a.txt", {}, "words");
    const lacking = await Promise.all(
      actions.map(async (lacks) => ({
        lacks,
        token: await node.newToken(inSite(actions.filter((action) => action !== lacks))),
      })),
    );
    lacking.push({ lacks: "this bucket", token: await node.newToken(inSite(actions, "other")) });
    for (const { lacks, token } of lacking) {
      for (const method of [...allVerbs, "POST"]) {
        const response = await ask(node, method, "/site/a.txt", basic(token));
        expect([lacks, method, response.status]).toEqual([lacks, method, 403]);
        expect(response.headers.has("www-authenticate")).toBe(false);
        expect([lacks, (await ask(node, method, "/none/a.txt", basic(token))).status]).toEqual([lacks, 403]);
      }
    }
    expect(await (await dav("GET", "/a.txt")).text()).toBe("words");
  },
);

test("405 names the methods that can be used on the file or the folder at the path", async () => {
  await using node = await testNode();
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

test("an unknown bucket, a disabled one and no bucket at all are 404 for who may ask, and 405 names what an address takes", async () => {
  await using node = await testNode();
  const { dav } = await webdavSite(node);
  await dav("PUT", "/a.txt", {}, "words");
  const token = await node.newToken(inSite(actions, "*"));
  for (const pair of [node.superToken, token]) {
    for (const method of allVerbs)
      for (const path of ["/none/a.txt", "/none", "/"])
        expect([method, path, (await ask(node, method, path, basic(pair))).status]).toEqual([
          method,
          path,
          404,
        ]);
    for (const method of ["POST", "PATCH"]) {
      const response = await ask(node, method, "/site/a.txt", basic(pair));
      const allow = response.headers.get("allow")?.split(", ").sort();
      expect([method, response.status, allow]).toEqual([method, 405, ["OPTIONS", ...allVerbs].sort()]);
    }
  }
  await node.call("static-bucket_update", { token: node.superToken, name: "site", enable: false });
  for (const method of [...allVerbs, "POST"])
    expect([method, (await dav(method, "/a.txt")).status]).toEqual([method, 404]);
  await node.call("static-bucket_update", { token: node.superToken, name: "site", enable: true });
  expect(await (await dav("GET", "/a.txt")).text()).toBe("words");
});

eachDatabase(
  "key and secret, user name and password, the Super Token and the root password all open a bucket, odd characters included",
  async (database) => {
    await using node = await testNode({ database });
    await webdavSite(node);
    const passwords = {
      anna: "pass:word:|with",
      bodil: "blåbærgrød 密碼 🔑",
      carl: ":leading",
      dora: "trailing: ",
    };
    for (const [username, password] of Object.entries(passwords)) {
      const token = await node.newToken(inSite(actions), { username, password });
      for (const pair of [token, `${username}:${password}`, `${username}:${password}`])
        expect([pair, await statusFor(node, pair)]).toEqual([pair, 207]);
      for (const wrong of [`${username}:${password.slice(0, -1)}`, `${username}:${password}x`])
        expect([wrong, await statusFor(node, wrong)]).toEqual([wrong, 401]);
    }
    expect(await statusFor(node, node.superToken)).toBe(207);
    expect(await statusFor(node, `root:${node.rootPassword}`)).toBe(207);
    const shouted = basic(node.superToken).replace("Basic", "BASIC");
    expect((await ask(node, "HEAD", "/site/", shouted)).status).toBe(200);
  },
);

eachDatabase(
  "a rolled secret, a changed password, taken rights, a deleted and an expired token are refused by the very next request",
  async (database) => {
    await using node = await testNode({ database });
    await webdavSite(node);
    const change = (method: string, more: Record<string, unknown> = {}) =>
      node.call(method, { token: node.superToken, target_token: "anna", ...more });
    const first = await node.newToken(inSite(actions), { username: "anna", password: "first-word" });
    const now = async () => [
      await statusFor(node, first),
      await statusFor(node, "anna:first-word"),
      await statusFor(node, "anna:second-word"),
    ];
    expect(await now()).toEqual([207, 207, 401]);
    await change("token_change_password", { new_password: "second-word" });
    expect(await now()).toEqual([207, 401, 207]);
    const { key, secret } = (await change("token_roll_token_secret")) as { key: string; secret: string };
    expect([...(await now()), await statusFor(node, `${key}:${secret}`)]).toEqual([401, 401, 207, 207]);
    await change("token_edit", { limit: inSite(["read", "write", "delete"]) });
    expect(await statusFor(node, `${key}:${secret}`)).toBe(403);
    await change("token_edit", { limit: inSite(actions) });
    expect(await statusFor(node, `${key}:${secret}`)).toBe(207);
    await change("token_delete");
    expect([await statusFor(node, `${key}:${secret}`), await statusFor(node, "anna:second-word")]).toEqual([
      401, 401,
    ]);
    const brief = await node.newToken(inSite(actions), {
      timestamp_to: Date.now() + 3_600_000,
      username: "bo",
      password: "brief-word",
    });
    expect([await statusFor(node, brief), await statusFor(node, "bo:brief-word")]).toEqual([207, 207]);
    // An hour later.
    await node.sql(`UPDATE token SET time_stamp_to = ${Date.now() - 1} WHERE username = 'bo'`);
    expect([await statusFor(node, brief), await statusFor(node, "bo:brief-word")]).toEqual([401, 401]);
    const later = await node.newToken(inSite(actions), { timestamp_from: Date.now() + 3_600_000 });
    expect(await statusFor(node, later)).toBe(401);
  },
);

eachDatabase(
  "no secret or password reaches the log, whatever a WebDAV request does with it",
  async (database) => {
    const logging = 'memory_log_filter = "trace"\nmemory_log_capacity = 100000\n';
    await using node = await testNode({ database, logging });
    const { dav } = await webdavSite(node);
    const token = await node.newToken(inSite(actions), { username: "anna", password: "very-secret-word" });
    const [key = "", secret = ""] = token.split(":");
    for (const pair of [
      token,
      "anna:very-secret-word",
      `${key}:guessed-secret`,
      "anna:guessed-word",
      "guessed-name-only",
    ])
      for (const method of allVerbs) await (await ask(node, method, "/site/a.txt", basic(pair))).text();
    await (await ask(node, "GET", "/site/a.txt", "Bearer guessed-bearer")).text();
    // Also when the server itself is at a loss.
    await rm(join(node.folder, "static"), { recursive: true, force: true });
    expect((await dav("PUT", "/b.txt", {}, "content-of-a-file")).status).toBeGreaterThanOrEqual(400);
    const log = node.node.ring
      .entries()
      .map((entry) => JSON.stringify(entry))
      .join("\n");
    expect(log).toContain("webdav PROPFIND");
    const [, superSecret = ""] = node.superToken.split(":");
    const secrets = [
      secret,
      superSecret,
      "very-secret-word",
      "guessed-secret",
      "guessed-word",
      "guessed-bearer",
    ];
    for (const word of [...secrets, "content-of-a-file"]) {
      expect([word, log.includes(word)]).toEqual([word, false]);
      expect([word, log.includes(Buffer.from(word).toString("base64").slice(0, -3))]).toEqual([word, false]);
    }
    for (const pair of [token, "anna:very-secret-word"])
      expect([pair, log.includes(Buffer.from(pair).toString("base64"))]).toEqual([pair, false]);
  },
  30_000,
);
