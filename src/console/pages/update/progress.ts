import type { LogEntry } from "../../../client/index.ts";

/** How far an update is, as far as the log tells. */
export type Progress =
  | { readonly stage: "downloading"; readonly bytes: number; readonly total: number | undefined }
  | { readonly stage: "trying" }
  | { readonly stage: "in place" }
  | { readonly stage: "failed"; readonly why: string };

/** What a log entry says about the update to `tag`; undefined when it is about something else. */
export function progressIn({ message, fields }: LogEntry, tag: string): Progress | undefined {
  if (fields.tag !== tag) return undefined;
  switch (message) {
    case "update: downloading": {
      const { bytes, total } = fields;
      return {
        stage: "downloading",
        bytes: typeof bytes === "number" ? bytes : 0,
        total: typeof total === "number" ? total : undefined,
      };
    }
    case "update: trying it out":
      return { stage: "trying" };
    case "update: in place":
      return { stage: "in place" };
    case "update failed":
      return { stage: "failed", why: String(fields.reason ?? "the log says more") };
    default:
      return undefined;
  }
}
