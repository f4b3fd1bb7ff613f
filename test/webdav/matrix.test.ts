import { expect } from "bun:test";
import { existsSync, readdirSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { eachStore, type TestNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { storedFiles } from "../support/stored-site.ts";
import { until } from "../support/until.ts";
import { webdavSite } from "../support/webdav.ts";

const sharedNode = sharedNodes();

const cutAt = 900_000;
const whole = 2_000_000;

/** A bucket, what it contains, and what is on its way into it. */
async function siteOf(node: TestNode) {
  const site = await webdavSite(node);
  const staging = join(node.folder, node.store === "disk" ? "static/~staging" : "blobs/unfinished");
  const { paths: names, text: read, stats } = storedFiles(node);
  return {
    ...site,
    names,
    read,
    stats,
    /** The sizes of what is being uploaded. */
    staged: () =>
      (existsSync(staging) ? readdirSync(staging, { recursive: true }) : [])
        .map((name) => statSync(join(staging, String(name)), { throwIfNoEntry: false }))
        .flatMap((stats) => (stats?.isFile() ? [stats.size] : [])),
  };
}

type Site = Awaited<ReturnType<typeof siteOf>>;

/** The first part of a PUT of `x`, on the disk already, and the ways in which it can go on. */
async function halfPut({ base, authorization, staged }: Site, path: string, chunked: boolean) {
  const { hostname, port, pathname } = new URL(base + path);
  const socket = connect(Number(port), hostname);
  let heard = "";
  socket.on("data", (bytes) => {
    heard += bytes.toString();
  });
  socket.on("error", () => {});
  const size = chunked ? "Transfer-Encoding: chunked" : `Content-Length: ${whole}`;
  socket.write(
    `PUT ${pathname} HTTP/1.1\r\nHost: here\r\nAuthorization: ${authorization}\r\n${size}\r\n\r\n`,
  );
  const part = (bytes: number) =>
    chunked ? `${bytes.toString(16)}\r\n${"x".repeat(bytes)}\r\n` : "x".repeat(bytes);
  for (let sent = 0; sent < cutAt; sent += 100_000) socket.write(part(100_000));
  await until("the first part is on the disk", () => staged().some((bytes) => bytes >= cutAt - 100_000));
  return {
    FIN: () => void socket.end(),
    RST: () => void socket.resetAndDestroy(),
    // A server that hears FIN may answer; one that is cut off inside a chunk must not take it for the end.
    "FIN inside a chunk": () => void socket.end(chunked ? "fff\r\nx" : "x"),
    finish: () => {
      socket.write(part(whole - cutAt) + (chunked ? "0\r\n\r\n" : ""));
      return until("the upload is answered", () => /^HTTP\/1\.1 (\d+)/.exec(heard)?.[1]);
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

for (const chunked of [false, true]) {
  for (const how of ["FIN", "RST", "FIN inside a chunk"] as const) {
    eachStore(
      `an upload ${chunked ? "in chunks" : "of a known length"} that ends after 900 kB by ${how} leaves the old file, or none, and nothing else`,
      async (store) => {
        await using node = await sharedNode(store);
        const site = await siteOf(node);
        await site.dav("PUT", "/old.bin", {}, "the old content");
        const { modifiedMs } = await site.stats("old.bin");
        for (const path of ["/old.bin", "/new.bin"]) {
          using upload = await halfPut(site, path, chunked);
          upload[how]();
          await until("the server has heard of it", () => site.staged().length === 0);
        }
        expect([await site.names(), await site.read("old.bin"), site.staged()]).toEqual([
          ["old.bin"],
          "the old content",
          [],
        ]);
        expect((await site.stats("old.bin")).modifiedMs).toBe(modifiedMs);
        expect((await site.dav("GET", "/new.bin")).status).toBe(404);
        // And the path is free for the next try.
        expect((await site.dav("PUT", "/new.bin", {}, "again")).status).toBe(201);
      },
    );
  }
}

eachStore(
  "who reads while an upload is half done gets the old file whole, or 404, and then the new one whole",
  async (store) => {
    await using node = await sharedNode(store);
    const site = await siteOf(node);
    await site.dav("PUT", "/old.bin", {}, "the old content");
    for (const chunked of [false, true]) {
      for (const [path, before, status] of [
        ["/old.bin", "the old content", "204"],
        [`/new-${chunked}.bin`, undefined, "201"],
      ] as const) {
        using upload = await halfPut(site, path, chunked);
        for (const url of [`${node.url}/node/static/${node.bucket}${path}`, site.base + path]) {
          const response = await fetch(url, { headers: { authorization: site.authorization } });
          const text = await response.text();
          expect(response.status === 404 ? undefined : text).toBe(before);
        }
        const listing = await (await site.dav("PROPFIND", "/", { depth: "1" })).text();
        expect([path, listing.includes(`${node.bucket}${path}<`)]).toEqual([path, before !== undefined]);
        expect(await upload.finish()).toBe(status);
        const after = await (await site.dav("GET", path)).text();
        expect([path, after.length, after.replaceAll("x", "")]).toEqual([path, whole, ""]);
      }
      await site.dav("PUT", "/old.bin", {}, "the old content");
    }
    expect(site.staged()).toEqual([]);
  },
);

eachStore(
  "conditions hold for an upload: If-None-Match: * spares what is there, a stale If-Match spares the newer file",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav, read, names } = await siteOf(node);
    const first = (await dav("PUT", "/a.txt", { "if-none-match": "*" }, "one")).headers.get("etag") ?? "";
    expect((await dav("PUT", "/a.txt", { "if-none-match": "*" }, "bad")).status).toBe(412);
    const replaced = await dav("PUT", "/a.txt", { "if-match": first }, "two");
    const second = replaced.headers.get("etag") ?? "";
    expect([replaced.status, second === first]).toEqual([204, false]);
    const before = new Date(Date.now() - 86_400_000).toUTCString();
    const stale: Record<string, string>[] = [
      { "if-match": first },
      { "if-match": `W/${second}` },
      { "if-match": '"other", "others"' },
      { "if-none-match": second },
      { "if-none-match": `"x", W/${second}` },
      { "if-unmodified-since": before },
      { if: `([${first}])` },
    ];
    for (const headers of stale) {
      for (const [verb, extra] of [
        ["PUT", {}],
        ["DELETE", {}],
        ["MOVE", { destination: `/node/static-webdav/${node.bucket}/b.txt` }],
      ] as const) {
        const { status } = await dav(
          verb,
          "/a.txt",
          { ...headers, ...extra },
          verb === "PUT" ? "bad" : undefined,
        );
        expect([verb, headers, status]).toEqual([verb, headers, 412]);
      }
    }
    for (const headers of [{ "if-match": "*" }, { "if-match": first }])
      expect((await dav("PUT", "/none.txt", headers, "bad")).status).toBe(412);
    expect([await names(), await read("a.txt")]).toEqual([["a.txt"], "two"]);
    expect((await dav("PUT", "/a.txt", { "if-match": `"x", ${second}` }, "three")).status).toBe(204);
    expect(await read("a.txt")).toBe("three");
  },
);

eachStore("a part of a file is refused and never stored as the file", async (store) => {
  await using node = await sharedNode(store);
  const { dav, read, names, staged } = await siteOf(node);
  await dav("PUT", "/a.txt", {}, "0123456789");
  for (const range of ["bytes 3-5/10", "bytes 0-2/*", "bytes 0-2/3", "nonsense"])
    for (const path of ["/a.txt", "/new.txt"])
      expect((await dav("PUT", path, { "content-range": range }, "abc")).status).toBe(400);
  expect((await dav("PUT", "/a.txt", { "content-encoding": "gzip" }, "abc")).status).toBe(415);
  expect([await names(), await read("a.txt"), staged()]).toEqual([["a.txt"], "0123456789", []]);
});

eachStore(
  "of Destination only the path counts: any scheme and host, encoded or not, as long as it stays in the bucket",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav, base, read, names } = await siteOf(node);
    // One has a name that begins with that of the bucket.
    const [other, longer] = [node.own("other"), `${node.bucket}2`];
    await node.call("static-bucket_create", { token: node.superToken, name: other });
    await node.call("static-bucket_create", { token: node.superToken, name: longer });
    await dav("MKCOL", "/a dir");
    await dav("PUT", "/0", {}, "words");
    const { host, pathname } = new URL(base);
    const good: [string, string][] = [
      [`https://${host}${pathname}/1`, "1"],
      [`https://files.example.org${pathname}/2`, "2"],
      [`http://user@proxy:8080${pathname}/3?x=y`, "3"],
      [`${pathname}/4`, "4"],
      [`${pathname}/a%20dir/5%25%23%3F%26`, "a dir/5%#?&"],
      [`${pathname}/%61%20dir//6`, "a dir/6"],
      [`/node/static-webdav//${node.bucket}//7`, "7"],
      [`${pathname.replace("site", "s%69te")}/%C3%A9`, "é"],
      [`${base}/0`, "0"],
    ];
    let from = "/0";
    for (const [destination, name] of good) {
      const moved = await dav("MOVE", from, { destination });
      expect([destination, moved.status, await read(name)]).toEqual([destination, 201, "words"]);
      from = `/${name.split("/").map(encodeURIComponent).join("/")}`;
      expect(moved.headers.get("location")).toBe(pathname + from);
    }
    const before = await names();
    const bad = [
      ...[
        `${node.url}/node/static-webdav/${other}/x`,
        `/node/static-webdav/${longer}/x`,
        "/node/static-webdav/none/x",
      ],
      ...[
        "/",
        "/x",
        `/node/static/${node.bucket}/x`,
        "/node/static-webdav",
        "/node/static-webdav/",
        "https://elsewhere.example/x",
      ],
      ...[
        `/node/static-webdavx/${node.bucket}/x`,
        `/node/static-webdav/${node.bucket}/../${other}/x`,
        `/node/static-webdav/${node.bucket}/%2e%2e/${other}/x`,
      ],
      ...[
        `/node/static-webdav/${node.bucket}/..%2f${other}/x`,
        "/node/static-webdav/../x",
        `/node/static-webdav/${node.bucket}/./x`,
      ],
      ...[
        `/node/static-webdav/${node.bucket}/a%5cx`,
        `/node/static-webdav/${node.bucket}/C:/x`,
        `/node/static-webdav/${node.bucket}/%00`,
        "x",
      ],
      ...[
        "",
        "http://",
        `/node/static-webdav/${node.bucket}/%zz`,
        `/node/static-webdav/${node.bucket}/%ff`,
        `${pathname}/x#y`,
      ],
    ];
    for (const destination of bad) {
      for (const verb of ["MOVE", "COPY"]) {
        const { status } = await dav(verb, "/0", { destination });
        expect([verb, destination, [400, 403, 502].includes(status), status]).toEqual([
          verb,
          destination,
          true,
          status,
        ]);
        if ([other, longer, "none"].some((name) => destination.endsWith(`/node/static-webdav/${name}/x`)))
          expect([destination, [403, 502].includes(status)]).toEqual([destination, true]);
      }
    }
    expect((await dav("MOVE", "/0")).status).toBe(400);
    expect([await names(), await storedFiles(node, other).names()]).toEqual([before, []]);
  },
);

eachStore(
  "a folder is the same with and without a slash at its end, and with slashes doubled; no verb is sent elsewhere",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav, base, names } = await siteOf(node);
    const expectStatus = async (
      status: number,
      verb: string,
      path: string,
      headers: Record<string, string> = {},
    ) => expect([verb, path, (await dav(verb, path, headers)).status]).toEqual([verb, path, status]);
    for (const [first, second] of [
      ["/d", "/e"],
      ["/d/", "/e"],
      ["/d", "/e/"],
      ["/d/", "/e/"],
      ["//d", "//e//"],
    ] as const) {
      await expectStatus(201, "MKCOL", first);
      await expectStatus(405, "MKCOL", first);
      await expectStatus(207, "PROPFIND", first, { depth: "1" });
      for (const verb of ["GET", "HEAD"]) await expectStatus(200, verb, first);
      await dav("PUT", "/d//a.txt", {}, "words");
      await expectStatus(201, "COPY", first, { destination: base + second });
      await expectStatus(204, "DELETE", first);
      await expectStatus(201, "MOVE", second, { destination: base + first });
      expect(await names()).toEqual(["d", "d/a.txt"]);
      const lock = await dav(
        "LOCK",
        first,
        {},
        '<lockinfo xmlns="DAV:"><lockscope><shared/></lockscope><locktype><write/></locktype></lockinfo>',
      );
      await expectStatus(204, "UNLOCK", second.replace("e", "d"), {
        "lock-token": lock.headers.get("lock-token") ?? "",
      });
      await expectStatus(204, "DELETE", first);
    }
    expect(await names()).toEqual([]);
  },
);
