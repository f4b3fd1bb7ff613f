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

function linesFor({ bucket }: TestNode): readonly string[] {
  const file = `${bucket}/a.txt`;
  return [
    ...["POST /jsonrpc", "POST /node/rpc", "POST /", "GET /", "GET /terminal", "GET /nothing"],
    ...[`GET /node/static/${file}`, `PUT /node/static/${file}`, "GET /node/preview/x/"],
    ...["GET", "PUT", "PROPFIND", "LOCK", "COPY"].map((verb) => `${verb} /node/static-webdav/${file}`),
    ...["POST", "PATCH", "HEAD"].map((verb) => `${verb} /node/static-upload/${file}`),
    ...["GET /node/link/x", "POST /node/link/x", "PUT /node/link/x/y"],
    ...["POST /node/console/remember", "GET /node/console", "GET /node/metrics", "GET /node/health"],
  ];
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

test("numbers in headers that are not numbers harm nobody: every route, every form, with and without a token", async () => {
  await using node = await testNode({ logging: 'memory_log_filter = "error"' });
  await siteWith(node, { "a.txt": "a" });
  const all = [undefined, node.superToken].flatMap((token) =>
    linesFor(node).flatMap((line) =>
      Object.entries(headers).flatMap(([name, before]) =>
        forms.map((form) => ({ line, name, form, before, token })),
      ),
    ),
  );
  const requests =
    tier === "fast" ? all.filter(({ name }, at) => name === "content-length" || at % 8 === 0) : all;
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
});
