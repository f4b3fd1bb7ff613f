import { describe, expect, test } from "bun:test";
import { Fault } from "../../src/base/fault.ts";
import type { BlobStore, ByteRange } from "../../src/blobs/blob-store.ts";
import { listed, never, s3Blobs, sha256, textOf } from "../support/blob-stores.ts";
import { openRelay, type RequestFault } from "../support/relay.ts";
import { hasSeaweed, seaweed } from "../support/seaweed.ts";
import { randomBytes } from "../support/tools.ts";
import { until } from "../support/until.ts";

const mib = 1024 * 1024;
const about = { path: "site/index.html" };
/** Much longer than any deadline in these tests: the machine may be busy. */
const maxMs = 25_000;

async function* pieces(content: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += 64 * 1024) yield content.subarray(at, at + 64 * 1024);
}

const small = randomBytes(20_000);
/** More than one part. */
const large = randomBytes(20 * mib);

/** A store behind a relay, and the same without it. */
async function relayed(
  onRequest: (line: string) => RequestFault | undefined,
  { requestTimeoutMs = 30_000 } = {},
) {
  const { port } = await seaweed();
  let isFaulty = false;
  const relay = await openRelay(port, { onRequest: (line) => (isFaulty ? onRequest(line) : undefined) });
  const prefix = crypto.randomUUID();
  const direct = await s3Blobs({ prefix });
  const existing = await direct.put(small, about, never);
  const store = await s3Blobs({ prefix, endpoint: relay.url, requestTimeoutMs });
  isFaulty = true;
  return { relay, store, direct, existing, [Symbol.asyncDispose]: () => relay[Symbol.asyncDispose]() };
}

/** How a call ends, and that it ends in time with a Fault which has no secret in it. */
async function ending(work: Promise<unknown>): Promise<string> {
  const begun = performance.now();
  const error = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(performance.now() - begun).toBeLessThan(maxMs);
  if (error === undefined) return "succeeds";
  if (!(error instanceof Fault)) throw error;
  const { secretAccessKey, accessKeyId } = (await seaweed()).location;
  const text = Bun.inspect(error) + JSON.stringify(error.data);
  for (const secret of [secretAccessKey, accessKeyId, "Signature=", "Credential="])
    expect(text).not.toContain(secret);
  return String(error.data.reason ?? error.detail);
}

/** Every blob that the store lists is a whole one. */
async function expectWhole(store: BlobStore): Promise<void> {
  for (const { size } of (await Array.fromAsync(store.list())).flat())
    expect([small.length, large.length]).toContain(size);
}

const operations: Readonly<Record<string, (store: BlobStore, key: string) => Promise<unknown>>> = {
  "a short upload": (store) => store.put(pieces(small), about, never),
  "a long upload": (store) => store.put(pieces(large), about, never),
  "a read": (store, key) => textOf(store, key),
  "a listing": (store) => listed(store),
  "a deletion": (store, key) => store.delete([key]),
  "a check": (store) => store.check(never),
};

const xml = (code: string) => `<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`;
const answer = (status: string, body = "", headers = ""): RequestFault => ({
  kind: "answer",
  status,
  body,
  headers,
});

/** Faults of every request, and how every operation ends. */
const faults: Readonly<Record<string, readonly [fault: RequestFault, ends: RegExp]>> = {
  "is busy (503)": [answer("503 Slow Down", xml("SlowDown")), /^unavailable$/],
  "fails (500)": [answer("500 Internal Server Error"), /^unavailable$/],
  "cuts every connection": [{ kind: "cut", at: { of: "request", after: 10 } }, /^unavailable$/],
  "is silent": [{ kind: "silence", at: { of: "request", after: 10 } }, /^unavailable$/],
  "says that the keys are wrong": [
    answer("403 Forbidden", xml("InvalidAccessKeyId")),
    /refused access_key_id and secret_access_key/,
  ],
  "says that the bucket is missing": [
    answer("404 Not Found", xml("NoSuchBucket")),
    /the bucket of \[files\] url does not exist/,
  ],
};
const redirect = answer("307 Temporary Redirect", "", "location: http://127.0.0.1:9/\r\n");

describe.skipIf(!hasSeaweed)("an S3 store behind a faulty network", () => {
  for (const [name, [fault, ends]] of Object.entries(faults))
    test(`every call ends in time with the right error when the store ${name}`, async () => {
      await using blobs = await relayed(() => fault, { requestTimeoutMs: 3000 });
      const runs = Object.entries(operations).map(async ([operation, run]) => {
        const ended = await ending(run(blobs.store, blobs.existing.key));
        expect([operation, ended]).toEqual([operation, expect.stringMatching(ends)]);
      });
      await Promise.all(runs);
      expect(await listed(blobs.direct)).toEqual([blobs.existing.key]);
    });

  test("a store that refuses connections is unavailable", async () => {
    await using blobs = await relayed(() => undefined);
    blobs.relay.cut();
    for (const run of Object.values(operations))
      expect(await ending(run(blobs.store, blobs.existing.key))).toBe("unavailable");
  });

  test("a bucket in another region is named as the reason, and the redirect is not followed with the keys", async () => {
    await using blobs = await relayed(() => redirect);
    for (const run of Object.values(operations))
      expect(await ending(run(blobs.store, blobs.existing.key))).toContain("the bucket is in another region");
  });

  test("an error or a list without an end is not read to its end", async () => {
    const { key } = await (await s3Blobs()).put(small, about, never);
    let [sent, status] = [0, 500];
    const pull = (controller: ReadableStreamDefaultController) => {
      sent += mib;
      controller.enqueue(new Uint8Array(mib));
    };
    using server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => new Response(new ReadableStream({ pull }), { status }),
    });
    const store = await s3Blobs({ endpoint: server.url.origin, requestTimeoutMs: 5000 });
    expect(await ending(textOf(store, key))).toBe("unavailable");
    expect(sent).toBeLessThan(40 * mib);
    [sent, status] = [0, 200];
    expect(await ending(listed(store))).toContain("the answer is not that of an S3 store");
    expect(sent).toBeLessThan(40 * mib);
  });

  test("what fails for a moment is repeated, and succeeds", async () => {
    let failures = 0;
    const passing: readonly RequestFault[] = [
      answer("503 Slow Down", xml("SlowDown")),
      { kind: "cut", at: { of: "request", after: 100 } },
    ];
    await using blobs = await relayed(() => passing[failures++]);
    for (const [operation, run] of Object.entries(operations)) {
      failures = operation === "a long upload" ? passing.length : 0;
      expect(await ending(run(blobs.store, blobs.existing.key))).toBe("succeeds");
    }
  });

  test("a read that is cut goes on where it was cut, and one that is cut without progress ends", async () => {
    let after = 4 * mib;
    await using blobs = await relayed(() => ({ kind: "cut", at: { of: "answer", after } }));
    const { key, sha256: hash } = await blobs.direct.put(large, about, never);
    const read = (range?: ByteRange) =>
      blobs.store.get(key, range, never).then((stream) => new Response(stream).bytes());
    expect(sha256(await read())).toBe(hash);
    const part = await read({ start: 1000, end: 18 * mib });
    expect(sha256(part)).toBe(sha256(large.subarray(1000, 18 * mib + 1)));
    after = 20;
    expect(await ending(read())).toBe("unavailable");
  });

  test("a read that falls silent in the middle ends in time", async () => {
    await using blobs = await relayed(() => ({ kind: "silence", at: { of: "answer", after: 6000 } }), {
      requestTimeoutMs: 1000,
    });
    const stream = await blobs.store.get(blobs.existing.key, undefined, never);
    expect(await ending(new Response(stream).bytes())).toBe("unavailable");
  });

  test("a slow store is waited for while it makes progress", async () => {
    await using blobs = await relayed(() => ({ kind: "delay", ms: 60 }), { requestTimeoutMs: 4000 });
    const { key } = await blobs.direct.put(large.subarray(0, 6 * mib), about, never);
    const begun = performance.now();
    const read = await new Response(await blobs.store.get(key, undefined, never)).bytes();
    expect(sha256(read)).toBe(sha256(large.subarray(0, 6 * mib)));
    // The test is one only if the whole took longer than a step may.
    expect(performance.now() - begun).toBeGreaterThan(4000);
    expect(await ending(blobs.store.put(pieces(small), about, never))).toBe("succeeds");
  });

  test("an upload that is accepted and not stored is not taken for a success", async () => {
    const broken = answer("200 OK", xml("InternalError"), 'etag: "x"\r\n');
    await using blobs = await relayed((line) => (/^(PUT|POST) /.test(line) ? broken : undefined), {
      requestTimeoutMs: 5000,
    });
    for (const content of [small, large])
      expect(await ending(blobs.store.put(pieces(content), about, never))).toBe("unavailable");
    expect(await listed(blobs.direct)).toEqual([blobs.existing.key]);
  });

  test("an upload that was given up and arrives late is deleted", async () => {
    await using blobs = await relayed(
      (line) => (line.startsWith("PUT") ? { kind: "delay", ms: 1500 } : undefined),
      {
        requestTimeoutMs: 1000,
      },
    );
    expect(await ending(blobs.store.put(pieces(small), about, never))).toBe("unavailable");
    const keys = async () => (await listed(blobs.direct)).length;
    await until("it has arrived", async () => (await keys()) === 2);
    await until("it is deleted", async () => (await keys()) === 1);
  });

  const moments: Readonly<Record<string, readonly [line: RegExp, fault: RequestFault]>> = {
    "a short upload is cut in its middle": [/^PUT /, { kind: "cut", at: { of: "request", after: 10_000 } }],
    "a short upload falls silent in its middle": [
      /^PUT /,
      { kind: "silence", at: { of: "request", after: 10_000 } },
    ],
    "the answer to an upload is lost": [/^PUT /, { kind: "silence", at: { of: "answer", after: 0 } }],
    "a part is cut in its middle": [/partNumber=2/, { kind: "cut", at: { of: "request", after: mib } }],
    "a part falls silent in its middle": [
      /partNumber=2/,
      { kind: "silence", at: { of: "request", after: mib } },
    ],
    "a part is refused": [/partNumber=2/, answer("503 Slow Down", xml("SlowDown"))],
    "the end of a long upload is cut": [
      /^POST .*uploadId=/,
      { kind: "cut", at: { of: "request", after: 10 } },
    ],
    "the end of a long upload is not answered": [
      /^POST .*uploadId=/,
      { kind: "silence", at: { of: "answer", after: 0 } },
    ],
    "the end of a long upload is an error with status 200": [
      /^POST .*uploadId=/,
      answer("200 OK", xml("InternalError")),
    ],
  };
  for (const [name, [line, fault]] of Object.entries(moments))
    test(`no torn file is left when ${name}`, async () => {
      await using blobs = await relayed((request) => (line.test(request) ? fault : undefined), {
        requestTimeoutMs: name.includes("short") ? 4000 : 2000,
      });
      const content = name.includes("short") ? small : large;
      expect(await ending(blobs.store.put(pieces(content), about, never))).toBe("unavailable");
      await expectWhole(blobs.direct);
      expect(await textOf(blobs.direct, blobs.existing.key)).toBe(Buffer.from(small).toString());
    });
});
