import { generatedDocs } from "./docs.ts";
import { documentProblems } from "./documents.ts";
import { forbiddenUses } from "./forbidden-uses.ts";
import { forbiddenImports } from "./modules.ts";
import { retiredWords } from "./retired-words.ts";

/** checks are all run, so that one run shows every problem. */
const checks: Record<string, () => Promise<string[]>> = {
  types: () => complaintsOf("tsc"),
  "types of the console": () => complaintsOf("tsc", "-p", "tsconfig.browser.json"),
  style: () => complaintsOf("biome", "check", "--error-on-warnings"),
  imports: forbiddenImports,
  names: retiredWords,
  "time and process": forbiddenUses,
  docs: staleDocs,
  documents: documentProblems,
};

let failed = false;
for (const [name, check] of Object.entries(checks)) {
  const complaints = await check();
  console.log(`${complaints.length === 0 ? "ok  " : "FAIL"} ${name}`);
  for (const complaint of complaints) console.log(complaint);
  failed ||= complaints.length > 0;
}
process.exit(failed ? 1 : 0);

async function complaintsOf(...command: string[]): Promise<string[]> {
  const run = Bun.spawn([`node_modules/.bin/${command[0]}`, ...command.slice(1)], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err] = await Promise.all([run.stdout.text(), run.stderr.text()]);
  return (await run.exited) === 0 ? [] : [out + err];
}

async function staleDocs(): Promise<string[]> {
  const stale: string[] = [];
  for (const [path, text] of Object.entries(await generatedDocs())) {
    const file = Bun.file(path);
    if (!(await file.exists()) || (await file.text()) !== text)
      stale.push(`${path} is not what the declarations say; run npm run docs`);
  }
  return stale;
}
