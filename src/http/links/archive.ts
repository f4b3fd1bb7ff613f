import { parseTreePath, type TreePath, treeRoot } from "../../buckets/path.ts";
import { archiveName } from "../../links/link-code.ts";
import type { Lease } from "../../rpc/method.ts";
import type { Services } from "../../services.ts";
import { pulledResponse } from "../request/response-size.ts";
import { Archive } from "../zip/archive.ts";
import { attachmentOf, countUse } from "./download.ts";
import type { LinkRequest } from "./link-request.ts";

/** Archives that are compressed at a time, each of which occupies a thread of the pool; the content of further ones is not compressed. */
const maxCompressed = 4;
let compressed = 0;

/** sendArchive sends the folder of a link, or what was selected in it, as a ZIP archive; undefined if there is no such folder. */
export async function sendArchive(
  linked: LinkRequest,
  acquire: () => Lease<Pick<Services, "clock">>,
): Promise<Response | undefined> {
  const { request, link, path: folder, bucket, files, audit } = linked;
  const found = folder === treeRoot ? undefined : await files.reader.find(folder);
  if (folder !== treeRoot && found?.kind !== "folder") return undefined;
  const top = archiveName(bucket.name, folder);
  const headers = {
    "content-type": "application/zip",
    "content-disposition": attachmentOf(`${top}.zip`),
    "x-content-type-options": "nosniff",
    "accept-ranges": "none",
  };
  if (request.method === "HEAD") return new Response(null, { headers });
  await countUse(linked);
  if (link.name !== undefined)
    audit("link.used", { bucket: bucket.name, path: folder, kind: "zip", link: link.name.id });
  const paths = link.paths?.flatMap((path) => within(folder, path));
  const compresses = compressed < maxCompressed;
  if (compresses) compressed += 1;
  // Rows are read until the last file is sent, so the database stays open for so long.
  const lease = acquire();
  const madeAtMs = lease.services.clock.now();
  const archive = new Archive({ reader: files.reader, folder, top, paths, compresses, madeAtMs });
  return pulledResponse(
    archive.pieces(),
    { headers },
    {
      left: request.signal,
      onEnd() {
        if (compresses) compressed -= 1;
        lease.release();
      },
    },
  );
}

function within(folder: TreePath, path: string): readonly TreePath[] {
  const whole = parseTreePath(folder === treeRoot ? path : `${folder}/${path}`);
  return whole === undefined ? [] : [whole];
}
