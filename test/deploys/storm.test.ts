import { describe, expect } from "bun:test";
import { deploySite } from "../support/deploys.ts";
import { eachStore, testNode } from "../support/node.ts";

/** Switches of the published deploy, and the pause between two requests: 200 a second. */
const switches = 100;
const pauseMs = 5;
const minAnswers = 100;

interface Switch {
  readonly version: string;
  readonly begun: number;
  /** Infinity while it is under way. */
  ended: number;
}

interface Answer {
  readonly path: string;
  readonly version: string;
  readonly script: string;
  /** From `_headers`. */
  readonly header: string;
  readonly status: number;
  readonly begun: number;
  readonly ended: number;
}

describe("publishing under load", () => {
  eachStore(`no request sees a mixture during ${switches} publications and rollbacks`, async (store) => {
    await using node = await testNode(store);
    const site = await deploySite(node);
    // Each page names its version and that of its script, as `_headers` does, and is long enough to be sent in pieces.
    const filesOf = (version: string) => ({
      "index.html": `version=${version} ${version.repeat(20_000)} script=${version}`,
      "app.js": `version=${version} ${version.repeat(300_000)} script=${version}`,
      "same.txt": "version=same script=same",
      [`only-${version}.txt`]: `version=${version} script=${version}`,
      _headers: `/*\n  X-Version: ${version}\n`,
    });
    const deploys: Record<string, string> = {};
    const history: Switch[] = [];
    const publish = async (version: string) => {
      const one: Switch = { version, begun: performance.now(), ended: Number.POSITIVE_INFINITY };
      history.push(one);
      const known = deploys[version];
      if (known !== undefined) await site.rollback(known);
      else deploys[version] = await site.deploy(filesOf(version));
      one.ended = performance.now();
      // Requests between two switches can only be answered by one version.
      await Bun.sleep(2 * pauseMs);
    };
    await publish("a");
    await publish("b");

    const answers: Array<Promise<Answer>> = [];
    const paths = ["", "index.html", "app.js", "same.txt", "only-a.txt"];
    const asking = setInterval(() => {
      const path = paths[answers.length % paths.length] ?? "";
      answers.push(ask(`${node.url}/node/static/site/`, path));
    }, pauseMs);
    let isAsking = true;
    const browsing = (async () => {
      const pairs: Array<readonly [Answer, Answer]> = [];
      while (isAsking) {
        const page = await ask(`${node.url}/node/static/site/`, "index.html");
        pairs.push([page, await ask(`${node.url}/node/static/site/`, "app.js")]);
        await Bun.sleep(pauseMs);
      }
      return pairs;
    })();
    for (let at = 0; at < switches || answers.length < minAnswers; at += 1)
      await publish(at % 2 === 0 ? "a" : "b");
    clearInterval(asking);

    isAsking = false;
    const pairs = await browsing;
    // What is promised to a visitor who asks for a page and then for its script: two whole files, the script of the page's version or of
    // a later one. The same version is promised only while nothing is published in between.
    expect(pairs.filter((pair) => !isInOrder(pair, history))).toEqual([]);
    expect(pairs.length).toBeGreaterThan(0);
    const all = await Promise.all(answers);
    const wrong = all.filter((answer) => !isPossible(answer, history));
    expect(wrong).toEqual([]);
    expect(new Set(all.map(({ version }) => version))).toContain("a");
  });
});

async function ask(base: string, path: string): Promise<Answer> {
  const begun = performance.now();
  const response = await fetch(base + path);
  const text = await response.text();
  const [, version = "", script = ""] = /^version=(\S+) .*script=(\S+)$/.exec(text) ?? [];
  const header = response.headers.get("x-version") ?? "";
  return { path, version, script, header, status: response.status, begun, ended: performance.now() };
}

/** Whether an answer is that of a version that was published at some moment of its request, as a whole. */
function isPossible(
  { path, version, script, header, status, begun, ended }: Answer,
  history: readonly Switch[],
) {
  const current = history
    .filter((one, at) => one.begun <= ended && (history[at + 1]?.ended ?? Number.POSITIVE_INFINITY) >= begun)
    .map((one) => one.version);
  if (path === "only-a.txt" && status === 404) return current.includes("b");
  if (status !== 200 || version !== script || !current.includes(header)) return false;
  return path === "same.txt" ? version === "same" : version === header;
}

/** Whether the script is not of an earlier publication than the page. */
function isInOrder([page, script]: readonly [Answer, Answer], history: readonly Switch[]): boolean {
  const first = history.findIndex(
    (one, at) => one.version === page.version && isPossible(page, around(history, at)),
  );
  return history.some(
    (one, at) => at >= first && one.version === script.version && isPossible(script, around(history, at)),
  );
}

/** A publication and the one after it, which ends it. */
function around(history: readonly Switch[], at: number): readonly Switch[] {
  return history.slice(at, at + 2);
}
