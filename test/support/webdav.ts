import type { TestNode } from "./node.ts";

/** A bucket `site` and what it takes to talk to it over WebDAV. */
export async function webdavSite(node: TestNode, token = node.superToken) {
  await node.call("static-bucket_create", { token: node.superToken, name: "site" });
  const authorization = `Basic ${Buffer.from(token).toString("base64")}`;
  const base = `${node.url}/node/static-webdav/site`;
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
