import { z } from "zod";
import { key } from "./key.ts";

const MiB = 1024 * 1024;
const maxDays = 3650;
const maxDeploys = 1000;

/** `staticKeys` say where the folders of the buckets are, and how their files are kept and served. */
export const staticKeys = {
  static_path: key(
    "path",
    z.string().min(1).default("./static/"),
    "The folder that contains the folders of all buckets.",
    {
      fileUse: "folder",
    },
  ),
  sync_uploads: key(
    "boolean",
    z.boolean().default(true),
    "Sync each upload to the disk before it is answered; false leaves that to the operating system.",
  ),
  trash_days: key(
    "days",
    z.int().nonnegative().max(maxDays).default(0),
    "How long deleted and replaced plain files are kept below `static_path` in `~trash`, to be restored; 0 keeps none. What is kept already stays for its days. With `[files] url`, `keep_removed_days` says so.",
    { initial: 30 },
  ),
  keep_deploys: key(
    "number",
    z.int().min(1).max(maxDeploys).default(10),
    "How many published deploys of a bucket are kept, the present one included; a bucket can be rolled back to each of them.",
  ),
  static_cache_bytes: key(
    "bytes",
    z
      .int()
      .nonnegative()
      .default(64 * MiB),
    "Memory for small files that are requested often.",
  ),
};
