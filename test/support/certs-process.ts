import { dirname } from "node:path";
import { openNode } from "../../src/node.ts";

// A server that orders certificates, to be killed meanwhile: `certs-process.ts <configuration> <where all names lead>`. Prints its URL.

const [configPath = "", origin = ""] = process.argv.slice(2);
const node = await openNode({
  configPath,
  workingDirectory: dirname(configPath),
  env: { RUST_LOG: "off" },
  show() {},
  reach: async () => origin,
});
process.stdout.write(`${node.url}\n`);
