import type { NodeServerClient } from "../../client/index.ts";
import type { OmittedFile } from "../transfer/omitted-file.ts";
import type { PushRecord } from "../transfer/record.ts";
import type { SkipOptions } from "../transfer/skip-rules.ts";

/** Site is one folder and the bucket that it is pushed to. */
export interface Site {
  readonly client: NodeServerClient;
  readonly bucket: string;
  readonly dir: string;
  readonly record: PushRecord;
  readonly delete: boolean;
  /** Whether all files are uploaded, also those that seem equal. */
  readonly force: boolean;
  readonly skip: SkipOptions;
}

/** PushSummary is what a push did, as `--json` prints it. */
export interface PushSummary {
  uploaded: number;
  bytes: number;
  unchanged: number;
  compared: number;
  deleted: number;
  /** Not pushed by intention, such as links that lead out of the folder. */
  readonly left_out: OmittedFile[];
  /** Not pushed by a rule; a folder has a slash at its end. */
  readonly skipped: readonly OmittedFile[];
  /** In the bucket, although the rules skip them. */
  readonly skipped_there: readonly string[];
  /** Changed on the server since the last push, and replaced. */
  readonly replaces_others: readonly string[];
  /** Not deleted, although missing in the folder. */
  readonly kept: OmittedFile[];
  readonly failed: OmittedFile[];
  /** Not sent, because files that they may refer to failed. */
  not_sent: number;
}
