import { expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { configText, tempFolder } from "../support/node.ts";
import { freePort } from "../support/postgres.ts";
import { program } from "../support/program.ts";
import { until } from "../support/until.ts";

/** What a server shows on its terminal between its start and its first answer. */
async function terminalOf(
  logging: string,
  rustLog: string | undefined,
): Promise<{ shown: string; exit: number | null }> {
  await using folder = await tempFolder();
  const configPath = join(folder.path, "config.toml");
  const port = await freePort();
  await writeFile(
    configPath,
    configText(`sqlite://${folder.path}/node.db?mode=rwc`, {
      top: `ws_listener = "127.0.0.1:${port}"\n`,
      logging,
    }),
  );
  const { RUST_LOG: _, ...inherited } = process.env;
  const server = Bun.spawn([...program, "serve", "-c", configPath], {
    cwd: folder.path,
    env: { ...inherited, NO_COLOR: "1", ...(rustLog === undefined ? {} : { RUST_LOG: rustLog }) },
    stdout: "ignore",
    stderr: "pipe",
  });
  const shown = new Response(server.stderr).text();
  await untilAnswers(`http://127.0.0.1:${port}/`, server);
  server.kill("SIGTERM");
  await server.exited;
  return { shown: await shown, exit: server.exitCode };
}

/** Returns, too, if the server has ended. */
async function untilAnswers(url: string, server: Bun.Subprocess): Promise<void> {
  await until("it answers or has ended", async () => {
    const isAnswered = await fetch(url).then(
      (response) => response.ok,
      () => false,
    );
    return isAnswered || server.exitCode !== null || server.signalCode !== null;
  });
}

test("the terminal shows info when nothing is set", async () => {
  expect((await terminalOf("", undefined)).shown).toMatch(
    / INFO server: listening on http:\/\/127\.0\.0\.1:\d+\n/,
  );
});

test("log_filter decides what the terminal shows when the environment says nothing", async () => {
  expect((await terminalOf('log_filter = "error"', undefined)).shown).toBe("");
  expect((await terminalOf('log_filter = "error"', "")).shown).toBe("");
});

test("RUST_LOG wins over log_filter, in both directions", async () => {
  expect((await terminalOf('log_filter = "error"', "server=info")).shown).toContain("INFO server: listening");
  expect((await terminalOf('log_filter = "trace"', "off")).shown).toBe("");
});

test("a RUST_LOG that cannot be read stops the start with one clear line", async () => {
  const { shown, exit } = await terminalOf("", "server=loud");
  expect(exit).toBe(1);
  expect(shown).toMatch(
    /^node-server: RUST_LOG: .*`server=loud`.*: `loud` is not a level; use off, error, warn, info, debug or trace\n$/,
  );
});

test("a configuration with a wrong value stops the start with one line that names key, line and column", async () => {
  const { shown, exit } = await terminalOf('memory_log_capacity = "many"', undefined);
  expect(exit).toBe(1);
  expect(shown).toMatch(
    /^node-server: \S*config\.toml:4:23: logging\.memory_log_capacity: must be a whole number without quotes, such as 500\n$/,
  );
});

test("unknown keys are warned about on target server", async () => {
  const { shown } = await terminalOf('colour = "red"', "warn");
  expect(shown).toMatch(
    / WARN server: configuration key logging\.colour is unknown and has no effect key=logging\.colour line=4 column=1\n$/,
  );
});

test.each([
  ["RUST_LOG", "", "inof", "RUST_LOG names the target `inof`"],
  [
    "log_filter",
    'log_filter = "inof"',
    undefined,
    "configuration key logging.log_filter names the target `inof`",
  ],
])("a %s that silences everything by a slip is warned of all the same", async (_, logging, rustLog, says) => {
  const { shown } = await terminalOf(logging, rustLog);
  expect(shown).toContain(` WARN server: ${says}, under which nothing is logged; did you mean \`info\`?`);
});
