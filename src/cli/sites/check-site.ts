import { statSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../base/fault.ts";
import type { SiteProblem } from "../../sites/problem.ts";
import type { SiteSource } from "../../sites/site-rules.ts";
import { command, exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { remoteJson } from "../options.ts";
import { connect, type RemoteOptions } from "../remote/remote.ts";
import { realFolder } from "../transfer/local-tree.ts";
import { listRemote } from "../transfer/remote-tree.ts";

/** Lists what is wrong with the `_headers` and `_redirects` of a folder or a bucket; fails if a line of them cannot be used. */
export const checkSiteCommand = command({
  name: "check-site <site>",
  summary: "check _headers and _redirects of a folder or a bucket",
  needs: ["static-bucket-file_list", "static-bucket-file_read"],
  options: remoteJson,
  notes:
    "\nSITE is a folder if one has this name, else a bucket. Invalid lines make the command fail; warnings do not.",
  async run({ site, ...options }, ctx) {
    // It takes longer to load than most commands run.
    const { checkSite, siteFiles } = await import("../../sites/site-rules.ts");
    const isLocal = isLocalPath(ctx, site);
    const source = isLocal ? folderSource(realFolder(ctx, site)) : await bucketSource(ctx, site, options);
    const problems = await checkSite(source);
    if (problems.length === 0)
      ctx.say(
        `${siteFiles.join(" and ")} of the ${isLocal ? "folder" : "bucket"} ${site}: no problems found.`,
      );
    const hasErrors = problems.some(({ level }) => level === "error");
    return {
      json: problems,
      text: problems.map((problem) => `${formatSiteProblem(problem)}\n`).join(""),
      code: hasErrors ? exitCodes.failed : exitCodes.done,
    };
  },
});

/** formatSiteProblem returns a problem as compilers print it: `_redirects:3: …`. */
export function formatSiteProblem({ file, line, level, why }: SiteProblem): string {
  const at = line === 0 ? file : `${file}:${line}`;
  return `${at}: ${level === "warning" ? "warning: " : ""}${why}`;
}

/** A name without a slash is a folder's, as for `deploy`, if there is one; else a bucket's. */
function isLocalPath(ctx: Context, text: string): boolean {
  if (text.includes("/")) return true;
  return statSync(ctx.path(text), { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function folderSource(folder: string): SiteSource {
  return {
    async read(name) {
      try {
        return await readFile(join(folder, name));
      } catch (error) {
        if (codeOf(error) === "ENOENT" || codeOf(error) === "EISDIR") return undefined;
        throw error;
      }
    },
    async isFile(path) {
      try {
        return (await stat(join(folder, path))).isFile();
      } catch (error) {
        if (["ENOENT", "ENOTDIR", "ENAMETOOLONG", "ELOOP"].includes(codeOf(error) ?? "")) return false;
        throw error;
      }
    },
  };
}

async function bucketSource(ctx: Context, name: string, options: RemoteOptions): Promise<SiteSource> {
  const client = await connect(ctx, options);
  const missing = "`buckets` lists them";
  const files = await listRemote(client, name, { missing, signal: new AbortController().signal });
  return {
    async read(path) {
      if (!files.has(path)) return undefined;
      return Buffer.from(await client.call("static-bucket-file_read", { name, path }), "base64");
    },
    isFile: async (path) => files.has(path),
  };
}
