import { escapeXml } from "../../../base/xml.ts";
import { splitPath, type TreePath, treeRoot } from "../../../buckets/path.ts";
import { plainOnly } from "../../content/compression.ts";
import { sandboxed } from "../../content/media-type.ts";
import { textResponse } from "../../content/plain.ts";
import { respond } from "../../content/respond.ts";
import { plainVariant, snapshotOrDispose } from "../../content/variants.ts";
import { HttpError } from "../../request/http-error.ts";
import { headersOverHttp } from "../../s3/object-record.ts";
import { generalHeaders } from "../../static/site-headers.ts";
import { assertIf, type DavRequest, hrefOf } from "../dav-request.ts";

/**
 * get sends a file as plain HTTP does, but never compressed: length, type and entity tag are those of PROPFIND. Of `_headers` it has
 * those that are about no particular content; a program that edits files needs the file at its own path, as it is stored, and
 * never an old one. A folder is a page.
 */
export async function get(dav: DavRequest): Promise<Response> {
  const { request, files, path, bucket, received } = dav;
  const { cache } = received.deps.static;
  await assertIf(dav);
  const key = keyOf(dav);
  const known = cache.answer(request, cache.get(key), { bucket });
  if (known !== undefined) return known;
  const { found, site } = await files.site.inOneTree(async (reader, site) => ({
    found: await reader.openOrFind(path),
    site,
  }));
  if (found === undefined) throw new HttpError(404, "there is no such file or folder");
  if ("kind" in found) return request.method === "HEAD" ? page(null) : page(await listing(dav, found.path));
  // A file that is read once is not worth a place in memory, nor the check of the folders above it.
  const mayCache = found.isReadAgain && cache.canCompare;
  const snapshot = mayCache ? await snapshotOrDispose(found) : undefined;
  // Before the file is closed.
  const given = headersOverHttp(found.stats, "");
  const plain = await plainVariant(found, path, request);
  const general = generalHeaders(site.rules.headers.match(path, { isOwnHost: false }));
  // A browser that shows a page of the bucket must not run its scripts here: the second defence after `mayCarryStoredCredentials`.
  const described = Object.entries(given).filter(([name]) =>
    /^(?:x-amz-meta-|content-(?:disposition|language)$)/.test(name),
  );
  const headers = sandboxed({ ...general, ...Object.fromEntries(described), ...plain.headers });
  const representation = { ...plain, headers };
  if (snapshot !== undefined)
    cache.add(
      { key, bucket, compressible: false },
      { representation, accepted: plainOnly, dependencies: [snapshot, site.snapshot], source: snapshot },
    );
  return respond(request, representation);
}

/** The key of a file in memory. A deploy, which has other files, has another name. */
function keyOf({ bucket, path }: DavRequest): string {
  return `\0webdav\0${bucket.name}\0${path}`;
}

const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox",
  "x-content-type-options": "nosniff",
  "cache-control": "no-cache",
};

function page(html: string | null): Response {
  const init = { headers: pageHeaders };
  return html === null ? new Response(null, init) : textResponse(html, init);
}

/** More entries than a page of HTML is good for. */
const maxListedEntries = 2000;

/** A page for programs that show a folder as a browser does, such as lynx. Browsers themselves are sent to the console. */
async function listing({ files, bucket }: DavRequest, folder: TreePath): Promise<string> {
  const rows: string[] = [];
  if (folder !== treeRoot) rows.push(row(hrefOf(bucket.name, splitPath(folder).folder, "folder"), ".."));
  for await (const entries of files.reader.entries(folder)) {
    for (const { path, kind } of entries)
      rows.push(row(hrefOf(bucket.name, path, kind), splitPath(path).name + (kind === "folder" ? "/" : "")));
    if (rows.length >= maxListedEntries) {
      rows.push("<li>… and more, which a WebDAV client shows</li>");
      break;
    }
  }
  const title = escapeXml(`${bucket.name}/${folder}`);
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title>
<style>body { font: 16px/1.6 system-ui, sans-serif; margin: 2rem auto; max-width: 50rem; padding: 0 1rem; color-scheme: light dark }</style></head>
<body><h1>${title}</h1><p>This folder can be mounted as a network drive at this very address.</p><ul>
${rows.join("\n")}
</ul></body></html>
`;
}

function row(href: string, name: string): string {
  return `<li><a href="${escapeXml(href)}">${escapeXml(name)}</a></li>`;
}
