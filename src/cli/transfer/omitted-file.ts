import type { FaultReason } from "../../base/fault.ts";
import { visible } from "../../base/visible-text.ts";
import type { ManyDone } from "../../client/index.ts";
import { exitCodes, type Outcome } from "../command.ts";
import type { Context } from "../context.ts";
import { countText, numberText } from "../terminal/quantities.ts";

/**
 * OmissionCause is the reason why one file was not transferred or not deleted, as a code for programs and as words. A file that
 * the server refused has the reason of the server's error, or `refused` where it has none.
 */
export interface OmissionCause {
  readonly reason: OmissionReason | FaultReason;
  readonly why: string;
}

type OmissionReason =
  /** A rule about names keeps it back; `why` names the rule. */
  | "skipped"
  /** Its name cannot be written in a bucket, or not here. */
  | "name_not_accepted"
  /** It is neither a file nor a folder, or a link that leads out of the folder, round in a circle, nowhere, or to what is skipped. */
  | "not_a_file"
  | "link_leads_out"
  | "link_circle"
  | "link_broken"
  | "link_skipped"
  /** A link is in its place or above it, where a file or folder is needed. */
  | "is_link"
  /** It was deleted, or changed, while the command ran. */
  | "gone"
  | "changed"
  /** It cannot be read or written here. */
  | "not_permitted"
  | "refused";

/** OmittedFile is a file that was not transferred or not deleted, and why. */
export interface OmittedFile extends OmissionCause {
  readonly path: string;
}

/** reportOmitted names files on standard error, one a line. */
export function reportOmitted(ctx: Context, what: string, files: readonly OmittedFile[]): void {
  const say = what === "failed" ? ctx.warn : ctx.say;
  for (const { path, why } of files) say(`${what}: ${visible(path)}: ${visible(why)}`);
}

/** reportMany names what calls about many paths did not change, says what was done, and returns the outcome. */
export function reportMany(
  ctx: Context,
  { done, failed, left, error }: ManyDone,
  { what, bucket, verb }: { readonly what: string; readonly bucket: string; readonly verb: string },
): Outcome & { readonly code: number } {
  for (const { path, why } of failed)
    ctx.warn(
      `failed: ${visible(`${bucket}/${path}`)}: ${visible(why.startsWith(`${path} `) ? why.slice(path.length + 1) : why)}`,
    );
  if (failed.length === 0 && left === 0) ctx.say(what);
  else ctx.say(`${countText(done, "item")} ${verb}, ${numberText(failed.length + left)} not`);
  if (error !== undefined) throw error;
  return { code: failed.length > 0 || left > 0 ? exitCodes.failed : exitCodes.done };
}

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
