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
    { example: 50_000_000 },
  ),
  json_log_keep: key("number", oldFiles.default(5), "The number of such old files that are kept."),
};

/** `accessLogKeys` are the keys of the access log. */
export const accessLogKeys = {
  access_log: key(
    "path",
    z.string().min(1).optional(),
    "Write one line for each HTTP request to this file; without it there is no access log.",
    { example: "access.log" },
  ),
  access_log_format: key(
    "text",
    z
      .enum(["combined", "vhost_combined", "json"], 'must be "combined", "vhost_combined" or "json"')
      .default("combined"),
    "The format of its lines: `combined`, as web servers write it, with the duration and the id of the request at the end; `vhost_combined`, the same with host and port in front; or `json`, with host and bucket.",
  ),
  access_log_max_bytes: key("bytes", bytes.default(0), "As `json_log_max_bytes`, for the access log.", {
    example: 50_000_000,
  }),
  access_log_keep: key("number", oldFiles.default(5), "As `json_log_keep`, for the access log."),
};
