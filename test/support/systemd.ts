import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { codeOf } from "../../src/base/fault.ts";
import { tempFolder } from "./node.ts";
import type { Ran } from "./tools.ts";
import { until } from "./until.ts";

const script = resolve(import.meta.dir, "systemd-container.sh");
const bootMs = 60_000;

/** A machine of its own with a real systemd, the binary in `/opt/node` and an account `node` whose home is `/srv/node`. */
export interface SystemdMachine extends AsyncDisposable {
  /** Runs a command in it as root. */
  run(...command: string[]): Promise<Ran>;
  /** A run that must end well; what it said on standard output, without the last line end. */
  does(...command: string[]): Promise<string>;
}

/** Boots it; undefined, and told in the line that CI looks for, where that is not possible. */
export async function bootSystemd(binary: string): Promise<SystemdMachine | undefined> {
  const missing = ["systemctl", "unshare", "nsenter", "setpriv"].find(
    (program) => Bun.which(program) === null,
  );
  if (missing !== undefined || process.getuid?.() !== 0) {
    console.log("SKIPPED: a service under systemd needs root and systemd (apt install systemd util-linux)");
    return undefined;
  }
  const folder = await tempFolder();
  // It ends with this process, however that ends.
  const command = ["setpriv", "--pdeathsig", "KILL", "bash", script, "start", folder.path, binary];
  const outer = Bun.spawn(command, { stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  const said = new Response(outer.stderr).text();
  const inner = await until("systemd is started", async () => {
    if (outer.exitCode !== null) throw new Error(`the machine did not start: ${await said}`);
    return systemdBelow(outer.pid);
  });
  const run: SystemdMachine["run"] = async (...given) => {
    const namespaces = ["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--root", "--wd"];
    const env = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/opt/node", "HOME=/root", "LANG=C.UTF-8"];
    const child = Bun.spawn(["nsenter", "--target", String(inner), ...namespaces, ...env, ...given], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { code, stdout, stderr };
  };
  const close = async () => {
    // The end of the first process of its namespace ends all others.
    process.kill(inner, "SIGKILL");
    await outer.exited;
    const cleaned = Bun.spawn(["bash", script, "clean", folder.path], { stdin: "ignore", stderr: "pipe" });
    if ((await cleaned.exited) !== 0) throw new Error(await new Response(cleaned.stderr).text());
    await folder[Symbol.asyncDispose]();
  };
  await until(
    "systemd has booted",
    async () => /^(running|degraded)$/.test((await run("systemctl", "is-system-running")).stdout.trim()),
    bootMs,
  );
  return {
    run,
    async does(...given) {
      const { code, stdout, stderr } = await run(...given);
      if (code !== 0) throw new Error(`${given.join(" ")} ended with ${code}: ${stderr}`);
      return stdout.trimEnd();
    },
    [Symbol.asyncDispose]: close,
  };
}

/** The process below `pid` that has become systemd. The script that starts it has short-lived children before. */
function systemdBelow(pid: number): number | undefined {
  const [child = ""] = (textOfProc(`${pid}/task/${pid}/children`) ?? "").split(" ");
  return child !== "" && textOfProc(`${child}/comm`) === "systemd" ? Number(child) : undefined;
}

/** A file of /proc; undefined if its process has ended. */
function textOfProc(path: string): string | undefined {
  try {
    return readFileSync(`/proc/${path}`, "utf8").trim();
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes(codeOf(error) ?? "")) return undefined;
    throw error;
  }
}
