import { expect } from "bun:test";
import { randomBytes } from "node:crypto";
import { appendFile } from "node:fs/promises";
import { User } from "../support/cli.ts";
import { story } from "../support/process.ts";

/** Shell lines that run the command with an output that loses what is written to it. */
const losses = ['"$@" 2>&1 >/dev/full', '"$@" 2>&1 >&-'];

for (const line of losses) {
  story(`init creates no Super Token that nobody can read, with ${line}`, async () => {
    await using user = await User.open();
    expect(await user.shell(line, ["init"])).toMatchObject({
      code: 1,
      stdout: expect.not.stringContaining("Super Token"),
    });
    // The next one creates it, and shows it.
    expect(await user.does(["init"])).toMatch(/^Super Token: \w+:\w+\nRoot Password: \w+\n$/);
  });

  story(`a command says in one line that its output is lost, with ${line}`, async () => {
    await using user = await User.open();
    await user.does(["init"]);
    for (const args of [["version"], ["get-uuid"], ["--help"], ["--version"], ["help", "serve"]])
      expect([args, await user.shell(line, args)]).toEqual([
        args,
        { code: 1, stdout: expect.stringMatching(/^node-server: [^\n]+\n$/) },
      ]);
  });
}

story("an output that is thrown away on purpose is not lost", async () => {
  await using user = await User.open();
  expect(await user.shell('"$@" >/dev/null', ["version"])).toEqual({ code: 0, stdout: "" });
});

story("a backup whose reader has ended is a failure, and other commands just end", async () => {
  await using user = await User.open();
  await user.does(["init"]);
  // A pipe has room for 64 KiB, and the configuration is in the backup.
  await appendFile(user.file("config.toml"), `# ${randomBytes(300_000).toString("base64")}\n`);
  const line = `"$@" 2>err | head -c 1 >/dev/null; echo "\${PIPESTATUS[0]}"; cat err`;
  expect((await user.shell(line, ["backup", "-"])).stdout).toMatch(/^1\nnode-server: [^\n]+\n$/);
  expect((await user.shell(line, ["man"])).stdout).toBe("0\n");
});
