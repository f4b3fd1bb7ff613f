import { expect } from "bun:test";
import { filesOf, siteWith } from "../support/bucket.ts";
import { Wire } from "../support/hostile.ts";
import { metricsText, valuesIn } from "../support/metrics.ts";
import { type TestNode, testNode } from "../support/node.ts";
import { test } from "../support/test.ts";
import { tier } from "../support/tier.ts";

const body = "hello";

/** Forms of a number that a header may have, by mistake or to do harm. The first is sent as two headers. */
const forms = [
  ["5", "5"],
  ["0", "0"],
  ...["", "99999999999999999999", "9007199254740993", "-1", "1.5", " 5 5 ", "5, 5", "5,", ",", "+5"],
  ...["NaN", "Infinity", "0x10", "1e3", "5 bytes", "٥", "1".repeat(400)],
].map((form) => [form].flat());

/** Headers in which the server reads a number, with what stands before it. */
const headers = {
  "content-length": "",
  "x-expected-entity-length": "",
  "upload-length": "",
  "upload-offset": "",
  "x-oc-mtime": "",
  depth: "",
  timeout: "Second-",
  range: "bytes=0-",
  "content-range": "bytes 0-4/",
  "accept-encoding": "gzip;q=",
  accept: "application/openmetrics-text;q=",
  "if-modified-since": "",
  "if-unmodified-since": "",
  cookie: "node_server_preview=a/b@c/",
  "max-forwards": "",
  "x-forwarded-for": "",
};

/** Requests for every route: with addresses that lead nowhere, and with those of links and of an upload under way. */
async function linesFor(node: TestNode): Promise<readonly string[]> {
  const { bucket } = node;
  const file = `${bucket}/a.txt`;
  const token = node.superToken;
  const link = async (path: string, options: object, name = bucket) => {
    const call = { token, name, path, ...options };
    return ((await node.call("static-bucket-file_link", call)) as { address: string }).address;
  };
  const box = await link("inbox", { upload: true });
  // A password protects nothing in a public bucket.
  await node.call("static-bucket_create", { token, name: "private", public: false });
  await node.call("static-bucket-file_upload", { token, name: "private", path: "a.txt", body: "" });
  const form = await link("a.txt", { password: "secret" }, "private");
  const upload = await beginUpload(node);
  return [
    ...["POST /jsonrpc", "POST /node/rpc", "POST /", "GET /", "GET /terminal", "GET /nothing"],
    ...[`GET /node/static/${file}`, `PUT /node/static/${file}`, "GET /node/preview/x/"],
    ...["GET", "PUT", "PROPFIND", "PROPPATCH", "LOCK", "COPY", "MOVE"].map(
      (verb) => `${verb} /node/static-webdav/${file}`,
    ),
    `MKCOL /node/static-webdav/${bucket}/folder`,
    ...["POST", "PATCH", "HEAD"].map((verb) => `${verb} /node/static-upload/${file}`),
    ...["HEAD", "PATCH"].map((verb) => `${verb} ${upload}`),
    ...["GET /node/link/x", "POST /node/link/x", "PUT /node/link/x/y", `GET ${await link("a.txt", {})}`],
    ...[`GET ${form}`, `POST ${form}`, `PUT ${box}new.txt`, `GET ${await link("", { zip: true })}`],
    ...[
      "POST /node/console/remember",
      "GET /node/console",
      "GET /node/metrics",
      "GET /node/health",
      "GET /node/ready",
    ],
  ];
}

async function beginUpload({ url, bucket, superToken }: TestNode): Promise<string> {
  const headers = {
    authorization: `Bearer ${superToken}`,
    "tus-resumable": "1.0.0",
    "upload-length": "1000000",
  };
  const begun = await fetch(`${url}/node/static-upload/${bucket}/upload.bin`, { method: "POST", headers });
  return begun.headers.get("location") ?? "";
}

/** Sends a request and returns its status, or 0 if the server closes the connection without one. */
async function statusOf(url: string, line: string, sent: readonly string[]): Promise<number> {
  using wire = await Wire.open(url);
  wire.write(`${[`${line} HTTP/1.1`, "Host: here", ...sent].join("\r\n")}\r\n\r\n${body}`);
  const answer = await wire.hears(/^HTTP\/1\.1 (\d+)/).catch((error: unknown) => {
    if (wire.closed) return undefined;
    throw error;
  });
  return Number(answer?.[1] ?? 0);
}

/** What every request has beside the header that is tried. */
function usualHeaders(token: string | undefined): readonly string[] {
  return [
    ...["Content-Type: application/json", "Sec-Fetch-Site: same-origin", "Tus-Resumable: 1.0.0"],
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
  ];
}

/** `test:long` sends 21,280 requests, each over a connection of its own. The other tiers send one of 7: a line has 19 forms, so each gets others. */
const [oneOf, storyMs] = tier === "long" ? [1, 120_000] : [7, 20_000];

test(
  "numbers in headers that are not numbers harm nobody: every route, every form, with and without a token",
  async () => {
    await using node = await testNode({ logging: 'memory_log_filter = "error"' });
    await siteWith(node, { "a.txt": "a" });
    const lines = await linesFor(node);
    const all = [undefined, node.superToken].flatMap((token) =>
      lines.flatMap((line) =>
        Object.entries(headers).flatMap(([name, before]) =>
          forms.map((form) => ({ line, name, form, before, token })),
        ),
      ),
    );
    const requests = all.filter(({ name }, at) => name === "content-length" || at % oneOf === 0);
    const statuses = new Map<number, number>();
    let next = 0;
    const lane = async () => {
      while (next < requests.length) {
        const { line, name, form, before, token } = requests[next++] as (typeof requests)[number];
        const tried = form.map((value) => `${name}: ${before}${value}`);
        const length = name === "content-length" ? [] : [`Content-Length: ${body.length}`];
        const status = await statusOf(node.url, line, [...usualHeaders(token), ...length, ...tried]);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (
          status === 500 ||
          status === 503 ||
          (name === "content-length" && form.length > 1 && status !== 400)
        )
          throw new Error(`${line} with ${tried.join(" and ")} is answered ${status}`);
      }
    };
    await Promise.all(Array.from({ length: 16 }, lane));
    console.log(`${requests.length} requests`, Object.fromEntries([...statuses].sort()));
    for (const [name, value] of valuesIn(await metricsText(node)))
      expect([name, Number.isFinite(value)]).toEqual([name, true]);
    const large = "x".repeat(200_000);
    const put = await fetch(`${node.url}/node/static-webdav/${node.bucket}/large.txt`, {
      method: "PUT",
      headers: { authorization: `Bearer ${node.superToken}` },
      body: large,
    });
    expect(put.status).toBe(201);
    await filesOf(node).upload("again.txt", large);
    expect(node.node.ring.entries()).toEqual([]);
  },
  storyMs,
);
