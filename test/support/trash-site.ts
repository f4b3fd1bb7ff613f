import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestNode, testNode } from "./node.ts";
import { webdavSite } from "./webdav.ts";

export interface Version {
  readonly version: number;
  readonly path: string;
  readonly kind: string;
  readonly size: number;
  readonly removed_at: number;
  readonly kept_until: number;
}

/** The story's bucket on a server, and the methods about its versions. */
export async function siteOf(node: TestNode) {
  const { dav } = await webdavSite(node);
  const params = (more: object) => ({ token: node.superToken, name: node.bucket, ...more });
  const site = (path: string) => join(node.folder, "static", node.bucket, path);
  return {
    dav,
    params,
    site,
    trash: join(node.folder, "static/~trash", node.bucket),
    put: (path: string, body: string) => dav("PUT", `/${path}`, {}, body),
    text: (path: string) => readFileSync(site(path), "utf8"),
    history: async (more: object = {}) =>
      (await node.call("static-bucket-file_history", params(more))) as Version[],
    restore: (path: string, version: number | undefined, more: object = {}) =>
      node.call("static-bucket-file_restore", params({ path, version, ...more })),
    notRestored: (path: string, version: number | undefined, more: object = {}) =>
      node.refused("static-bucket-file_restore", params({ path, version, ...more })),
  };
}

/** A server of plain files that are kept for 30 days, with a bucket `site`. */
export async function trashSite(options: Parameters<typeof testNode>[0] = {}) {
  const node = await testNode({ ...options, top: `keep_removed_days = 30\n${options.top ?? ""}` });
  return { node, ...(await siteOf(node)), [Symbol.asyncDispose]: () => node[Symbol.asyncDispose]() };
}

/** Versions as `path kind size`, the newest first. */
export const lines = (versions: readonly Version[]) =>
  versions.map(({ path, kind, size }) => `${path} ${kind} ${size}`);
