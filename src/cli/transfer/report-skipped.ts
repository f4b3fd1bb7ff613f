import { visible } from "../../base/visible-text.ts";
import type { Context } from "../context.ts";
import { countText } from "../terminal/quantities.ts";
import { type OmittedFile, reportOmitted } from "./omitted-file.ts";

const maxNamed = 5;

/** Says what was not sent by a rule: one line, or with `verbose` a line for each, with its rule. */
export function reportSkipped(ctx: Context, skipped: readonly OmittedFile[], { verbose = false } = {}): void {
  if (skipped.length === 0) return;
  if (verbose) {
    reportOmitted(ctx, "skipped", skipped);
    return;
  }
  const folders = skipped.filter(({ path }) => path.endsWith("/")).length;
  const files = skipped.length - folders;
  const counts = [
    ...(files > 0 ? [countText(files, "file")] : []),
    ...(folders > 0 ? [countText(folders, "folder")] : []),
  ];
  ctx.say(
    `skipped ${counts.join(" and ")} by rule: ${named(skipped.map(({ path }) => path))} (-v lists the rules, --include sends them)`,
  );
}

/** Says that a bucket has files which the rules skip: an earlier version may have sent a file with secrets, and it is served. */
export function reportSkippedThere(ctx: Context, bucket: string, paths: readonly string[]): void {
  if (paths.length === 0) return;
  ctx.say(
    `note: the bucket has ${countText(paths.length, "file")} that the rules skip, and did not change them: ${named(paths)}; \`node-server rm ${bucket}/PATH\` removes one`,
  );
}

function named(paths: readonly string[]): string {
  const more = paths.length > maxNamed ? ", …" : "";
  return paths.slice(0, maxNamed).map(visible).join(", ") + more;
}
