import { expect } from "bun:test";
import { isElement, parseXml, textOf, type XmlElement } from "../../src/base/xml.ts";
import { eachStore, type TestNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { until } from "../support/until.ts";
import { hrefsIn, webdavSite } from "../support/webdav.ts";

const sharedNode = sharedNodes();

const fourPermissions = ({ bucket }: TestNode) => [
  {
    scopes: [{ static_bucket: bucket }],
    permissions: ["read", "write", "delete", "list"].map((action) => ({ static_bucket_file: action })),
  },
];

const lockInfo = (scope = "exclusive") =>
  `<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:${scope}/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>`;

/** A bucket, and somebody who is not the operator, with a lock as one call. */
async function lockSite(node: TestNode) {
  const site = await webdavSite(node, await node.newToken(fourPermissions(node)));
  const lock = (path: string, scope = "exclusive", headers: Record<string, string> = {}) =>
    site.dav("LOCK", path, headers, lockInfo(scope));
  return {
    ...site,
    lock,
    /** The token of one that must be given. */
    async locked(path: string, scope = "exclusive", headers: Record<string, string> = {}): Promise<string> {
      const response = await lock(path, scope, headers);
      expect([200, 201]).toContain(response.status);
      return tokenOf(response);
    },
    unlock: (path: string, token: string) => site.dav("UNLOCK", path, { "lock-token": `<${token}>` }),
    as: (token: string) => {
      const authorization = `Basic ${Buffer.from(token).toString("base64")}`;
      return (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
        site.dav(method, path, { authorization, ...headers }, body);
    },
    /** The timeouts of the locks on a resource, in seconds. */
    async timeouts(path: string): Promise<number[]> {
      const answer = await site.dav("PROPFIND", path, { depth: "0" });
      return all(parseXml(await answer.bytes()), "timeout").map((timeout) =>
        Number(/^Second-(\d+)$/.exec(textOf(timeout))?.[1]),
      );
    },
  };
}

function tokenOf(response: Response): string {
  return /^<(.+)>$/.exec(response.headers.get("lock-token") ?? "")?.[1] ?? "no token";
}

/** Every DAV element of that name in a document, in its order. */
function all(element: XmlElement, name: string): XmlElement[] {
  const own = element.namespace === "DAV:" && element.name === name ? [element] : [];
  return [...own, ...element.children.filter(isElement).flatMap((child) => all(child, name))];
}

/** What a refused LOCK says: the roots that are in the way, and the resources it was refused for because of them. */
async function refusal(response: Response) {
  const body = parseXml(await response.bytes());
  if (response.status === 207) {
    return all(body, "response").map((part) => [
      ...all(part, "href").map(textOf),
      ...all(part, "status").map(textOf),
    ]);
  }
  return all(body, "no-conflicting-lock").flatMap((condition) => all(condition, "href").map(textOf));
}

eachStore("two locks go together or the later one is refused, whichever way they meet", async (store) => {
  await using node = await sharedNode(store);
  const at = hrefsIn(node);
  const { dav, lock, locked, unlock } = await lockSite(node);
  for (const folder of ["/a", "/a/b"]) await dav("MKCOL", folder);
  for (const file of ["/a/b/f", "/a/g"]) await dav("PUT", file, {}, "x");
  const stories: Array<[held: string, wanted: string, outcome: string]> = [
    ["exclusive 0 /a/g", "exclusive 0 /a/g", "/a/g"],
    ["exclusive 0 /a/g", "shared 0 /a/g", "/a/g"],
    ["exclusive 0 /a/g", "exclusive 0 /a/b/f", "given"],
    ["shared 0 /a/g", "shared 0 /a/g", "given"],
    ["shared 0 /a/g", "exclusive 0 /a/g", "/a/g"],
    ["exclusive infinity /a/", "exclusive 0 /a/b/f", "/a/"],
    ["exclusive infinity /a/", "shared infinity /a/b/", "/a/"],
    ["exclusive infinity /a/", "exclusive 0 /a/", "/a/"],
    ["shared infinity /a/", "exclusive 0 /a/b/f", "/a/"],
    ["shared infinity /a/", "shared 0 /a/b/f", "given"],
    ["exclusive infinity /", "shared 0 /a/g", "/"],
    ["exclusive 0 /a/", "exclusive 0 /a/", "/a/"],
    ["exclusive 0 /a/", "exclusive 0 /a/g", "given"],
    ["exclusive 0 /a/", "exclusive infinity /", "below /a/"],
    ["exclusive 0 /a/b/f", "exclusive 0 /a/", "given"],
    ["exclusive 0 /a/b/f", "exclusive infinity /a/", "below /a/b/f"],
    ["exclusive 0 /a/b/f", "shared infinity /a/", "below /a/b/f"],
    ["shared 0 /a/b/f", "exclusive infinity /a/", "below /a/b/f"],
    ["shared 0 /a/b/f", "shared infinity /a/", "given"],
  ];
  for (const [held, wanted, outcome] of stories) {
    const [scope, depth = "", path = ""] = held.split(" ");
    const token = await locked(path, scope, { depth });
    const [nextScope, nextDepth = "", nextPath = ""] = wanted.split(" ");
    const response = await lock(nextPath, nextScope, { depth: nextDepth });
    const story = `${held} ← ${wanted}`;
    if (outcome === "given") {
      expect({ story, status: response.status }).toEqual({ story, status: 200 });
      expect((await unlock(nextPath, tokenOf(response))).status).toBe(204);
    } else if (outcome.startsWith("below ")) {
      expect({ story, status: response.status, said: await refusal(response) }).toEqual({
        story,
        status: 207,
        said: [
          [at(outcome.slice(6)), "HTTP/1.1 423 Locked"],
          [at(nextPath), "HTTP/1.1 424 Failed Dependency"],
        ],
      });
    } else {
      expect({ story, status: response.status, said: await refusal(response) }).toEqual({
        story,
        status: 423,
        said: [at(outcome)],
      });
    }
    expect((await unlock(path, token)).status).toBe(204);
    const left = await dav("PROPFIND", "/", { depth: "infinity" });
    expect({ story, left: all(parseXml(await left.bytes()), "activelock") }).toEqual({ story, left: [] });
  }
});

eachStore("a lock on nothing makes an empty file, in a folder that is there", async (store) => {
  await using node = await sharedNode(store);
  const at = hrefsIn(node);
  const { dav, lock, locked, unlock } = await lockSite(node);
  const made = await lock("/new.txt");
  expect(made.status).toBe(201);
  expect(all(parseXml(await made.bytes()), "lockroot").map(textOf)).toEqual([at("/new.txt")]);
  const empty = await dav("GET", "/new.txt");
  expect([empty.status, await empty.text()]).toEqual([200, ""]);
  expect((await dav("PUT", "/new.txt", {}, "x")).status).toBe(423);
  expect((await dav("PUT", "/new.txt", { if: `(<${tokenOf(made)}>)` }, "mine")).status).toBe(204);
  expect((await unlock("/new.txt", tokenOf(made))).status).toBe(204);
  expect(await (await dav("GET", "/new.txt")).text()).toBe("mine");
  for (const path of ["/missing/new.txt", "/new.txt/below", "/folder/"]) {
    expect({ path, status: (await lock(path)).status }).toEqual({ path, status: 409 });
  }
  expect((await dav("GET", "/folder")).status).toBe(404);
  await dav("MKCOL", "/kept");
  const folder = await locked("/kept/", "exclusive", { depth: "0" });
  expect((await lock("/kept/new.txt")).status).toBe(423);
  expect((await dav("GET", "/kept/new.txt")).status).toBe(404);
  const allowed = await lock("/kept/new.txt", "exclusive", { if: `<${at("/kept/")}> (<${folder}>)` });
  expect(allowed.status).toBe(201);
});

eachStore("a lock is refreshed by who holds it, also through a member of its folder", async (store) => {
  await using node = await sharedNode(store);
  const { dav, locked, timeouts, as } = await lockSite(node);
  await dav("MKCOL", "/f");
  await dav("PUT", "/f/member", {}, "x");
  await dav("PUT", "/other", {}, "x");
  const token = await locked("/f/", "exclusive", { depth: "infinity", timeout: "Second-100" });
  const refresh = (path: string, shown = token, more = {}) =>
    dav("LOCK", path, { if: `(<${shown}>)`, timeout: "Second-5000", ...more });
  const renewed = await refresh("/f/");
  expect([renewed.status, renewed.headers.get("lock-token")]).toEqual([200, null]);
  expect(all(parseXml(await renewed.bytes()), "locktoken").map(textOf)).toEqual([token]);
  const close = (seconds: number[]) => seconds.map((count) => Math.round(count / 100) * 100);
  expect(close(await timeouts("/f/"))).toEqual([5000]);
  expect((await refresh("/f/member", token, { timeout: "Second-9000" })).status).toBe(200);
  expect(close(await timeouts("/f/"))).toEqual([9000]);
  for (const [path, shown] of [
    ["/other", token],
    ["/f/", `urn:uuid:${crypto.randomUUID()}`],
  ] as const) {
    expect((await refresh(path, shown)).status).toBe(412);
  }
  expect((await dav("LOCK", "/f/")).status).toBe(400);
  const stranger = as(await node.newToken(fourPermissions(node)));
  expect((await stranger("LOCK", "/f/", { if: `(<${token}>)`, timeout: "Second-20000" })).status).toBe(412);
  expect(close(await timeouts("/f/"))).toEqual([9000]);
});

eachStore(
  "a lock lasts as long as asked for, within a day, whatever the Timeout header looks like",
  async (store) => {
    await using node = await sharedNode(store);
    const { locked, timeouts, unlock } = await lockSite(node);
    const day = 24 * 3600;
    const stories: Array<[header: string | undefined, least: number, most: number]> = [
      ["Second-600", 590, 600],
      ["second-600", 590, 600],
      ["Infinite", 3600, day],
      ["Infinite, Second-4100000000", 3600, day],
      ["Second-4100000000", 3600, day],
      [`Second-${"9".repeat(400)}`, 3600, day],
      ["Second-120, Infinite", 110, 120],
      ["Extended-7, Second-120", 110, 120],
      [undefined, 60, day],
      ["", 60, day],
      ["soon", 60, day],
      ["Second-", 60, day],
      ["Second--5", 60, day],
    ];
    for (const [timeout, least, most] of stories) {
      const token = await locked("/file", "exclusive", timeout === undefined ? {} : { timeout });
      const [seconds = 0] = await timeouts("/file");
      expect({ timeout, kept: seconds >= least && seconds <= most, seconds }).toEqual({
        timeout,
        kept: true,
        seconds,
      });
      await unlock("/file", token);
    }
  },
);

eachStore("a lock that ran out frees the file, and its token is worth nothing", async (store) => {
  await using node = await sharedNode(store);
  const { dav, locked, timeouts, unlock, as } = await lockSite(node);
  const stranger = as(await node.newToken(fourPermissions(node)));
  const inUse = async (seconds: number): Promise<string> => {
    const token = await locked("/file", "exclusive", { timeout: `Second-${seconds}` });
    const { status } = await stranger("PUT", "/file", {}, "too early");
    // A busy machine may need longer than that.
    if (status !== 423 && seconds < 30) return inUse(seconds * 3);
    expect(status).toBe(423);
    return token;
  };
  const token = await inUse(1);
  await until("the lock ends", async () => (await timeouts("/file")).length === 0 || undefined);
  expect((await stranger("PUT", "/file", {}, "free")).status).toBe(204);
  expect((await unlock("/file", token)).status).toBe(409);
  expect((await dav("LOCK", "/file", { if: `(<${token}>)` })).status).toBe(412);
  expect((await dav("PUT", "/file", { if: `(<${token}>)` }, "late")).status).toBe(412);
  expect((await stranger("LOCK", "/file", {}, lockInfo())).status).toBe(200);
  expect(await (await dav("GET", "/file")).text()).toBe("free");
});

eachStore("only its holder and the operator release a lock, by its token", async (store) => {
  await using node = await sharedNode(store);
  const { dav, locked, unlock, timeouts, as } = await lockSite(node);
  await dav("MKCOL", "/f");
  await dav("PUT", "/f/member", {}, "x");
  const [token, other] = [await locked("/file"), await locked("/other")];
  expect((await dav("UNLOCK", "/file")).status).toBe(400);
  for (const header of ["", "<>", `(<${token}>)`, `<${token}> <${token}>`, `<${token}>, <${other}>`])
    expect((await dav("UNLOCK", "/file", { "lock-token": header })).status).toBe(400);
  expect((await unlock("/file", `urn:uuid:${crypto.randomUUID()}`)).status).toBe(409);
  const misplaced = await unlock("/file", other);
  expect(misplaced.status).toBe(409);
  expect(all(parseXml(await misplaced.bytes()), "lock-token-matches-request-uri")).toHaveLength(1);
  const stranger = as(await node.newToken(fourPermissions(node)));
  expect((await stranger("UNLOCK", "/file", { "lock-token": `<${token}>` })).status).toBe(403);
  expect((await unlock("/nowhere", token)).status).toBe(409);
  expect(await timeouts("/file")).toHaveLength(1);
  const operator = as(node.superToken);
  expect((await operator("UNLOCK", "/file", { "lock-token": `<${token}>` })).status).toBe(204);
  // As some clients write it.
  expect((await dav("UNLOCK", "/other", { "lock-token": other })).status).toBe(204);
  expect((await unlock("/other", other)).status).toBe(409);
  const deep = await locked("/f/", "exclusive", { depth: "infinity" });
  expect((await unlock("/f/member", deep)).status).toBe(204);
  expect(await timeouts("/f/")).toEqual([]);
});

eachStore("what is no request for a lock is refused, and no file is made for it", async (store) => {
  await using node = await sharedNode(store);
  const { dav, lock } = await lockSite(node);
  const info = lockInfo();
  const stories: Array<[body: string, status: number]> = [
    ["not XML", 400],
    ["<a/>", 400],
    [info.replace("</D:lockinfo>", ""), 400],
    [info.replaceAll("DAV:", "other:"), 400],
    [info.replace("<D:exclusive/>", ""), 400],
    [info.replace("<D:locktype><D:write/></D:locktype>", ""), 400],
    [info.replace("<D:write/>", "<D:read/>"), 422],
    [info.replace("<D:exclusive/>", "<D:mine/>"), 422],
    [info.replace("</D:lockinfo>", `<D:owner>${"o".repeat(100_000)}</D:owner></D:lockinfo>`), 413],
    [`<!DOCTYPE a [<!ENTITY b "c">]>${info}`, 400],
  ];
  for (const [body, status] of stories) {
    expect({ body: body.slice(0, 200), status: (await dav("LOCK", "/file", {}, body)).status }).toEqual({
      body: body.slice(0, 200),
      status,
    });
  }
  for (const depth of ["1", "2", "deep", ""])
    expect({ depth, status: (await lock("/file", "exclusive", { depth })).status }).toEqual({
      depth,
      status: 400,
    });
  expect((await dav("GET", "/file")).status).toBe(404);
});
