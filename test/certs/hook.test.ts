import { expect } from "bun:test";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isRunning } from "../../src/base/process.ts";
import { hookAnswerer } from "../../src/certs/challenges.ts";
import { tempFolder } from "../support/node.ts";
import { test } from "../support/test.ts";
import { until, within } from "../support/until.ts";

const never = new AbortController().signal;

/** A hook that leaves a process behind, which keeps its pipes open, and then does `rest`. */
async function leavingHook(rest: string) {
  const folder = await tempFolder();
  const program = join(folder.path, "hook");
  const left = join(folder.path, "left");
  await writeFile(
    program,
    `#!/bin/sh\n[ "$1" = add ] || exit 0\nsleep 600 &\necho $! > ${left}.new\nmv ${left}.new ${left}\n${rest}\n`,
  );
  await chmod(program, 0o755);
  const idOfLeft = async () => Number(await Bun.file(left).text());
  return {
    program,
    idOfLeft,
    hasLeft: () => Bun.file(left).exists(),
    async [Symbol.asyncDispose]() {
      const id = await idOfLeft().catch(() => 0);
      if (id > 0 && isRunning(id)) process.kill(id, "SIGKILL");
      await folder[Symbol.asyncDispose]();
    },
  };
}

const gone = (id: number) => until("the process that the hook left has ended", () => !isRunning(id));

test("a hook has ended when its process has, also if one that it started keeps its output open", async () => {
  await using hook = await leavingHook("exit 0");
  const { show } = hookAnswerer(hook.program);
  await using _shown = await within(
    "the end of the hook",
    show("example.com", "", { answer: "a", signal: never }),
  );
  expect(isRunning(await hook.idOfLeft())).toBe(true);
});

test("the words of a hook that fails are kept, also if a process that it started lives on", async () => {
  await using hook = await leavingHook("echo no such zone >&2; exit 3");
  const shown = hookAnswerer(hook.program).show("example.com", "", { answer: "a", signal: never });
  await expect(within("the end of the hook", shown)).rejects.toMatchObject({
    reason: "dns_hook_failed",
    message: `${hook.program} add: exit code 3`,
    output: "no such zone",
  });
});

test("a hook that takes too long is ended, with all that it started", async () => {
  await using hook = await leavingHook("echo waiting; wait");
  const { show } = hookAnswerer(hook.program, { boundMs: 500 });
  const failure = await within(
    "the end of the hook",
    show("example.com", "", { answer: "a", signal: never }).catch((error: unknown) => error),
  );
  expect(failure).toMatchObject({
    reason: "dns_hook_failed",
    message: `${hook.program} add: took longer than 0.5 s`,
    output: "waiting",
  });
  await gone(await hook.idOfLeft());
});

test("a hook ends at once when the server stops", async () => {
  await using hook = await leavingHook("wait");
  const stop = new AbortController();
  const shown = hookAnswerer(hook.program)
    .show("example.com", "", { answer: "a", signal: stop.signal })
    .catch((error: unknown) => error);
  await until("the hook runs", hook.hasLeft);
  stop.abort(new Error("the server stops"));
  expect(await within("the end of the hook", shown)).toBe(stop.signal.reason);
  await gone(await hook.idOfLeft());
});
