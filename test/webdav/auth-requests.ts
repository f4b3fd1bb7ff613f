import type { TestNode } from "../support/node.ts";

export const challenge = 'Basic realm="Node Static WebDAV", charset="UTF-8"';
export const actions = ["read", "write", "delete", "list"];

export const basic = (pair: string) => `Basic ${Buffer.from(pair).toString("base64")}`;

/** Limits that permit these actions on the files of a bucket. */
export function inSite(permitted: readonly string[], bucket = "site") {
  const permissions = permitted.map((action) => ({ static_bucket_file: action }));
  return [{ scopes: [{ static_bucket: bucket }], permissions }];
}

/** Sends a WebDAV request without a client that adds anything to it. */
export function ask(node: TestNode, method: string, path: string, authorization?: string) {
  return fetch(`${node.url}/node/static-webdav${path}`, {
    method,
    headers: authorization === undefined ? {} : { authorization },
    redirect: "manual",
    ...(method === "PUT" ? { body: "words" } : {}),
  });
}
