import { expect } from "bun:test";
import { siteWith } from "../support/bucket.ts";
import { inBrowser, Tab, testNode } from "./browser.ts";

/** Scripts that must each fail a test. Each is over at once, and the page continues as before. */
const provocations: ReadonlyArray<readonly [script: string, complaint: string]> = [
  ["setTimeout(() => { throw new Error('thrown') })", "thrown"],
  ["void Promise.reject(new Error('rejected'))", "rejected"],
  ["console.error('an error')", "an error"],
  ["console.warn('a warning')", "a warning"],
  ["show('<div class=\"toast problem\">red toast</div>')", "red toast"],
  ["show('<p><span class=\"problem\">problem box</span></p>')", "problem box"],
  [
    "show('<dialog><header><h2>Title</h2><button>Close</button></header></dialog>')",
    "starts on Close: Title",
  ],
];

const show = `function show(html) {
  const box = new DOMParser().parseFromString(html, "text/html").body.firstChild;
  document.body.append(box);
  if (box instanceof HTMLDialogElement) box.showModal();
  setTimeout(() => box.remove());
}`;

inBrowser("a story fails when its page complains, unless it says that it expects this", async () => {
  await using node = await testNode();
  // A page without a Content-Security-Policy, which would block such scripts.
  await siteWith(node, { "index.html": '<!doctype html><link rel="icon" href="data:,">' });
  const end = async (expected?: RegExp) => {
    const tab = await Tab.open(node, expected === undefined ? {} : { expected });
    await tab.page.goto(`${node.url}/node/static/site/`);
    for (const [script] of provocations) await tab.page.evaluate(`{ ${show} ${script} }`);
    return tab[Symbol.asyncDispose]().then(
      () => "passed",
      (error) => String(error),
    );
  };
  const failure = await end();
  expect(provocations.filter(([, complaint]) => !failure.includes(complaint))).toEqual([]);
  expect(await end(new RegExp(provocations.map(([, complaint]) => complaint).join("|")))).toBe("passed");
  // One that is not expected is enough.
  const [[, unexpected] = []] = provocations;
  const others = provocations.slice(1).map(([, complaint]) => complaint);
  expect(await end(new RegExp(others.join("|")))).toContain(unexpected ?? "nothing");
});
