import { z } from "zod";
import { key } from "./key.ts";

const bytes = z.int().nonnegative();
const oldFiles = z.int().nonnegative().max(100);

/** `jsonLogRotationKeys` say when the JSON log file is put aside. */
export const jsonLogRotationKeys = {
  json_log_max_bytes: key(
    "bytes",
    bytes.default(0),
    "The size at which that file is renamed to `<file>.1`, the one before to `<file>.2`, and so on, and a new one is begun; 0 means never.",
  ),
  json_log_keep: key("number", oldFiles.default(5), "The number of such old files that are kept."),
};
