import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestNode } from "./node.ts";

/** The story's bucket and what it takes to talk to it over WebDAV. */
export async function webdavSite(node: TestNode, token = node.superToken) {
  await node.call("static-bucket_create", { token: node.superToken, name: node.bucket });
  const authorization = `Basic ${Buffer.from(token).toString("base64")}`;
  const base = `${node.url}/node/static-webdav/${node.bucket}`;
  return {
    base,
    authorization,
    /** `path` begins with a slash and is encoded already. */
    dav: (
      method: string,
      path: string,
      headers: Record<string, string> = {},
      body?: string | Uint8Array<ArrayBuffer> | ReadableStream,
    ) =>
      fetch(base + path, {
        method,
        headers: { authorization, ...headers },
        redirect: "manual",
        ...(body === undefined ? {} : { body }),
      }),
  };
}

/** hrefsIn returns how a path in the story's bucket is written in headers and answers. */
export function hrefsIn({ bucket }: TestNode): (path: string) => string {
  return (path) => `/node/static-webdav/${bucket}${path}`;
}

/** The same, with what its folder holds. */
export async function siteOf(node: TestNode) {
  const site = await webdavSite(node);
  const folder = join(node.folder, "static", node.bucket);
  const status = async (verb: string, path: string, to?: string, body?: string) =>
    (await site.dav(verb, path, to === undefined ? {} : { destination: site.base + to }, body)).status;
  return {
    ...site,
    folder,
    status,
    names: (below = folder) => namesIn(below),
    read: (path: string) => readFileSync(join(folder, path), "utf8"),
  };
}

export function hrefsOf(multistatus: string): Array<string | undefined> {
  return [...multistatus.matchAll(/<D:href>([^<]*)<\/D:href>/g)].map(([, href]) => href);
}

/** All names below a folder; links are names and no more. */
function namesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => [
      entry.name,
      ...(entry.isDirectory()
        ? namesIn(join(folder, entry.name)).map((name) => `${entry.name}/${name}`)
        : []),
    ])
    .sort();
}
