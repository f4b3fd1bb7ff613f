import { expect } from "bun:test";
import { eachStore, type TestNode, testNode } from "../support/node.ts";
import { findTool } from "../support/tools.ts";
import { webdavSite } from "../support/webdav.ts";

/** How many tests each suite has. */
const suites = { basic: 16, copymove: 13, props: 30, locks: 41, http: 4 };
type Suite = keyof typeof suites;

/** The suites against a bucket of `node`: how many tests passed in each, and every line that tells of another outcome. */
async function litmus(node: TestNode, chosen: readonly Suite[], user: string, password: string) {
  await using tool = await findTool("the litmus story", "litmus");
  if (tool === undefined) return undefined;
  const { base } = await webdavSite(node);
  const { code, stdout, stderr } = await tool.run(["--keep-going", `${base}/`, user, password], {
    env: { TESTS: chosen.join(" ") },
  });
  // On a terminal a suite rewrites its lines by carriage returns.
  const lines = stdout.split(/[\r\n]+/);
  const passed: Record<string, string> = {};
  for (const line of lines) {
    const summary = /^<- summary for `(\w+)': (.*)$/.exec(line);
    if (summary?.[1] !== undefined) passed[summary[1]] = summary[2] ?? "";
  }
  const usual = /^$|^-> running `\w+':$|^<- summary for|^ *\d+\. [\w.]+ (pass)?$/;
  return {
    passed,
    ticks: lines.filter((line) => /^ *\d+\. [\w.]+ pass$/.test(line)).length,
    // A failure, a warning ("WARNING: …", "-> 1 warning was issued.") or a test left out ("SKIPPED", "… were skipped.").
    otherwise: lines.filter((line) => !usual.test(line)),
    code,
    stderr,
  };
}

const whole = (...chosen: readonly Suite[]) => {
  const counts = chosen.map((suite) => suites[suite]);
  return {
    passed: Object.fromEntries(
      chosen.map((suite) => [
        suite,
        `of ${suites[suite]} tests run: ${suites[suite]} passed, 0 failed. 100.0%`,
      ]),
    ),
    ticks: counts.reduce((sum, count) => sum + count, 0),
    otherwise: [],
    code: 0,
    stderr: "",
  };
};

eachStore(
  "litmus passes all 104 tests of its five suites, with no warning and none skipped",
  async (store) => {
    await using node = await testNode(store);
    const [key = "", secret = ""] = node.superToken.split(":");
    const all = ["basic", "copymove", "props", "locks", "http"] as const;
    const outcome = await litmus(node, all, key, secret);
    if (outcome === undefined) return;
    expect(outcome).toEqual(whole(...all));
    expect(outcome.ticks).toBe(104);
  },
);

eachStore(
  "litmus passes its basic and http suites with the name and password of a token that may use this bucket alone",
  async (store) => {
    await using node = await testNode(store);
    const rights = ["read", "write", "delete", "list"].map((right) => ({ static_bucket_file: right }));
    await node.newToken([{ scopes: [{ static_bucket: "site" }], permissions: rights }], {
      username: "anna",
      password: "a pass:word of hers",
    });
    const outcome = await litmus(node, ["basic", "http"], "anna", "a pass:word of hers");
    if (outcome === undefined) return;
    expect(outcome).toEqual(whole("basic", "http"));
  },
);
