import { join } from "node:path";
import { binary, superToken } from "../servers/node-server.ts";
import { finish, runToEnd } from "../servers/program.ts";

/** What rclone is told; push and deploy have the same number built in. */
const transfers = "16";
/** One for each last digit of a folder's number. */
const rclones = 10;

/** Way is a program that brings a folder into a bucket. */
export interface Way {
  readonly name: string;
  /** Whether it is so slow on this machine that one round has to do. */
  readonly once: boolean;
  /** Returns the seconds of processor time that the program used. */
  run(bucket: string): Promise<number>;
}

/** Setting is the folder that is deployed, and where to. */
export interface Setting {
  readonly site: string;
  readonly port: number;
  /** For what the programs keep. */
  readonly state: string;
}

/** ownEnvironment is how the commands of node-server reach the server of the benchmark, and keep apart what they know. */
export function ownEnvironment({ port, state }: Omit<Setting, "site">): Record<string, string> {
  return {
    NODE_SERVER_URL: `http://127.0.0.1:${port}`,
    NODE_SERVER_TOKEN: superToken,
    XDG_STATE_HOME: join(state, "state"),
    XDG_CONFIG_HOME: join(state, "config"),
  };
}

/** ownWays are the two commands of node-server. */
export function ownWays(setting: Setting): Way[] {
  return ["deploy", "push"].map((command) => ({
    name: `node-server ${command}`,
    once: false,
    run: async (bucket) =>
      (await runToEnd([binary, command, setting.site, bucket], ownEnvironment(setting))).cpuSeconds,
  }));
}

/**
 * rcloneWays are `rclone sync` over WebDAV with the best flags that it has. It sends three requests for every file (MKCOL of its
 * folder, PUT, PROPFIND of what arrived) and pauses 10 ms between two requests, which only later versions can be told not to do.
 * Where it cannot, the time that passes is mostly that pause, so ten of them, each with a part of the site, stand beside it.
 */
export async function rcloneWays({ site, port, state }: Setting, { quick }: { readonly quick: boolean }) {
  if (Bun.which("rclone") === null) {
    console.log("LEFT OUT: rclone sync, which needs rclone (apt install rclone)");
    return [];
  }
  const [user = "", secret = ""] = superToken.split(":");
  const quiet = { RCLONE_CONFIG: join(state, "none.conf") };
  const pass = (await finish(["rclone", "obscure", secret], quiet)).trim();
  const pacer = "webdav-pacer-min-sleep";
  const isPaced = !(await finish(["rclone", "help", "flags"], quiet)).includes(pacer);
  const sync = async (bucket: string, ...more: string[]) => {
    const command = ["rclone", "sync", "--transfers", transfers, "--checkers", transfers, ...more];
    const done = await runToEnd([...command, ...(isPaced ? [] : [`--${pacer}`, "0"]), site, ":webdav:"], {
      ...quiet,
      RCLONE_WEBDAV_URL: `http://127.0.0.1:${port}/node/static-webdav/${bucket}`,
      // So it keeps the times of files and compares by size and time. WebDAV has no checksums, and sizes alone would miss changes.
      RCLONE_WEBDAV_VENDOR: "owncloud",
      RCLONE_WEBDAV_USER: user,
      RCLONE_WEBDAV_PASS: pass,
    });
    return done.cpuSeconds;
  };
  const alone: Way = { name: "rclone sync", once: isPaced, run: (bucket) => sync(bucket) };
  if (!isPaced || quick) return [alone];
  const parts: Way = {
    name: `${rclones} rclone sync, a part each`,
    once: true,
    run: async (bucket) => {
      const each = Array.from({ length: rclones }, (_, part) =>
        sync(bucket, "--include", `/section *${part}/**`),
      );
      return (await Promise.all(each)).reduce((sum, seconds) => sum + seconds, 0);
    },
  };
  return [alone, parts];
}
