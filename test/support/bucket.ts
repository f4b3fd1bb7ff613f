import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { TestNode } from "./node.ts";

/** A bucket `site` with these files, written straight to the disk. */
export async function siteWith(
  node: TestNode,
  files: Record<string, string | Uint8Array>,
  more: Record<string, unknown> = {},
) {
  await node.call("static-bucket_create", { token: node.superToken, name: "site", ...more });
  const folder = join(node.folder, "static", "site");
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  return {
    folder,
    get: (path: string, headers: Record<string, string> = {}, method = "GET") =>
      fetch(`${node.url}/node/static/site${path}`, {
        method,
        headers: { "accept-encoding": "identity", ...headers },
        redirect: "manual",
      }),
  };
}
