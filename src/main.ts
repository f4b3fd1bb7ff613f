import { processContext } from "./cli/process-context.ts";
import { run } from "./cli/run.ts";

void run(process.argv.slice(2), processContext()).then((code) => process.exit(code));
