import { join } from "node:path";
import { inBrowser, Tab } from "../console/browser.ts";
import { siteWith } from "../support/bucket.ts";
import { type TestNode, testNode } from "../support/node.ts";
import { within } from "../support/until.ts";
import { builtPackage } from "./consumer.ts";

/** Script of a page with the package, a client for `url`, five million bytes and `code`. */
function pageScript(url: string, token: string, collector: string, code: string): string {
  return `import * as client from "./node-server-client.js";
const token = ${JSON.stringify(token)};
const server = new client.NodeServerClient(${JSON.stringify(url)}, { token });
const files = server.bucket("site");
const collector = ${JSON.stringify(collector)};
const size = 5_000_000;
const large = new Uint8Array(size);
for (let i = 0; i < size; i += 1024) large[i] = i >> 10;
const failure = (promise) => promise.then(() => "no failure", (error) => error);
/** The way a request went: "fetch" or "xmlhttprequest". */
const pathOf = (address) => new URL(address).pathname;
const wayOf = (name) =>
  performance.getEntriesByType("resource")
    .filter((entry) => pathOf(entry.name) === pathOf(files.address(name)))
    .map((entry) => entry.initiatorType);
const sameBytes = async (blob) => {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  return bytes.length === size && bytes.every((byte, i) => byte === large[i]);
};
const progress = () => {
  const told = [];
  return {
    onProgress: (bytes, total) => told.push([bytes, total]),
    verdict: () => ({
      rising: told.every(([bytes], i) => i === 0 || bytes > told[i - 1][0]),
      totals: [...new Set(told.map(([, total]) => total))],
      last: told.at(-1)?.[0],
    }),
  };
};
const report = await (async () => {${code}})().catch((error) => String(error.stack ?? error));
await fetch(collector, { method: "POST", mode: "no-cors", body: JSON.stringify(report) });
`;
}

interface Visit {
  /** Whose page it is; the client talks to `to`. */
  readonly from: TestNode;
  readonly to?: TestNode;
  readonly code: string;
  /** Called for each text that the page sends before its report. */
  readonly heard?: (words: string) => void;
}

/** visit serves a page from a bucket, opens it in Chromium, and returns what it reports. */
export async function visit({ from, to = from, code, heard }: Visit): Promise<unknown> {
  const reported = Promise.withResolvers<unknown>();
  await using collector = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const sent: unknown = await request.json();
      if (typeof sent === "string" && heard !== undefined) heard(sent);
      else reported.resolve(sent);
      return new Response();
    },
  });
  await siteWith(from, {
    // A page as strict as the console's.
    "page.html": `<!doctype html><meta http-equiv="Content-Security-Policy" content="require-trusted-types-for 'script'; trusted-types 'none'; script-src 'self'"><title>page</title><script type="module" src="page.js"></script>`,
    "page.js": pageScript(to === from ? "/" : to.url, to.superToken, String(collector.url), code),
    "node-server-client.js": await Bun.file(join(await builtPackage(), "index.js")).text(),
  });
  if (to !== from) await siteWith(to, {});
  // Some calls of the pages fail on purpose, which Chromium reports too.
  await using tab = await Tab.open(from, { expected: /./ });
  // A script that ends by an error reports nothing.
  tab.page.on("pageerror", (error) => reported.reject(error));
  const [report] = await Promise.all([
    within("the page reports", reported.promise, 40_000),
    tab.page.goto(`${from.url}/node/static/site/page.html`),
  ]);
  return report;
}

/** eachOrigin runs a test on a page of the server itself, and on a page of another one. */
export function eachOrigin(title: string, story: (from: TestNode, to: TestNode) => Promise<void>): void {
  const logging = 'memory_log_filter = "off,task=info"';
  inBrowser(`${title} (own page)`, async () => {
    await using node = await testNode({ logging });
    await story(node, node);
  });
  inBrowser(`${title} (page of another origin)`, async () => {
    await using from = await testNode();
    await using to = await testNode({ logging });
    await story(from, to);
  });
}
