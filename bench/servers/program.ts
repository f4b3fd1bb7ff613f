/** Program is a server of this run: how to start it, and where it will answer. */
export interface Program {
  readonly name: string;
  readonly command: readonly string[];
  readonly port: number;
}

export interface Running extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
}

export function freePort(): number {
  const server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  server.stop();
  return server.port;
}

/** Where programs are looked for: servers are in folders that only root's shell looks into. */
export const searchPath = `${process.env.PATH}:/usr/local/sbin:/usr/sbin`;

/** The environment without what the developer's shell says about logs. */
function environment(more: Record<string, string> = {}): Record<string, string | undefined> {
  const { RUST_LOG: _, ...env } = process.env;
  return { ...env, PATH: searchPath, ...more };
}

/** Runs a command to its end and returns what it printed. */
export async function finish(command: readonly string[], env?: Record<string, string>): Promise<string> {
  return (await runToEnd(command, env)).out;
}

/** No command of a benchmark takes longer, unless it hangs. */
const commandTimeoutMs = 10 * 60 * 1000;

/** runToEnd runs a command to its end, and returns what it printed and the processor time that it and its children used. */
export async function runToEnd(
  command: readonly string[],
  env?: Record<string, string>,
): Promise<{ readonly out: string; readonly cpuSeconds: number }> {
  const options = {
    env: environment(env),
    stdout: "pipe",
    stderr: "pipe",
    timeout: commandTimeoutMs,
  } as const;
  const run = Bun.spawn([...command], options);
  const [out, err] = await Promise.all([run.stdout.text(), run.stderr.text()]);
  if ((await run.exited) !== 0) throw new Error(`${command.join(" ")} failed: ${err || out}`);
  return { out, cpuSeconds: Number(run.resourceUsage()?.cpuTime.total ?? Number.NaN) / 1e6 };
}

/** Starts a server; `answered` waits until it can be used. */
export function launch({ name, command, port }: Program, pin: readonly string[] = []): Running {
  const child = Bun.spawn([...pin, ...command], {
    env: environment(),
    stdio: ["ignore", "ignore", "ignore"],
  });
  return {
    name,
    port,
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      child.kill();
      const impatience = setTimeout(() => child.kill("SIGKILL"), 5000);
      await child.exited;
      clearTimeout(impatience);
    },
  };
}

/** Waits until `ask` succeeds; a refused connection costs a fraction of a millisecond. */
export async function answered<T>({ name }: Running, ask: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + 20_000;
  let last: unknown;
  while (performance.now() < deadline) {
    try {
      return await ask();
    } catch (error) {
      last = error;
      await Bun.sleep(1);
    }
  }
  throw new Error(`${name} did not answer within 20 s`, { cause: last });
}
