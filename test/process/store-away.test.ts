import { describe, expect, test } from "bun:test";
import { once } from "node:events";
import { connect } from "node:net";
import { etagOf, sha256 } from "../support/blob-stores.ts";
import { S3Site } from "../support/s3-site.ts";
import { hasSeaweed, seaweed } from "../support/seaweed.ts";
import { until } from "../support/until.ts";

const requestTimeoutMs = 2000;
/** For stories whose store answers, however late: the machine may be busy. */
const longTimeoutMs = 60_000;
/** Much longer than the deadlines of the server: the machine may be busy. */
const maxMs = 20_000;
/** The limit of stories in which several deadlines of the server pass, one after another. */
const deadlinesMs = 180_000;
const mib = 1024 * 1024;
const lockInfo =
  '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>';

const backAgain = /INFO .*file store can be used again/;

const xml = (code: string) => `<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`;

/** Ways of a store to be away: how each begins and ends. */
const faults: Readonly<
  Record<string, readonly [begin: (site: S3Site) => void, end: (site: S3Site) => void]>
> = {
  "is cut": [({ relay }) => relay.cut(), ({ relay }) => relay.mend()],
  "is silent": [({ relay }) => relay.silence(), ({ relay }) => relay.mend()],
  "answers 503": [
    (site) => {
      site.onRequest = () => ({ kind: "answer", status: "503 Slow Down", body: xml("SlowDown") });
    },
    (site) => {
      site.onRequest = undefined;
    },
  ],
  "answers 200 with an error in the body": [
    (site) => {
      site.onRequest = () => ({ kind: "answer", status: "200 OK", body: xml("InternalError") });
    },
    (site) => {
      site.onRequest = undefined;
    },
  ],
};

async function inTime<T>(work: Promise<T>): Promise<T> {
  const begun = performance.now();
  const result = await work;
  expect(performance.now() - begun).toBeLessThan(maxMs);
  return result;
}

/** The files that every story begins with: one is in the cache, the others have never been read. */
async function fill(site: S3Site): Promise<void> {
  for (const path of ["cached.txt", "a.txt", "b.txt", "c.txt", "d.txt"])
    expect((await site.dav("PUT", path, {}, `content of ${path}`)).status).toBe(201);
  expect((await site.dav("PUT", "large.bin", {}, Buffer.alloc(8 * mib, "large"))).status).toBe(201);
  expect(await site.get("cached.txt")).toMatchObject({ status: 200, text: "content of cached.txt" });
}

const later = (answer: { status: number; headers: Headers }) => [
  answer.status,
  answer.headers.get("retry-after") !== null,
];

/** What needs the store is refused in time, to be tried again; whatever does not goes on. */
async function expectAway(site: S3Site): Promise<void> {
  const reads = await Promise.all([
    inTime(site.get("a.txt")),
    inTime(site.dav("GET", "a.txt")),
    inTime(site.get("large.bin", { range: "bytes=5000000-5000010" })),
    inTime(site.dav("PUT", "a.txt", {}, "replaced")),
    inTime(site.dav("PUT", "new.bin", {}, Buffer.alloc(12 * mib, "x"))),
  ]);
  expect(reads.map(later)).toEqual(reads.map(() => [503, true]));
  const upload = { path: "new.txt", body: "new" };
  expect(await inTime(site.rpc("static-bucket-file_upload", upload))).toBe("unavailable");
  expect(await inTime(site.rpc("static-bucket-file_read", { path: "a.txt" }))).toBe("unavailable");

  expect(await site.get("cached.txt")).toMatchObject({ status: 200, text: "content of cached.txt" });
  expect((await site.dav("GET", "cached.txt")).text).toBe("content of cached.txt");
  const etag = etagOf(sha256("content of a.txt"));
  expect((await site.get("a.txt", {}, "HEAD")).headers.get("etag")).toBe(etag);
  expect((await site.get("a.txt", { "if-none-match": etag })).status).toBe(304);
  const listed = await site.dav("PROPFIND", "", { depth: "1" });
  expect([listed.status, listed.text.includes("new."), listed.text.includes(etag.slice(1, -1))]).toEqual([
    207,
    false,
    true,
  ]);
  expect((await site.dav("PUT", "empty.txt", {}, "")).status).toBe(201);
  expect((await site.dav("MKCOL", "folder")).status).toBe(201);
  const to = (path: string) => ({ destination: `/node/static-webdav/site/${path}` });
  expect((await site.dav("MOVE", "b.txt", to("folder/moved.txt"))).status).toBe(201);
  expect((await site.dav("COPY", "c.txt", to("folder/copied.txt"))).status).toBe(201);
  expect((await site.dav("DELETE", "d.txt")).status).toBe(204);
  const locked = await site.dav("LOCK", "c.txt", { timeout: "Second-600" }, lockInfo);
  expect(locked.status).toBe(200);
  expect((await site.dav("DELETE", "c.txt")).status).toBe(423);
  const unlock = { "lock-token": locked.headers.get("lock-token") ?? "" };
  expect((await site.dav("UNLOCK", "c.txt", unlock)).status).toBe(204);
}

/** The store is used again without anybody's help, and nothing is half-done. */
async function expectBack(site: S3Site): Promise<void> {
  await until("the server is ready again", async () => (await site.missing()).length === 0);
  for (const [path, text] of [
    ["a.txt", "content of a.txt"],
    ["folder/moved.txt", "content of b.txt"],
    ["folder/copied.txt", "content of c.txt"],
    ["empty.txt", ""],
  ] as const)
    expect(await site.get(path)).toMatchObject({ status: 200, text });
  expect((await site.get("large.bin", { range: "bytes=5000000-5000004" })).status).toBe(206);
  for (const path of ["new.bin", "new.txt", "d.txt"]) expect((await site.get(path)).status).toBe(404);
  expect((await site.dav("PUT", "a.txt", {}, "replaced")).status).toBe(204);
  expect((await site.get("a.txt")).text).toBe("replaced");
}

describe.skipIf(!hasSeaweed)("a server whose S3 store is away", () => {
  for (const [name, [begin, end]] of Object.entries(faults))
    test(
      `refuses in time what needs the store, goes on with the rest, and recovers by itself, when the store ${name}`,
      async () => {
        await using site = await S3Site.open(longTimeoutMs);
        await fill(site);
        await site.waitFor(requestTimeoutMs);
        // A reload may forget what was in memory.
        await until("the file is in the cache", async () => (await site.get("cached.txt")).status === 200);
        const logged = () => [site.logged(/ERROR .*file store cannot be used/), site.logged(backAgain)];
        const before = logged();
        begin(site);
        await until("the server reports what it lacks", async () => (await site.missing()).includes("store"));
        await expectAway(site);
        expect(await site.missing()).toEqual(["store"]);
        end(site);
        await until("the server is ready again", async () => (await site.missing()).length === 0);
        await until("the log tells the end", () => logged()[1] !== before[1]);
        await site.waitFor(longTimeoutMs);
        await expectBack(site);
        expect(logged().map((count, at) => count - (before[at] ?? 0))).toEqual([1, 1]);
      },
      deadlinesMs,
    );

  test(
    "says in the log what to look at when the store does not answer",
    async () => {
      // Longer than readiness waits.
      await using site = await S3Site.open(10_000);
      site.relay.silence();
      await until("the server reports what it lacks", async () => (await site.missing()).includes("store"));
      const late = /ERROR .*reason="the store does not answer; check its network/;
      await until("the log has the reason", () => site.logged(late) === 1);
    },
    deadlinesMs,
  );

  test(
    "refuses an upload before its body while the store is known not to answer, and looks whether it is back",
    async () => {
      await using site = await S3Site.open(10_000);
      site.relay.silence();
      await until("the server reports what it lacks", async () => (await site.missing()).includes("store"));
      const { hostname, port } = new URL(site.server.url);
      const socket = connect({ host: hostname, port: Number(port) });
      const authorization = `Basic ${Buffer.from(site.token).toString("base64")}`;
      // Only the headers: the answer must not wait for the body.
      socket.write(
        `PUT /node/static-webdav/site/new.bin HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: ${authorization}\r\nContent-Length: 50000000\r\n\r\n`,
      );
      const [answer] = (await once(socket, "data")) as [Buffer];
      socket.destroy();
      expect(answer.toString()).toMatch(/^HTTP\/1\.1 503 .*\r\nretry-after: /is);
      await site.relay.mend();
      await until(
        "uploads are taken again",
        async () => (await site.dav("PUT", "new.bin", {}, "x")).status < 300,
      );
      await until("the log tells of the recovery", () => site.logged(backAgain) > 0);
      expect(site.logged(backAgain)).toBe(1);
    },
    deadlinesMs,
  );

  test("waits for a store that is slow, and is ready", async () => {
    await using site = await S3Site.open(longTimeoutMs);
    await fill(site);
    site.onRequest = () => ({ kind: "delay", ms: 100 });
    expect(await site.get("a.txt")).toMatchObject({ status: 200, text: "content of a.txt" });
    expect((await site.get("large.bin")).text).toBe("large".repeat(2 * mib).slice(0, 8 * mib));
    expect((await site.dav("PUT", "b.txt", {}, "replaced")).status).toBe(204);
    expect(
      (await site.rpc("static-bucket-file_upload", { path: "c.txt", body: "new" })) === "unavailable",
    ).toBe(false);
    await until("the server is ready", async () => (await site.missing()).length === 0);
  });

  test(
    "ends an answer that it cannot complete, so that no client takes it for whole",
    async () => {
      await using site = await S3Site.open(longTimeoutMs);
      await fill(site);
      await site.waitFor(requestTimeoutMs);
      // It is silent after a part of the content, whatever is asked again.
      site.onRequest = (line) =>
        line.startsWith("GET") ? { kind: "silence", at: { of: "answer", after: mib } } : undefined;
      const download = inTime(
        site.get("large.bin").then(
          ({ text }) => text.length,
          () => "failed",
        ),
      );
      expect(await download).toBe("failed");
      site.onRequest = undefined;
      await site.waitFor(longTimeoutMs);
      expect((await site.get("large.bin")).text.length).toBe(8 * mib);
    },
    deadlinesMs,
  );

  test("says of a lost object which file it was, and takes the file anew", async () => {
    await using site = await S3Site.open(longTimeoutMs);
    await fill(site);
    const client = new Bun.S3Client((await seaweed()).location);
    const { contents = [] } = await client.list({ prefix: `${site.prefix}/` });
    const lost = contents.filter(({ size }) => size === "content of a.txt".length);
    // Those of b.txt, c.txt and d.txt, too.
    expect(lost).toHaveLength(4);
    for (const { key } of lost) await client.delete(key);
    const large = contents.find(({ size }) => size === 8 * mib);
    expect((await inTime(site.get("a.txt"))).status).toBe(502);
    const lostFile = /ERROR .*missing from the store.*bucket=site.*path=a\.txt/;
    await until("the log tells of the file", () => site.logged(lostFile) > 0);
    expect(site.logged(lostFile)).toBe(1);
    expect((await inTime(site.dav("GET", "b.txt"))).status).toBe(502);
    expect(await inTime(site.rpc("static-bucket-file_read", { path: "c.txt" }))).toBe("blob_missing");
    // An object that is shorter than it was is lost, too.
    for (const length of [0, 5, mib]) {
      await client.write(large?.key ?? "", Buffer.alloc(length, "large"));
      const range = { range: "bytes=5000000-5000010" };
      for (const headers of [range, {}]) {
        // An answer that has begun already is cut.
        const { status } = await inTime(site.get("large.bin", headers).catch(() => ({ status: "cut" })));
        expect([length, status]).toEqual([length, length === 0 || status === 502 ? 502 : "cut"]);
      }
    }
    await until("every such request is in the log", () => site.logged(/ERROR .*path=large\.bin/) === 6);
    expect((await site.dav("PROPFIND", "", { depth: "1" })).status).toBe(207);
    expect(await site.missing()).toEqual([]);
    expect((await site.dav("PUT", "a.txt", {}, "content of a.txt")).status).toBe(204);
    expect(await site.get("a.txt")).toMatchObject({ status: 200, text: "content of a.txt" });
    expect((await site.dav("DELETE", "b.txt")).status).toBe(204);
  });
});
