import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { tempFolder } from "./node.ts";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunHow {
  /** What is typed; without it standard input is at its end. */
  readonly stdin?: string | Uint8Array<ArrayBuffer>;
  readonly env?: Record<string, string>;
  /** Default 50 s; a program that runs longer is ended, with all that it started, and the run fails. */
  readonly patienceMs?: number;
}

/** A program of this machine, at work in a folder of its own that is also its HOME and is gone at the end of the scope. */
export interface Tool extends AsyncDisposable {
  readonly home: string;
  run(args: readonly string[], how?: RunHow): Promise<Ran>;
  /** A run that must end well; what it said on standard output. */
  does(args: readonly string[], how?: RunHow): Promise<string>;
}

/** Where the program is; undefined, and told in the line that CI looks for, where it is missing. */
export function findProgram(what: string, program: string, debian = program): string | undefined {
  // Also where only root looks.
  const path = Bun.which(program, { PATH: `${process.env.PATH}:/usr/sbin:/sbin` });
  if (path !== null) return path;
  console.log(`SKIPPED: ${what} needs ${program} (apt install ${debian})`);
  return undefined;
}

/** How to run a command that file modes bind; root passes over them otherwise. Undefined where that is not possible. */
export function boundByModes(): { readonly as?: readonly string[] } | undefined {
  if (process.getuid?.() !== 0) return {};
  const setpriv = findProgram("a server that file modes bind", "setpriv", "util-linux");
  return setpriv === undefined
    ? undefined
    : { as: [setpriv, "--bounding-set=-dac_override,-dac_read_search"] };
}

export async function findTool(what: string, program: string, debian = program): Promise<Tool | undefined> {
  const path = findProgram(what, program, debian);
  return path === undefined ? undefined : openTool(path);
}

export async function openTool(path: string): Promise<Tool> {
  const folder = await tempFolder();
  const home = join(folder.path, "home");
  await mkdir(home);
  const running = new Set<number>();
  const run: Tool["run"] = async (args, how = {}) => {
    const child = Bun.spawn([path, ...args], {
      cwd: home,
      // A proxy or a configuration of this machine is no part of the story.
      env: { PATH: process.env.PATH, HOME: home, LANG: "C.UTF-8", ...how.env },
      stdin: how.stdin === undefined ? "ignore" : new Blob([how.stdin]),
      stdout: "pipe",
      stderr: "pipe",
      detached: true,
    });
    running.add(child.pid);
    let late = false;
    const alarm = setTimeout(() => {
      late = true;
      endGroup(child.pid);
    }, how.patienceMs ?? 50_000);
    const [stdout, stderr, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    clearTimeout(alarm);
    running.delete(child.pid);
    if (late) throw new Error(`${path} ${args.join(" ")} did not end:\n${stdout}${stderr}`);
    return { code, stdout, stderr };
  };
  return {
    home,
    run,
    async does(args, how) {
      const { code, stdout, stderr } = await run(args, how);
      if (code !== 0) throw new Error(`${path} ${args.join(" ")} ended with ${code}:\n${stdout}${stderr}`);
      return stdout;
    },
    async [Symbol.asyncDispose]() {
      for (const pid of running) endGroup(pid);
      await folder[Symbol.asyncDispose]();
    },
  };
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It ended by itself in this moment.
  }
}

export function randomBytes(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  // getRandomValues fills 64 KiB at most.
  for (let at = 0; at < length; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return bytes;
}
