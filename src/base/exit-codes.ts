/** Exit codes, which scripts rely on. */
export const exitCodes = { done: 0, failed: 1, usage: 2, refused: 3, unreachable: 4 } as const;

/** `exitMeanings` are the exit codes in words. */
export const exitMeanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  done: "Success.",
  failed: "Failure.",
  usage: "The command line is wrong.",
  refused: "The server refused the token or the request.",
  unreachable: "The server cannot be reached.",
};
