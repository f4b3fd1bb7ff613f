/**
 * Runs every test. Where a test needs a program that this machine lacks, it prints one line that begins with
 * `SKIPPED:`; those lines are shown again at the end, and CI fails on them.
 */
const run = Bun.spawn(["node_modules/.bin/bun", "test", "--timeout", "60000", ...process.argv.slice(2)], {
  stdout: "pipe",
  stderr: "pipe",
  env: { ...process.env, NO_COLOR: "1" },
});
const lines: string[] = [];
await Promise.all([relay(run.stdout, process.stdout), relay(run.stderr, process.stderr)]);
const code = await run.exited;
for (const line of new Set(lines.filter((line) => line.startsWith("SKIPPED:")))) console.log(line);
const count = (word: string) =>
  Number(
    lines
      .findLast((line) => new RegExp(`^ *\\d+ ${word}$`).test(line))
      ?.trim()
      .split(" ")[0] ?? 0,
  );
console.log(`${count("pass")} passed, ${count("fail")} failed`);
process.exit(code);

async function relay(from: ReadableStream<Uint8Array>, to: NodeJS.WriteStream): Promise<void> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const bytes of from) {
    const text = decoder.decode(bytes, { stream: true });
    to.write(text);
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts);
  }
}

export {};
