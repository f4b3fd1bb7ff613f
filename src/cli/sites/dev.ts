import { realpathSync } from "node:fs";
import { isIP } from "node:net";
import { join, relative, sep } from "node:path";
import { parseAddress } from "../../base/address.ts";
import { command, exitCodes } from "../command.ts";
import { serveUntilStopped } from "../server/serve-until-stopped.ts";
import { realFolder } from "../transfer/local-tree.ts";
import { SkipRules, skipOptions } from "../transfer/skip-rules.ts";
import { formatSiteProblem } from "./check-site.ts";

const [includeOption, excludeOption] = skipOptions;

/** Serves a folder on this machine as a bucket with these files would be served. */
export const dev = command({
  name: "dev <dir>",
  summary: "serve a folder on this machine with its _headers and _redirects, without a server",
  options: [
    ["--listen <address>", "the address to listen on", { default: "127.0.0.1:2213" }],
    ["--clean-urls", "answer /about with about.html, as a bucket with clean URLs does"],
    includeOption,
    excludeOption,
  ],
  notes: `
Requests are answered as at the host name of a public bucket: 404.html, redirects, headers, ranges.
Files and rules are read for each request, so changes show at once. What \`deploy\` skips is not served.
There is no console, no WebDAV and no JSON-RPC, and nothing is stored.`,
  async run({ dir, listen, cleanUrls, ...options }, ctx) {
    const folder = realFolder(ctx, dir);
    const rules = SkipRules.read(folder, options);
    // It takes longer to load than most commands run.
    const { FolderSite } = await import("../../http/static/folder-site.ts");
    const site = new FolderSite(folder, {
      cleanUrls: cleanUrls === true,
      isLeftOut: ({ path, kind }) =>
        [path, realPath(folder, path)].some((name) => rules.whySkipped(name, kind) !== undefined),
    });
    let known: unknown;
    let reported = "";
    const report = async () => {
      const present = await site.rules();
      if (present === known) return;
      known = present;
      const lines = (await site.problems()).map(formatSiteProblem);
      if (lines.join("\n") === reported) return;
      reported = lines.join("\n");
      for (const line of lines) ctx.say(line);
      if (lines.length === 0) ctx.say("_headers and _redirects: no problems any more");
    };
    const isAtLoopback = isLoopback(parseAddress(listen)?.host ?? "");
    await serveUntilStopped(ctx, {
      listen,
      async answer(request) {
        const { hostname } = new URL(request.url);
        // A page of another site, whose name leads here, must not read the folder.
        if (isAtLoopback && !isOwnName(hostname))
          return new Response("403 Forbidden: open this site by localhost or an address.\n", { status: 403 });
        await report();
        return site.answer(request);
      },
      async onListening(url) {
        await ctx.print(`${url}/\n`);
        await report();
      },
    });
    return exitCodes.done;
  },
});

/** Path of a file or folder of a folder, with links resolved: a link to a skipped file is not deployed either. */
function realPath(folder: string, path: string): string {
  try {
    return relative(folder, realpathSync(join(folder, path)))
      .split(sep)
      .join("/");
  } catch {
    // It vanished meanwhile, and so it is not served.
    return path;
  }
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\./.test(host);
}

function isOwnName(name: string): boolean {
  return name === "localhost" || name.endsWith(".localhost") || isIP(name.replace(/^\[|\]$/g, "")) !== 0;
}
