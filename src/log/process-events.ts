import { z } from "zod";

const text = z.string();
/** The number of a process; every entry of a server with several processes has its own as `process`. */
const of = z.int().describe("the number of the process");

/** `processEvents` are the events of a server that has several processes (`serve --processes`). The first process that runs logs them. */
export const processEvents = {
  "process.ended": {
    level: "ERROR",
    description:
      "One of the server's processes ended without being asked to; the others go on. It is started again after `restart_ms`.",
    fields: z.object({
      of,
      pid: z.int(),
      code: z.int().nullable(),
      signal: text.nullable(),
      restart_ms: z.int(),
    }),
    hidden: [],
  },
  "process.started": {
    level: "INFO",
    description: "A process that had ended serves again.",
    fields: z.object({ of, pid: z.int() }),
    hidden: [],
  },
  "process.replaced": {
    level: "INFO",
    description: "A new process has taken the place of one that runs no more, for an update or a reload.",
    fields: z.object({ of, pid: z.int(), version: text }),
    hidden: [],
  },
  "process.not_replaced": {
    level: "ERROR",
    description: "No new process could be started in the place of one; the old one goes on.",
    fields: z.object({ of, reason: text }),
    hidden: [],
  },
  "process.silent": {
    level: "ERROR",
    description:
      "A process did not answer the supervisor for `silent_ms` and is killed; another one is started.",
    fields: z.object({ of, pid: z.int(), silent_ms: z.int() }),
    hidden: [],
  },
  "process.killed": {
    level: "ERROR",
    description: "A process did not end within `stop_ms` after it was asked to, and was killed.",
    fields: z.object({ of, pid: z.int(), stop_ms: z.int() }),
    hidden: [],
  },
} as const;
