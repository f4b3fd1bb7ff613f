import { renameSync } from "node:fs";
import { exchangeInSteps } from "../../src/base/local-fs/folder.ts";
import { diskBuckets } from "./disk-buckets.ts";

// A process that publishes a deploy on a system that cannot exchange two folders at once, and is killed before one of the renames, or
// after the last one: `exchange-process.ts <database URL> <static path> <deploy> <renames that happen>`.

const [url = "", staticPath = "", deploy = "", renames = "0"] = process.argv.slice(2);
let left = Number(renames);
const rename = (from: string, to: string) => {
  if (left === 0) process.kill(process.pid, "SIGKILL");
  left -= 1;
  renameSync(from, to);
};
const site = await diskBuckets(url, staticPath, {
  exchangeFolders(first, second, temporary) {
    exchangeInSteps({ first, second, temporary, rename });
    process.kill(process.pid, "SIGKILL");
  },
});
await site.publish(deploy);
