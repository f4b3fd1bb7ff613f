import { expect } from "bun:test";
import { Wire } from "../support/hostile.ts";
import { eachStore, type TestNode, testNode } from "../support/node.ts";
import { storedFiles, storedSite } from "../support/stored-site.ts";
import { until } from "../support/until.ts";

/** Of an upload that is long enough to be staged while it is sent. */
const half = "half of it".repeat(5000);

interface Change {
  readonly make: (node: TestNode) => Promise<unknown>;
  readonly status: number;
}

const call = (node: TestNode, method: string, params: object) =>
  node.call(`static-bucket_${method}`, { token: node.superToken, ...params });

/** Changes of a bucket after which an upload that is under way must not be put in its folder. */
const changes: Readonly<Record<string, Change>> = {
  disabled: { make: (node) => call(node, "update", { name: "site", enable: false }), status: 404 },
  deleted: { make: (node) => call(node, "delete", { name: "site" }), status: 404 },
  "given another folder": {
    make: (node) => call(node, "update", { name: "site", path: "elsewhere" }),
    status: 409,
  },
  "deleted and its folder given to another bucket": {
    make: async (node) => {
      await call(node, "delete", { name: "site" });
      await call(node, "create", { name: "other", path: "site" });
    },
    status: 404,
  },
  "disabled by another server": {
    make: (node) => node.sql("UPDATE static_file SET enable = false WHERE name = 'site'"),
    status: 404,
  },
};

for (const [what, { make, status }] of Object.entries(changes))
  eachStore(`an upload whose bucket is ${what} while it is sent is not stored`, async (store) => {
    await using node = await testNode(store);
    const { exists, uploads, authorization } = await storedSite(node, { "old.txt": "old" });
    using wire = await Wire.open(node.url);
    wire.write(
      `PUT /node/static-webdav/site/new.txt HTTP/1.1\r\nHost: here\r\nAuthorization: ${authorization}\r\nContent-Length: ${2 * half.length}\r\n\r\n${half}`,
    );
    await until("the upload has begun", () => uploads().length === 1);
    await make(node);
    wire.write(half);
    const [, answered] = await wire.hears(/^HTTP\/1\.1 (\d+) [\s\S]*meanwhile; nothing was changed/);
    expect(Number(answered)).toBe(status);
    await until("nothing of it stays", () => uploads().length === 0);
    expect(await exists("new.txt")).toBe(false);
    if (what === "given another folder")
      expect(await storedFiles(node, "elsewhere").exists("new.txt")).toBe(false);
  });
