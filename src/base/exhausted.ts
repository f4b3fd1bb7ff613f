import { codeOf, Fault } from "./fault.ts";

/** outOfDescriptors is the error text when the process, or the system, has no file descriptor left. */
export const outOfDescriptors =
  "too many files and connections are open; try again, or raise the server's limit of open files (ulimit -n, LimitNOFILE)";

/** isOutOfDescriptors is whether an error came from the limit of open files: it passes by itself. */
export function isOutOfDescriptors(error: unknown): boolean {
  const code = systemCodeOf(error);
  return code === "EMFILE" || code === "ENFILE";
}

/** isDiskFull is whether an error came from a full disk, or a used-up quota, of the files or of the database. */
export function isDiskFull(error: unknown): boolean {
  if (error instanceof Fault && error.data.reason === "disk_full") return true;
  const code = systemCodeOf(error);
  return code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG";
}

function systemCodeOf(error: unknown): string | undefined {
  return error instanceof Fault ? codeOf(error.cause) : codeOf(error);
}
