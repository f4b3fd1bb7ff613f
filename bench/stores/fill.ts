import { join } from "node:path";
import { makeFiles } from "../data.ts";
import { authorization } from "../jobs.ts";
import { call, superToken } from "../servers/node-server.ts";

export const bucket = "bench";
/** Where WebDAV has the bucket. */
export const davRoot = `/node/static-webdav/${bucket}`;

/** Content are the folders of a bucket, each with the number of its files, which are called `0.txt`, `1.txt` and so on. */
export type Content = Readonly<Record<string, number>>;

/**
 * fillStore makes the bucket. Files of a disk are written to it; of others, one is uploaded and its row copied: no request that
 * is measured reads the content of the rest.
 */
export async function fillStore(
  port: number,
  place: { readonly folder: string } | "rows",
  content: Content,
): Promise<void> {
  await call(port, "static-bucket_create", [superToken, bucket]);
  await dav(port, "PUT", "/small.bin", { body: Buffer.alloc(4096, "x") });
  for (const [folder, files] of Object.entries(content)) {
    if (place !== "rows") {
      makeFiles(join(place.folder, bucket, folder), files);
      continue;
    }
    await dav(port, "MKCOL", `/${folder}`);
    await dav(port, "PUT", `/${folder}/0.txt`, { body: Buffer.alloc(1024, "x") });
    await copyRow(port, folder, files);
  }
}

/** dav sends a WebDAV request and throws unless it succeeds. Paths are those in the bucket. */
export async function dav(
  port: number,
  method: string,
  path: string,
  { headers = {}, body }: { readonly headers?: Record<string, string>; readonly body?: Buffer } = {},
): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}${davRoot}${path}`, {
    method,
    headers: { authorization, ...headers },
    ...(body === undefined ? {} : { body: new Uint8Array(body) }),
  });
  const text = await response.text();
  if (!response.ok || (response.status === 207 && method !== "PROPFIND"))
    throw new Error(`${method} ${path} was answered with ${response.status}: ${text}`);
}

async function copyRow(port: number, folder: string, files: number): Promise<void> {
  if (files < 2) return;
  await call(port, "node-server_exec_sql", {
    token: superToken,
    sql: `INSERT INTO kv (namespace, key, value)
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${files - 1})
      SELECT file.namespace, n.i || '.txt', file.value
      FROM n, kv AS parent JOIN kv AS file ON file.namespace = 'static-files/' || (parent.value ->> 'id') AND file.key = '0.txt'
      WHERE parent.key = '${folder}'`,
  });
}
