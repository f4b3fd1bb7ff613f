import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault, messageOf } from "../base/fault.ts";
import type { Tag } from "./release.ts";

/** The time after which a binary that hangs is killed. */
const timeoutMs = 30_000;

/** The interval in which a starting binary is asked whether it serves. */
const pollIntervalMs = 50;

/** `smokeTestVariable` is set in the environment of a binary that is tested. */
export const smokeTestVariable = "NODE_SERVER_SMOKE_TEST";

/** `smokeTest` runs a new binary before it is installed. Throws if it is damaged, of another system or version, or does not serve. */
export async function smokeTest(path: string, tag: Tag, triple: string): Promise<void> {
  try {
    const record = parseRecord(await versionOf(path));
    if (record?.cargo_version !== tag.version)
      throw refuse(`it says it is version ${String(record?.cargo_version ?? "unknown").slice(0, 32)}`);
    if (record.cargo_target_triple !== triple)
      throw refuse(`it was built for ${String(record.cargo_target_triple).slice(0, 64)}`);
    await serves(path);
  } catch (error) {
    throw error instanceof Fault ? error : refuse(messageOf(error));
  }
}

async function versionOf(path: string): Promise<string> {
  await using child = Bun.spawn([path, "version", "--json"], {
    stdin: "ignore",
    stderr: "ignore",
    timeout: timeoutMs,
    killSignal: "SIGKILL",
  });
  const output = await new Response(child.stdout).text();
  const code = await child.exited;
  if (code !== 0) throw refuse(`it ends with code ${code} when asked for its version`);
  return output;
}

/** `serves` runs the binary with a temporary configuration and database; those of the server are not touched. */
async function serves(path: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "node-server-smoke-test-"));
  try {
    const config = join(folder, "config.toml");
    // The path of a socket is known beforehand, unlike a free port, and every version supports it.
    const socket = join(folder, "socket");
    await writeFile(
      config,
      `ws_listener = "127.0.0.1:0"\nenable_unix_socket = true\nunix_socket_path = ${JSON.stringify(socket)}\nstatic_path = ${JSON.stringify(join(folder, "static"))}\n[database]\ndatabase_url = ${JSON.stringify(`sqlite://${join(folder, "node.db")}?mode=rwc`)}\n`,
    );
    // NODE_SERVER_DATABASE_URL and its like would make it a second server on the files of this one.
    const { RUST_LOG: _, NOTIFY_SOCKET: __, ...inherited } = process.env;
    const env = Object.fromEntries(
      Object.entries(inherited).filter(([name]) => !name.startsWith("NODE_SERVER_")),
    );
    await using child = Bun.spawn([path, "serve", "-c", config], {
      cwd: folder,
      env: { ...env, [smokeTestVariable]: "1" },
      stdin: "ignore",
      stdout: "ignore",
      stderr: "ignore",
      timeout: timeoutMs,
      killSignal: "SIGKILL",
    });
    while (!(await answersHello(socket))) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw refuse("it does not serve: it ended at once");
      await Bun.sleep(pollIntervalMs);
    }
    child.kill("SIGKILL");
    await child.exited;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function answersHello(socket: string): Promise<boolean> {
  let response: Response;
  try {
    response = await fetch("http://localhost/jsonrpc", {
      unix: socket,
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"jsonrpc":"2.0","method":"node-server_hello","params":[],"id":1}',
      signal: AbortSignal.timeout(timeoutMs),
    });
  } catch (error) {
    // Nothing listens on the socket yet.
    if (error instanceof Error && error.name !== "TimeoutError") return false;
    throw error;
  }
  if (!response.ok) throw refuse(`it answers ${response.status} to a hello`);
  await response.arrayBuffer();
  return true;
}

function parseRecord(text: string): Record<string, unknown> | undefined {
  try {
    const record: unknown = JSON.parse(text);
    return typeof record === "object" && record !== null ? (record as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function refuse(why: string): Fault {
  return new Fault("IoError", `the release does not work here: ${why}; nothing was changed`);
}
