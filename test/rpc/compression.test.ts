import { expect } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import { siteWith } from "../support/bucket.ts";
import type { TestNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";
import { scaled, tier } from "../support/tier.ts";

const sharedNode = sharedNodes();

const decoders = { gzip: gunzipSync, br: brotliDecompressSync, zstd: zstdDecompressSync } as const;
type Coding = keyof typeof decoders;
const codings = Object.keys(decoders) as Coding[];

interface Sent {
  readonly coding: string | null;
  readonly text: string;
  readonly wireBytes: number;
}

async function sent(response: Response): Promise<Sent> {
  const coding = response.headers.get("content-encoding");
  const wire = await response.bytes();
  const bytes = coding === null ? wire : decoders[coding as Coding](wire);
  return { coding, text: Buffer.from(bytes).toString(), wireBytes: wire.length };
}

async function post(node: TestNode, body: unknown, acceptEncoding: string): Promise<Sent> {
  return sent(
    await fetch(`${node.url}/jsonrpc`, {
      method: "POST",
      headers: { "content-type": "application/json", "accept-encoding": acceptEncoding },
      body: JSON.stringify(body),
      decompress: false,
    }),
  );
}

async function propfind(node: TestNode, path: string, acceptEncoding: string): Promise<Sent> {
  const [key = "", secret = ""] = node.superToken.split(":");
  return sent(
    await fetch(`${node.url}/node/static-webdav/${node.bucket}/${path}`, {
      method: "PROPFIND",
      headers: {
        depth: "1",
        authorization: `Basic ${btoa(`${key}:${secret}`)}`,
        "accept-encoding": acceptEncoding,
      },
      decompress: false,
    }),
  );
}

const call = (method: string, params: Record<string, unknown>) => ({ jsonrpc: "2.0", id: 1, method, params });

/** Folders by how many files they have: a short answer, and one that is made while it is sent. */
const folders = { few: 20, many: 1000 };

async function site(node: TestNode, names: ReadonlyArray<keyof typeof folders>): Promise<void> {
  await siteWith(node, {});
  for (const folder of names) {
    const count = folders[folder];
    const path = join(node.folder, "static", node.bucket, folder);
    await mkdir(path, { recursive: true });
    for (let at = 0; at < count; at += 1) await writeFile(join(path, `file number ${at}.txt`), "");
  }
}

test("long answers of JSON-RPC and WebDAV are compressed as the client accepts it, and say the same", async () => {
  await using node = await sharedNode();
  await site(node, ["few", "many"]);
  for (const folder of ["few", "many"]) {
    const list = call("static-bucket-file_list", { token: node.superToken, name: node.bucket, path: folder });
    const plain = [await post(node, list, "identity"), await propfind(node, folder, "identity")];
    expect(plain.map(({ coding }) => coding)).toEqual([null, null]);
    for (const coding of codings) {
      const both = [await post(node, list, coding), await propfind(node, folder, coding)];
      expect(both.map((one) => one.coding)).toEqual([coding, coding]);
      expect(both.map(({ text }) => text)).toEqual(plain.map(({ text }) => text));
      for (const [at, { wireBytes }] of both.entries())
        expect(wireBytes).toBeLessThan((plain[at]?.wireBytes ?? 0) / 3);
    }
  }
  const weighted = call("static-bucket-file_list", {
    token: node.superToken,
    name: node.bucket,
    path: "few",
  });
  expect((await post(node, weighted, "gzip;q=1, zstd;q=0.1, br;q=0")).coding).toBe("gzip");
});

test("answers that are short, have secrets or are for strangers are sent plain", async () => {
  await using node = await sharedNode();
  await site(node, ["few"]);
  const { superToken: token } = node;
  const list = call("static-bucket-file_list", { token, name: node.bucket, path: "few" });
  const roll = call("static-bucket-file_link", { token, name: node.bucket, path: "few/file number 1.txt" });
  const sql = call("node-server_exec_sql", { token, sql: "SELECT * FROM token, seaql_migrations" });
  for (const body of [
    call("node-server_hello", {}),
    call("rpc.discover", {}),
    [list, roll],
    sql,
    call("static-bucket-file_list", { token: "unknown:unknown", name: node.bucket }),
    call("static-bucket-file_list", { token, name: "x".repeat(3000) }),
  ])
    expect((await post(node, body, "gzip, br, zstd")).coding).toBeNull();
  expect((await post(node, [list, list], "gzip")).coding).toBe("gzip");
});

test(
  scaled("a client that leaves in the middle of compressed answers keeps nothing from others"),
  async () => {
    await using node = await sharedNode();
    await site(node, ["many"]);
    const list = call("static-bucket-file_list", { token: node.superToken, name: node.bucket, path: "many" });
    for (let round = 0; round < (tier === "fast" ? 8 : 40); round += 1) {
      const left = new AbortController();
      const response = await fetch(`${node.url}/jsonrpc`, {
        method: "POST",
        headers: { "content-type": "application/json", "accept-encoding": "gzip" },
        body: JSON.stringify(list),
        decompress: false,
        signal: left.signal,
      });
      left.abort();
      await response.bytes().catch(() => undefined);
    }
    expect((await post(node, list, "gzip")).coding).toBe("gzip");
    expect((await propfind(node, "many", "gzip")).coding).toBe("gzip");
  },
);
