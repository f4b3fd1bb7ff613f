import { expect } from "bun:test";
import { siteWith } from "../support/bucket.ts";
import { Wire } from "../support/hostile.ts";
import type { TestNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";

const sharedNode = sharedNodes();

const body = '{"jsonrpc":"2.0","method":"node-server_hello","id":1}';

/** Requests for every route, those that fail included. */
function linesFor({ bucket }: TestNode): readonly string[] {
  const file = `/node/static/${bucket}/a.txt`;
  return [
    ...["GET /", "GET /no/such/page", "OPTIONS /", "PUT /jsonrpc", "POST /jsonrpc", "GET /terminal"],
    ...[`GET ${file}`, `GET ${file}`, `HEAD ${file}`, `GET ${file}.missing`, `GET /node/static/${bucket}`],
    ...[`PROPFIND /node/static-webdav/${bucket}/`, `HEAD /node/static-upload/${bucket}/a.txt`],
    ...[
      "GET /node/link/x",
      "GET /node/preview/x/",
      "GET /node/console/",
      "GET /node/health",
      "GET /node/ready",
    ],
    ...["GET /node/metrics", "GET /node/nothing"],
  ];
}

/** The head of the answer to a request, in lower case. */
async function headOf(url: string, line: string, headers: readonly string[]): Promise<string> {
  using wire = await Wire.open(url);
  const lines = [
    "Host: here",
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    ...headers,
  ];
  wire.write(`${[`${line} HTTP/1.1`, ...lines].join("\r\n")}\r\n\r\n${body}`);
  const [head = ""] = (await wire.hears(/^[\s\S]*?\r\n\r\n/)) ?? [];
  return head.toLowerCase();
}

test("an answer says that its connection is closed if the request asked for that", async () => {
  await using node = await sharedNode();
  await siteWith(node, { "a.txt": "hello" });
  for (const line of linesFor(node)) {
    for (const asked of ["close", "TE, Close"])
      expect([line, await headOf(node.url, line, [`Connection: ${asked}`])]).toEqual([
        line,
        expect.stringMatching(/\r\nconnection: (?:upgrade, )?close\r\n/),
      ]);
    expect([line, await headOf(node.url, line, [])]).toEqual([
      line,
      expect.not.stringMatching(/\r\nconnection: .*close/),
    ]);
  }
});

test("the answer to HEAD has a date, as that to GET", async () => {
  await using node = await sharedNode();
  const { get } = await siteWith(node, { "a.txt": "hello" });
  for (const path of ["/a.txt", "/missing.txt"])
    for (const verb of ["GET", "HEAD"])
      expect((await get(path, {}, verb)).headers.get("date")).toMatch(/GMT$/);
});
