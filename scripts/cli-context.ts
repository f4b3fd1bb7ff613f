import { join } from "node:path";
import { Glob } from "bun";

/** Files of `src/cli` that use the process itself, and why. All others are given a Context. */
const ownProcess: Readonly<Record<string, string>> = {
  "process-context.ts": "it makes the context of the process",
  "server/serve.ts": "it is the server's process: it takes signals, restarts itself and ends",
  "server/processes/supervise.ts": "it is the process that starts and watches those of the server",
};

/** Uses of the process that a context replaces. */
const uses =
  /\bprocess\.(stdin|stdout|stderr|env|cwd|exit|exitCode|on|once|off)\b|\bBun\.(stdin|stdout|stderr|env)\b|\bhomedir\(/g;

/** Lists every use in `src/cli` of the streams, environment, working directory and signals of the process. */
export async function usesOfProcess(): Promise<string[]> {
  const problems: string[] = [];
  const used = new Set<string>();
  for await (const file of new Glob("**/*.ts").scan("src/cli")) {
    const lines = (await Bun.file(join("src/cli", file)).text()).split("\n");
    for (const [at, line] of lines.entries()) {
      if (/^\s*(\/\/|\/?\*)/.test(line)) continue;
      for (const [use] of line.matchAll(uses)) {
        used.add(file);
        if (!(file in ownProcess))
          problems.push(`src/cli/${file}:${at + 1}: ${use}: take it from the Context of the command`);
      }
    }
  }
  for (const file of Object.keys(ownProcess))
    if (!used.has(file))
      problems.push(`src/cli/${file}: it does not use the process any more; remove it from the list`);
  return problems;
}
