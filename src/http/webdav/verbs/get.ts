import { escapeXml } from "../../../base/xml-text.ts";
import { splitPath, type TreePath, treeRoot } from "../../../buckets/path.ts";
import { respond } from "../../content/respond.ts";
import { selectVariant } from "../../content/variants.ts";
import { checkIf } from "../conditions.ts";
import { hrefOf } from "../dav-path.ts";
import type { Visit } from "../dav-request.ts";
import { Refused } from "../http-error.ts";

/** A file as plain HTTP gives it, but never compressed: its length and its tag are those that PROPFIND told. */
export async function get(visit: Visit): Promise<Response> {
  const { request, files, path } = visit;
  await checkIf(visit);
  const entry = await files.tree.find(path);
  if (entry === undefined) throw new Refused(404, "there is no such file or folder");
  if (entry.kind === "folder")
    return request.method === "HEAD" ? page(null) : page(await listing(visit, entry.path));
  const { representation } = await selectVariant(files.tree, entry);
  return respond(request, { ...representation, headers: harmless(representation.headers) });
}

/** Pages of the bucket must not run scripts here, should a browser show them: the second guard after `mayCarryKeptCredentials`. */
function harmless(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const acts = /^(?:text\/html|application\/xhtml|image\/svg|text\/xml|application\/(?:.+\+)?xml)/.test(
    headers["content-type"] ?? "",
  );
  return acts ? { ...headers, "content-security-policy": "sandbox" } : headers;
}

const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox",
  "x-content-type-options": "nosniff",
  "cache-control": "no-cache",
};

function page(html: string | null): Response {
  return new Response(html, { headers: pageHeaders });
}

/** A page for programs that show a folder's address as a browser does, such as lynx. Browsers themselves are sent to the console. */
async function listing({ files, bucket }: Visit, folder: TreePath): Promise<string> {
  const most = 2000;
  const rows: string[] = [];
  if (folder !== treeRoot) rows.push(row(hrefOf(bucket.name, splitPath(folder).folder, true), ".."));
  for await (const entries of files.tree.entries(folder)) {
    for (const { path, kind } of entries)
      rows.push(
        row(
          hrefOf(bucket.name, path, kind === "folder"),
          splitPath(path).name + (kind === "folder" ? "/" : ""),
        ),
      );
    if (rows.length >= most) {
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
