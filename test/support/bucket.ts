import { expect } from "bun:test";
import { join } from "node:path";
import type { TestNode } from "./node.ts";
import { storedFiles } from "./stored-site.ts";

/** The story's bucket with these files, written past the server where they are on the disk. */
export async function siteWith(
  node: TestNode,
  files: Record<string, string | Uint8Array>,
  more: Record<string, unknown> = {},
) {
  await node.call("static-bucket_create", { token: node.superToken, name: node.bucket, ...more });
  const stored = storedFiles(node);
  await stored.write(files);
  return {
    /** Of a bucket on the disk. */
    folder: join(node.folder, "static", node.bucket),
    stored,
    /** Waits until files that were just written may be kept in memory: on a disk, until its clock would tell a further change. */
    settled: () => Bun.sleep(node.store === "disk" ? 120 : 0),
    get: (path: string, headers: Record<string, string> = {}, method = "GET") =>
      fetch(`${node.url}/node/static/${node.bucket}${path}`, {
        method,
        headers: { "accept-encoding": "identity", ...headers },
        redirect: "manual",
      }),
  };
}

/** The five methods on the story's bucket. */
export function filesOf(node: TestNode) {
  const token = node.superToken;
  const params = (more: object) => ({ token, name: node.bucket, ...more });
  const method = (name: string) => `static-bucket-file_${name}`;
  return {
    upload: (path: string, body: string) => node.call(method("upload"), params({ path, body })),
    read: async (path: string) =>
      Buffer.from(String(await node.call(method("read"), params({ path }))), "base64").toString(),
    rename: (from: string, to: string) => node.call(method("rename"), params({ from, to })),
    remove: (path: string) => node.call(method("delete"), params({ path })),
    list: async (path = "") => {
      const found = await node.call(method("list"), params({ path }));
      return (found as Array<{ path: string }>).map((file) => file.path);
    },
    /** The error of a call that must fail, which tells nothing of the machine outside the bucket. */
    refused: async (name: "upload" | "read" | "rename" | "delete" | "list", more: object) => {
      const error = await node.refused(method(name), params(more));
      for (const place of [node.folder, "static/", "~staging", "/proc/", "errno", "syscall"])
        expect(JSON.stringify({ ...error, data: { ...error.data, path: "" } })).not.toContain(place);
      return error;
    },
  };
}
