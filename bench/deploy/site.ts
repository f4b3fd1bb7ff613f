import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { call, superToken } from "../servers/node-server.ts";

/** As many files as this differ from one deploy to the next. They are in as many folders. */
export const changedFiles = 10;

/** SiteSize is how large a site is, besides the files that are changed. */
export interface SiteSize {
  readonly files: number;
  /** At least as many as there are changed files. */
  readonly folders: number;
}

/** makeSite writes a site of pages, styles, scripts and pictures, and returns the bytes of all its files. */
export async function makeSite(site: string, { files, folders }: SiteSize): Promise<number> {
  let bytes = 0;
  for (let section = 0; section < folders; section += 1)
    await mkdir(join(site, `section ${section}`), { recursive: true });
  for (let n = 0; n < files; n += 1) {
    const kind = ["html", "css", "js", "svg"][n % 4];
    const content = `file ${n} `.repeat(50 + ((n * 37) % 900));
    bytes += content.length;
    await writeFile(join(site, `section ${n % folders}`, `page ${n}.${kind}`), content);
  }
  return bytes + (await changeSite(site, "nobody"));
}

/** changeSite gives the changed files a content that names the version, and returns their bytes. */
export async function changeSite(site: string, version: string): Promise<number> {
  const content = contentOf(version);
  for (let section = 0; section < changedFiles; section += 1)
    await writeFile(join(site, `section ${section}/news.html`), content);
  return content.length * changedFiles;
}

/** assertSite throws unless a bucket has the site as this version changed it: a figure counts only if the work was done. */
export async function assertSite(
  port: number,
  { bucket, version, size }: { readonly bucket: string; readonly version: string; readonly size: SiteSize },
): Promise<void> {
  const params = [superToken, bucket];
  const found = await call<{ path: string; size: number }[]>(port, "static-bucket-file_list", params);
  const changed = found.find(({ path }) => path === "section 7/news.html");
  if (found.length !== size.files + changedFiles || changed?.size !== contentOf(version).length)
    throw new Error(`${bucket} does not have the site: ${found.length} files`);
}

function contentOf(version: string): string {
  return `changed by ${version}`;
}
